-- $1 after this id, $2 at most.
SELECT id, to_char(recorded_at AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"'), target_schema, target_table, statement, reason,
       is_rewrite, topic, partition, record_offset
FROM {ddl_history}
WHERE id > $1::bigint
ORDER BY id
LIMIT $2::bigint
