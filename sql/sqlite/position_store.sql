-- ?1 pipeline, ?2 JSON list of (topic, partition, lane, old, new, epoch). Result: rows moved, schema epoch.
UPDATE {position} AS p SET position = m.value ->> 'new', updated_at = strftime('%Y-%m-%dT%H:%M:%f', 'now') || '000Z'
FROM json_each(?2) AS m
WHERE p.pipeline = ?1 AND p.topic = m.value ->> 'topic' AND p."partition" = m.value ->> 'partition'
  AND p.lane = m.value ->> 'lane' AND p.epoch = m.value ->> 'epoch' AND p.position = m.value ->> 'old';

SELECT changes(), (SELECT schema_epoch FROM {meta})
