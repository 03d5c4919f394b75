-- $1 pipeline, $2 topic, $3 partition, $4 position, $5 part.
SELECT 1 FROM {source_ddl}
WHERE pipeline = $1::text AND topic = $2::text AND partition = $3::bigint::integer AND position = $4::bigint AND part = $5::bigint::integer
