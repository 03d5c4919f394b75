-- ?1 topic, ?2 JSON list of (id): they are in the topic.
DELETE FROM {status_outbox}
WHERE topic = ?1 AND id IN (SELECT s.value ->> 'id' FROM json_each(?2) AS s)
