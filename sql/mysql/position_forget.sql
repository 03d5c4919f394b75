-- ?1 pipeline, ?2 topic or null = all of the pipeline, ?3 partition.
DELETE FROM {position}
WHERE pipeline = ?1 AND (?2 IS NULL OR (place_key = UNHEX(SHA2(CONCAT(CHAR_LENGTH(?1), ':', ?1, ?2), 256)) AND `partition` = ?3))
