-- ?1 JSON list of the letters, ?2 the bytes of all keys and values one after another; the letters name place (from 1) and length.
-- The bytes are in a variable of the session, since a derived table would cut them (MySQL).
SET @millrace_bytes = CAST(?2 AS BINARY);

INSERT INTO {dead_letter} (recorded_at, state, pipeline, position_topic, position, topic, `partition`, record_offset, record_timestamp_ms,
                           record_key, record_value, is_bare, headers, code, native_code, message, field, target_schema, target_table,
                           failed_rows)
SELECT UTC_TIMESTAMP(6), 'open', d.pipeline, d.position_topic, d.position, d.topic, d.`partition`, d.record_offset, d.record_timestamp_ms,
       SUBSTRING(@millrace_bytes, d.key_at, d.key_length), SUBSTRING(@millrace_bytes, d.value_at, d.value_length), d.is_bare, d.headers, d.code, d.native_code,
       d.message, d.field, d.target_schema, d.target_table, d.failed_rows
FROM JSON_TABLE(?1, '$[*]' COLUMNS (
         i INT PATH '$.i', pipeline LONGTEXT PATH '$.pipeline', position_topic LONGTEXT PATH '$.position_topic',
         position BIGINT PATH '$.position', topic LONGTEXT PATH '$.topic', `partition` INT PATH '$.partition',
         record_offset BIGINT PATH '$.record_offset', record_timestamp_ms BIGINT PATH '$.record_timestamp_ms',
         key_at BIGINT PATH '$.key_at', key_length BIGINT PATH '$.key_length', value_at BIGINT PATH '$.value_at',
         value_length BIGINT PATH '$.value_length', is_bare TINYINT PATH '$.is_bare', headers LONGTEXT PATH '$.headers',
         code LONGTEXT PATH '$.code', native_code LONGTEXT PATH '$.native_code', message LONGTEXT PATH '$.message',
         field LONGTEXT PATH '$.field', target_schema LONGTEXT PATH '$.target_schema', target_table LONGTEXT PATH '$.target_table',
         failed_rows LONGTEXT PATH '$.failed_rows')) AS d
ORDER BY d.i;

SET @millrace_bytes = NULL
