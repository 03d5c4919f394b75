-- $1 pipeline, $2 topic, $3 partition, $4 lanes, $5 position, $6 epoch. Result: rows written, fewer than lanes = not ours.
WITH mine AS (
    SELECT 1 FROM {position} AS p
    WHERE p.pipeline = $1::text AND p.topic = $2::text AND p.partition = $3::bigint AND p.lane = 0 AND p.epoch = $6::bigint
    FOR UPDATE
), removed AS (
    DELETE FROM {position} AS p USING mine
    WHERE p.pipeline = $1::text AND p.topic = $2::text AND p.partition = $3::bigint AND p.lane >= $4::bigint
), written AS (
    INSERT INTO {position} AS p (pipeline, topic, partition, lane, lanes, position, epoch)
    SELECT $1::text, $2::text, $3::bigint::integer, g.n, $4::bigint::integer, $5::bigint, $6::bigint
    FROM mine CROSS JOIN generate_series(0, $4::bigint::integer - 1) AS g (n)
    ON CONFLICT (pipeline, topic, partition, lane)
    DO UPDATE SET lanes = excluded.lanes, position = excluded.position, updated_at = now() WHERE p.epoch = excluded.epoch
    RETURNING 1
)
SELECT count(*) FROM written
