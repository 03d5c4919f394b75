-- ?1 topic, ?2 at most. Oldest first.
SELECT id, event_id, event_key, event_value
FROM {status_outbox}
WHERE topic = ?1
ORDER BY id
LIMIT ?2
