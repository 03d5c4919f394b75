SELECT p.pipeline, p.topic, p.partition, p.lane, p.lanes, p.position, p.epoch,
       to_char(p.updated_at AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"')
FROM {position} AS p
ORDER BY p.pipeline, p.topic, p.partition, p.lane
