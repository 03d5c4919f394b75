-- $1 pipeline, $2 JSON list of (i, topic, partition, lane, epoch). Result: the first that is not ours any more, and what stands there.
SELECT m.i, p.epoch, p.position
FROM json_to_recordset($2::text::json)
     AS m (i integer, topic text, partition integer, lane integer, epoch bigint)
LEFT JOIN {position} AS p
       ON p.pipeline = $1::text AND p.topic = m.topic AND p.partition = m.partition AND p.lane = m.lane
WHERE p.epoch IS DISTINCT FROM m.epoch
ORDER BY m.i
LIMIT 1
