-- ?1 pipeline, ?2 topic, ?3 partition, ?4 position, ?5 part.
SELECT 1 FROM {source_ddl}
WHERE place_key = UNHEX(SHA2(CONCAT(CHAR_LENGTH(?1), ':', ?1, ?2), 256)) AND `partition` = ?3 AND position = ?4 AND part = ?5
