-- $1 pipeline, $2 topic, $3 code, $4 table (empty = any), $5 id (0 = any), $6 replayed ones too, $7 recorded before (null = any),
-- $8 after this id, $9 at most, $10 with key and value.
SELECT d.id, to_char(d.recorded_at AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"'), d.state, d.pipeline, d.position_topic,
       d.position, d.topic, d.partition, d.record_offset, d.record_timestamp_ms, d.record_key IS NOT NULL, d.record_value IS NOT NULL,
       CASE WHEN $10::boolean THEN d.record_key END, CASE WHEN $10::boolean THEN d.record_value END,
       d.is_bare, d.headers, d.code, d.native_code, d.message, d.field, d.target_schema, d.target_table, d.failed_rows
FROM {dead_letter} AS d
WHERE ($1::text = '' OR d.pipeline = $1::text)
  AND ($2::text = '' OR d.topic = $2::text)
  AND ($3::text = '' OR d.code = $3::text)
  AND ($4::text = '' OR d.target_table = $4::text OR d.target_schema || '.' || d.target_table = $4::text)
  AND ($5::bigint = 0 OR d.id = $5::bigint)
  AND ($6::boolean OR d.state = 'open')
  AND ($7::text IS NULL OR d.recorded_at < $7::text::timestamptz)
  AND d.id > $8::bigint
ORDER BY d.id
LIMIT $9::bigint
