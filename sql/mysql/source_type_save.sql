-- ?1 pipeline, ?2 JSON list of what was told.
INSERT INTO {source_type} (place_key, pipeline, topic, `partition`, record_offset, part, source_database, source_table, told, recorded_at)
SELECT UNHEX(SHA2(CONCAT(CHAR_LENGTH(?1), ':', ?1, t.topic), 256)), ?1, t.topic, t.`partition`, t.record_offset, t.part,
       t.source_database, t.source_table, t.told, UTC_TIMESTAMP(6)
FROM JSON_TABLE(?2, '$[*]' COLUMNS (
         topic LONGTEXT PATH '$.topic', `partition` INT PATH '$.partition', record_offset BIGINT PATH '$.record_offset',
         part INT PATH '$.part', source_database LONGTEXT PATH '$.source_database', source_table LONGTEXT PATH '$.source_table',
         told LONGTEXT PATH '$.told')) AS t
ORDER BY t.topic, t.`partition`, t.record_offset, t.part
ON DUPLICATE KEY UPDATE source_database = VALUES(source_database), source_table = VALUES(source_table), told = VALUES(told),
    recorded_at = VALUES(recorded_at)
