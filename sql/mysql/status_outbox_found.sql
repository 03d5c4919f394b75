-- ?1 topic, ?2 JSON list of (key): messages that are in the topic. What waits of them has been sent.
DELETE o FROM {status_outbox} AS o
JOIN JSON_TABLE(?2, '$[*]' COLUMNS (event_key LONGTEXT PATH '$.key')) AS s ON o.event_key = s.event_key
WHERE o.topic = ?1
