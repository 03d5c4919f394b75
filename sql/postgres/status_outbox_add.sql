-- $1 topic, $2 JSON list of (i, event_id, key, value).
INSERT INTO {status_outbox} (topic, event_id, event_key, event_value)
SELECT $1::text, e.event_id, e.key, e.value
FROM json_to_recordset($2::text::json) AS e (i integer, event_id text, key text, value text)
ORDER BY e.i
