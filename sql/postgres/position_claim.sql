-- $1 pipeline, $2 JSON list of (i, topic, partition), $3 lanes for partitions that have no rows yet.
-- Lane 0 is written first and is the lock of its partition: how many lanes there are is read from it, never from the snapshot, so that
-- two instances claiming at once agree. ON CONFLICT waits for a former owner's open transaction.
WITH asked AS (
    SELECT a.i, a.topic, a.partition
    FROM json_to_recordset($2::text::json) AS a (i integer, topic text, partition integer)
), first_lane AS (
    INSERT INTO {position} AS p (pipeline, topic, partition, lane, lanes, position, epoch)
    SELECT $1::text, a.topic, a.partition, 0, $3::bigint::integer, -1, 1
    FROM asked AS a
    ORDER BY a.topic, a.partition
    ON CONFLICT (pipeline, topic, partition, lane) DO UPDATE SET epoch = p.epoch + 1, updated_at = now()
    RETURNING p.topic, p.partition, p.lane, p.lanes, p.position, p.epoch
), other_lanes AS (
    INSERT INTO {position} AS p (pipeline, topic, partition, lane, lanes, position, epoch)
    SELECT $1::text, f.topic, f.partition, g.n, f.lanes, -1, f.epoch
    FROM first_lane AS f CROSS JOIN LATERAL generate_series(1, f.lanes - 1) AS g (n)
    ON CONFLICT (pipeline, topic, partition, lane) DO UPDATE SET epoch = excluded.epoch, updated_at = now()
    RETURNING p.topic, p.partition, p.lane, p.lanes, p.position, p.epoch
)
SELECT a.i, l.lane, l.lanes, l.position, l.epoch
FROM asked AS a
JOIN (SELECT * FROM first_lane UNION ALL SELECT * FROM other_lanes) AS l ON l.topic = a.topic AND l.partition = a.partition
ORDER BY a.i, l.lane
