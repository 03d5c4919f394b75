-- ?1 pipeline, ?2 JSON list of (i, topic, partition), ?3 lanes for partitions that have no rows yet.
-- Lane 0 is written first and is the lock of its partition: how many lanes there are is read from it. ON DUPLICATE KEY waits for a former
-- owner's open transaction. Written in key order, so that two who claim at once do not lock each other out.
INSERT INTO {position} (place_key, pipeline, topic, `partition`, lane, lanes, position, epoch, updated_at)
SELECT a.place_key, ?1, a.topic, a.`partition`, 0, ?3, -1, 1, UTC_TIMESTAMP(6)
FROM (SELECT UNHEX(SHA2(CONCAT(CHAR_LENGTH(?1), ':', ?1, j.topic), 256)) AS place_key, j.topic, j.`partition`
      FROM JSON_TABLE(?2, '$[*]' COLUMNS (topic LONGTEXT PATH '$.topic', `partition` INT PATH '$.partition')) AS j
      ORDER BY 1, 3) AS a
ON DUPLICATE KEY UPDATE epoch = {position}.epoch + 1, updated_at = UTC_TIMESTAMP(6);

INSERT INTO {position} (place_key, pipeline, topic, `partition`, lane, lanes, position, epoch, updated_at)
SELECT f.place_key, f.pipeline, f.topic, f.`partition`, g.n, f.lanes, -1, f.epoch, UTC_TIMESTAMP(6)
FROM (SELECT p.place_key, p.pipeline, p.topic, p.`partition`, p.lanes, p.epoch
      FROM JSON_TABLE(?2, '$[*]' COLUMNS (topic LONGTEXT PATH '$.topic', `partition` INT PATH '$.partition')) AS j
      JOIN {position} AS p ON p.place_key = UNHEX(SHA2(CONCAT(CHAR_LENGTH(?1), ':', ?1, j.topic), 256)) AND p.`partition` = j.`partition` AND p.lane = 0) AS f
JOIN JSON_TABLE(CONCAT('[0', REPEAT(',0', 1023), ']'), '$[*]' COLUMNS (n FOR ORDINALITY)) AS g ON g.n < f.lanes
ORDER BY 1, 4, 5
ON DUPLICATE KEY UPDATE epoch = VALUES(epoch), updated_at = VALUES(updated_at);

SELECT j.i, p.lane, p.lanes, p.position, p.epoch
FROM JSON_TABLE(?2, '$[*]' COLUMNS (i INT PATH '$.i', topic LONGTEXT PATH '$.topic', `partition` INT PATH '$.partition')) AS j
JOIN {position} AS p ON p.place_key = UNHEX(SHA2(CONCAT(CHAR_LENGTH(?1), ':', ?1, j.topic), 256)) AND p.`partition` = j.`partition`
ORDER BY 1, 2
