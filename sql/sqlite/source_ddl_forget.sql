-- ?1 pipeline, ?2 topic (null: all of the pipeline), ?3 partition.
DELETE FROM {source_ddl} WHERE pipeline = ?1 AND (?2 IS NULL OR (topic = ?2 AND "partition" = ?3))
