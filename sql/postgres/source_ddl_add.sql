-- $1 pipeline, $2 topic, $3 partition, $4 position, $5 part.
INSERT INTO {source_ddl} (pipeline, topic, partition, position, part)
VALUES ($1::text, $2::text, $3::bigint::integer, $4::bigint, $5::bigint::integer)
