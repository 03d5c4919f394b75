-- ?1 JSON list of the lines.
INSERT INTO {type_history} (recorded_at, target_schema, target_table, column_name, path, event, from_type, to_type, message, topic, `partition`, record_offset)
SELECT UTC_TIMESTAMP(6), h.target_schema, h.target_table, h.column_name, h.path, h.event, h.from_type, h.to_type, h.message, h.topic, h.`partition`, h.record_offset
FROM JSON_TABLE(?1, '$[*]' COLUMNS (
         i INT PATH '$.i', target_schema LONGTEXT PATH '$.target_schema', target_table LONGTEXT PATH '$.target_table',
         column_name LONGTEXT PATH '$.column_name', path LONGTEXT PATH '$.path', event LONGTEXT PATH '$.event',
         from_type LONGTEXT PATH '$.from_type', to_type LONGTEXT PATH '$.to_type', message LONGTEXT PATH '$.message',
         topic LONGTEXT PATH '$.topic', `partition` INT PATH '$.partition', record_offset BIGINT PATH '$.record_offset')) AS h
ORDER BY h.i
