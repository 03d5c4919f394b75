-- $1 target schema, $2 target table (both empty = all), $3 after this id, $4 at most.
SELECT id, to_char(recorded_at AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"'), target_schema, target_table, column_name, path,
       event, from_type, to_type, message, topic, partition, record_offset
FROM {type_history}
WHERE (($1::text = '' AND $2::text = '') OR (target_schema = $1::text AND target_table = $2::text)) AND id > $3::bigint
ORDER BY id
LIMIT $4::bigint
