-- ?1 pipeline, ?2 topic, ?3 partition, ?4 lanes, ?5 position, ?6 epoch. Result: rows written, fewer than lanes = not ours.
-- The row of lane 0 is the lock of its partition and is taken first; where it is not ours any more the other statements find nothing to do.
UPDATE {position} SET updated_at = UTC_TIMESTAMP(6)
WHERE place_key = UNHEX(SHA2(CONCAT(CHAR_LENGTH(?1), ':', ?1, ?2), 256)) AND `partition` = ?3 AND lane = 0 AND epoch = ?6;

DELETE p FROM {position} AS p
JOIN {position} AS f ON p.place_key = f.place_key AND p.`partition` = f.`partition`
WHERE f.place_key = UNHEX(SHA2(CONCAT(CHAR_LENGTH(?1), ':', ?1, ?2), 256)) AND f.`partition` = ?3 AND f.lane = 0 AND f.epoch = ?6 AND p.lane >= ?4;

INSERT INTO {position} (place_key, pipeline, topic, `partition`, lane, lanes, position, epoch, updated_at)
SELECT mine.place_key, ?1, ?2, mine.`partition`, g.n - 1, ?4, ?5, ?6, UTC_TIMESTAMP(6)
FROM (SELECT f.place_key, f.`partition` FROM {position} AS f
      WHERE f.place_key = UNHEX(SHA2(CONCAT(CHAR_LENGTH(?1), ':', ?1, ?2), 256)) AND f.`partition` = ?3 AND f.lane = 0 AND f.epoch = ?6) AS mine
JOIN JSON_TABLE(CONCAT('[0', REPEAT(',0', 1023), ']'), '$[*]' COLUMNS (n FOR ORDINALITY)) AS g ON g.n <= ?4
ORDER BY g.n
ON DUPLICATE KEY UPDATE lanes = VALUES(lanes), position = VALUES(position), updated_at = VALUES(updated_at);

SELECT COUNT(*) FROM {position} AS p
WHERE p.place_key = UNHEX(SHA2(CONCAT(CHAR_LENGTH(?1), ':', ?1, ?2), 256)) AND p.`partition` = ?3 AND p.lane < ?4 AND p.lanes = ?4
  AND p.position = ?5 AND p.epoch = ?6
