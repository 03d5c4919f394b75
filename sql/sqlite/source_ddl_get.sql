-- ?1 pipeline, ?2 topic, ?3 partition, ?4 position, ?5 part.
SELECT 1 FROM {source_ddl} WHERE pipeline = ?1 AND topic = ?2 AND "partition" = ?3 AND position = ?4 AND part = ?5
