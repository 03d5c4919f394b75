-- $1 topic, $2 JSON list of (key): messages that are in the topic. What waits of them has been sent.
DELETE FROM {status_outbox}
WHERE topic = $1::text AND event_key IN (SELECT s.key FROM json_to_recordset($2::text::json) AS s (key text))
