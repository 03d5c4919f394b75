-- $1 schema, $2 table, $3 its shape now. One that is there stays.
INSERT INTO {status_planned} (target_schema, target_table, shape) VALUES ($1::text, $2::text, $3::text) ON CONFLICT DO NOTHING
