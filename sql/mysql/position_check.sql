-- ?1 pipeline, ?2 JSON list of (i, topic, partition, lane, epoch). Result: the first that is not ours any more, and what stands there.
SELECT m.i, p.epoch, p.position
FROM JSON_TABLE(?2, '$[*]' COLUMNS (i INT PATH '$.i', topic LONGTEXT PATH '$.topic', `partition` INT PATH '$.partition',
                                    lane INT PATH '$.lane', epoch BIGINT PATH '$.epoch')) AS m
LEFT JOIN {position} AS p
  ON p.place_key = UNHEX(SHA2(CONCAT(CHAR_LENGTH(?1), ':', ?1, m.topic), 256)) AND p.`partition` = m.`partition` AND p.lane = m.lane
WHERE NOT p.epoch <=> m.epoch
ORDER BY m.i
LIMIT 1
