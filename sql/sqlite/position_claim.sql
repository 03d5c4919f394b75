-- ?1 pipeline, ?2 JSON list of (i, topic, partition), ?3 lanes for partitions that have no rows yet.
-- Lane 0 is written first: how many lanes there are is read from it.
INSERT INTO {position} AS p (pipeline, topic, "partition", lane, lanes, position, epoch)
SELECT ?1, a.value ->> 'topic', a.value ->> 'partition', 0, ?3, -1, 1
FROM json_each(?2) AS a
WHERE true
ON CONFLICT (pipeline, topic, "partition", lane) DO UPDATE SET epoch = p.epoch + 1, updated_at = strftime('%Y-%m-%dT%H:%M:%f', 'now') || '000Z';

INSERT INTO {position} AS p (pipeline, topic, "partition", lane, lanes, position, epoch)
WITH RECURSIVE lane (n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM lane WHERE n < 1024)
SELECT f.pipeline, f.topic, f."partition", lane.n, f.lanes, -1, f.epoch
FROM json_each(?2) AS a
JOIN {position} AS f
  ON f.pipeline = ?1 AND f.topic = a.value ->> 'topic' AND f."partition" = a.value ->> 'partition' AND f.lane = 0
JOIN lane ON lane.n < f.lanes
WHERE true
ON CONFLICT (pipeline, topic, "partition", lane) DO UPDATE SET epoch = excluded.epoch, updated_at = strftime('%Y-%m-%dT%H:%M:%f', 'now') || '000Z';

SELECT a.value ->> 'i', p.lane, p.lanes, p.position, p.epoch
FROM json_each(?2) AS a
JOIN {position} AS p ON p.pipeline = ?1 AND p.topic = a.value ->> 'topic' AND p."partition" = a.value ->> 'partition'
ORDER BY 1, 2
