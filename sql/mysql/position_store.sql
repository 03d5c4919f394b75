-- ?1 pipeline, ?2 JSON list of (topic, partition, lane, old, new, epoch). Result: rows moved, schema epoch.
-- No scalar subquery: one that is ended by KILL QUERY is a NULL, and no error.
UPDATE {position} AS p
JOIN JSON_TABLE(?2, '$[*]' COLUMNS (topic LONGTEXT PATH '$.topic', `partition` INT PATH '$.partition', lane INT PATH '$.lane',
                                    old BIGINT PATH '$.old', new BIGINT PATH '$.new', epoch BIGINT PATH '$.epoch')) AS m
  ON p.place_key = UNHEX(SHA2(CONCAT(CHAR_LENGTH(?1), ':', ?1, m.topic), 256)) AND p.`partition` = m.`partition` AND p.lane = m.lane
 AND p.epoch = m.epoch AND p.position = m.old
SET p.position = m.new, p.updated_at = UTC_TIMESTAMP(6);

SELECT ROW_COUNT(), schema_epoch FROM {meta}
