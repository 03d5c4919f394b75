-- ?1 topic, ?2 JSON list of (i, event_id, key, value).
INSERT INTO {status_outbox} (topic, event_id, event_key, event_value)
SELECT ?1, e.value ->> 'event_id', e.value ->> 'key', e.value ->> 'value'
FROM json_each(?2) AS e
ORDER BY e.key
