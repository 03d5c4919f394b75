-- ?1 pipeline, ?2 topic, ?3 code, ?4 table (empty = any), ?5 id (0 = any), ?6 replayed ones too, ?7 recorded before (null = any),
-- ?8 after this id, ?9 at most, ?10 with key and value.
SELECT d.id, DATE_FORMAT(d.recorded_at, '%Y-%m-%dT%H:%i:%s.%fZ'), d.state, d.pipeline, d.position_topic, d.position, d.topic, d.`partition`,
       d.record_offset, d.record_timestamp_ms, d.record_key IS NOT NULL, d.record_value IS NOT NULL,
       CASE WHEN ?10 THEN d.record_key END, CASE WHEN ?10 THEN d.record_value END,
       d.is_bare, d.headers, d.code, d.native_code, d.message, d.field, d.target_schema, d.target_table, d.failed_rows
FROM {dead_letter} AS d
WHERE (?1 = '' OR d.pipeline = ?1)
  AND (?2 = '' OR d.topic = ?2)
  AND (?3 = '' OR d.code = ?3)
  AND (?4 = '' OR d.target_table = ?4 OR CONCAT(d.target_schema, '.', d.target_table) = ?4)
  AND (?5 = 0 OR d.id = ?5)
  AND (?6 OR d.state = 'open')
  AND (?7 IS NULL OR d.recorded_at < STR_TO_DATE(?7, '%Y-%m-%dT%H:%i:%s.%fZ'))
  AND d.id > ?8
ORDER BY d.id
LIMIT ?9
