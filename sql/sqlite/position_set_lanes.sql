-- ?1 pipeline, ?2 topic, ?3 partition, ?4 lanes, ?5 position, ?6 epoch. Result: rows written, fewer than lanes = not ours.
DELETE FROM {position} AS p
WHERE p.pipeline = ?1 AND p.topic = ?2 AND p."partition" = ?3 AND p.lane >= ?4
  AND EXISTS (SELECT 1 FROM {position} AS f
              WHERE f.pipeline = ?1 AND f.topic = ?2 AND f."partition" = ?3 AND f.lane = 0 AND f.epoch = ?6);

INSERT INTO {position} AS p (pipeline, topic, "partition", lane, lanes, position, epoch)
WITH RECURSIVE lane (n) AS (SELECT 0 UNION ALL SELECT n + 1 FROM lane WHERE n + 1 < ?4)
SELECT f.pipeline, f.topic, f."partition", lane.n, ?4, ?5, f.epoch
FROM {position} AS f CROSS JOIN lane
WHERE f.pipeline = ?1 AND f.topic = ?2 AND f."partition" = ?3 AND f.lane = 0 AND f.epoch = ?6
ON CONFLICT (pipeline, topic, "partition", lane)
DO UPDATE SET lanes = excluded.lanes, position = excluded.position, updated_at = strftime('%Y-%m-%dT%H:%M:%f', 'now') || '000Z' WHERE p.epoch = excluded.epoch;

SELECT changes()
