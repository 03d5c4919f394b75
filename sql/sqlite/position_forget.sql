-- ?1 pipeline, ?2 topic or null = all of the pipeline, ?3 partition.
DELETE FROM {position} AS p
WHERE p.pipeline = ?1 AND (?2 IS NULL OR (p.topic = ?2 AND p."partition" = ?3))
