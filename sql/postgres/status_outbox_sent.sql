-- $1 topic, $2 JSON list of (id): they are in the topic.
DELETE FROM {status_outbox}
WHERE topic = $1::text AND id IN (SELECT s.id FROM json_to_recordset($2::text::json) AS s (id bigint))
