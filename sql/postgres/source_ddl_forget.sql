-- $1 pipeline, $2 topic (null: all of the pipeline), $3 partition.
DELETE FROM {source_ddl}
WHERE pipeline = $1::text AND ($2::text IS NULL OR (topic = $2::text AND partition = $3::bigint::integer))
