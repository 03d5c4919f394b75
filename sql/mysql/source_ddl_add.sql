-- ?1 pipeline, ?2 topic, ?3 partition, ?4 position, ?5 part.
INSERT INTO {source_ddl} (place_key, pipeline, topic, `partition`, position, part, recorded_at)
VALUES (UNHEX(SHA2(CONCAT(CHAR_LENGTH(?1), ':', ?1, ?2), 256)), ?1, ?2, ?3, ?4, ?5, UTC_TIMESTAMP(6))
