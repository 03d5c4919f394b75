-- $1 pipeline, $2 topic or null = all of the pipeline, $3 partition.
DELETE FROM {position} AS p
WHERE p.pipeline = $1::text AND ($2::text IS NULL OR (p.topic = $2::text AND p.partition = $3::bigint))
