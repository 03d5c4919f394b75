-- $1 JSON list of the letters, $2 the bytes of all keys and values one after another; the letters name place (from 1) and length.
INSERT INTO {dead_letter} (pipeline, position_topic, position, topic, partition, record_offset, record_timestamp_ms, record_key,
                           record_value, is_bare, headers, code, native_code, message, field, target_schema, target_table, failed_rows)
SELECT d.pipeline, d.position_topic, d.position, d.topic, d.partition, d.record_offset, d.record_timestamp_ms,
       substring($2::bytea FROM d.key_at FOR d.key_length), substring($2::bytea FROM d.value_at FOR d.value_length),
       d.is_bare, d.headers, d.code, d.native_code, d.message, d.field, d.target_schema, d.target_table, d.failed_rows
FROM json_to_recordset($1::text::json)
     AS d (i integer, pipeline text, position_topic text, position bigint, topic text, partition integer, record_offset bigint,
           record_timestamp_ms bigint, key_at integer, key_length integer, value_at integer, value_length integer, is_bare boolean,
           headers text, code text, native_code text, message text, field text, target_schema text, target_table text,
           failed_rows text)
ORDER BY d.i
