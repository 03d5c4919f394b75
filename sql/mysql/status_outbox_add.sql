-- ?1 topic, ?2 JSON list of (i, event_id, key, value).
INSERT INTO {status_outbox} (recorded_at, topic, event_id, event_key, event_value)
SELECT UTC_TIMESTAMP(6), ?1, e.event_id, e.event_key, e.event_value
FROM JSON_TABLE(?2, '$[*]' COLUMNS (i INT PATH '$.i', event_id VARCHAR(36) PATH '$.event_id', event_key LONGTEXT PATH '$.key',
                                    event_value LONGTEXT PATH '$.value')) AS e
ORDER BY e.i
