-- ?1 JSON list of the letters, ?2 the bytes of all keys and values one after another; the letters name place (from 1) and length.
INSERT INTO {dead_letter} (pipeline, position_topic, position, topic, "partition", record_offset, record_timestamp_ms, record_key,
                           record_value, is_bare, headers, code, native_code, message, field, target_schema, target_table, failed_rows)
SELECT d.value ->> 'pipeline', d.value ->> 'position_topic', d.value ->> 'position', d.value ->> 'topic', d.value ->> 'partition',
       d.value ->> 'record_offset', d.value ->> 'record_timestamp_ms',
       substr(?2, d.value ->> 'key_at', d.value ->> 'key_length'), substr(?2, d.value ->> 'value_at', d.value ->> 'value_length'),
       d.value ->> 'is_bare', d.value ->> 'headers', d.value ->> 'code', d.value ->> 'native_code', d.value ->> 'message',
       d.value ->> 'field', d.value ->> 'target_schema', d.value ->> 'target_table', d.value ->> 'failed_rows'
FROM json_each(?1) AS d
ORDER BY d.key
