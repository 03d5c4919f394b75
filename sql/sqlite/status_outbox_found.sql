-- ?1 topic, ?2 JSON list of (key): messages that are in the topic. What waits of them has been sent.
DELETE FROM {status_outbox}
WHERE topic = ?1 AND event_key IN (SELECT s.value ->> 'key' FROM json_each(?2) AS s)
