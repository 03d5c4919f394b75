-- $1 pipeline, $2 JSON list of (topic, partition, lane, old, new, epoch). Result: rows moved, schema epoch.
WITH moved AS (
    UPDATE {position} AS p SET position = m.new, updated_at = now()
    FROM json_to_recordset($2::text::json)
         AS m (topic text, partition integer, lane integer, old bigint, new bigint, epoch bigint)
    WHERE p.pipeline = $1::text AND p.topic = m.topic AND p.partition = m.partition AND p.lane = m.lane
      AND p.epoch = m.epoch AND p.position = m.old
    RETURNING 1
)
SELECT (SELECT count(*) FROM moved), (SELECT schema_epoch FROM {meta})
