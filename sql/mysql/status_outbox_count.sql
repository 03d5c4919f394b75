-- What waits, by topic.
SELECT topic, COUNT(*), DATE_FORMAT(MIN(recorded_at), '%Y-%m-%dT%H:%i:%s.%fZ')
FROM {status_outbox}
GROUP BY topic
ORDER BY topic
