-- ?1 pipeline, ?2 JSON list of (i, topic, partition, lane, epoch). Result: the first that is not ours any more, and what stands there.
SELECT m.value ->> 'i', p.epoch, p.position
FROM json_each(?2) AS m
LEFT JOIN {position} AS p
       ON p.pipeline = ?1 AND p.topic = m.value ->> 'topic' AND p."partition" = m.value ->> 'partition'
      AND p.lane = m.value ->> 'lane'
WHERE p.epoch IS NOT m.value ->> 'epoch'
ORDER BY 1
LIMIT 1
