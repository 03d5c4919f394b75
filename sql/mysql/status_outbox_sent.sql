-- ?1 topic, ?2 JSON list of (id): they are in the topic.
DELETE o FROM {status_outbox} AS o
JOIN JSON_TABLE(?2, '$[*]' COLUMNS (id BIGINT PATH '$.id')) AS s ON o.id = s.id
WHERE o.topic = ?1
