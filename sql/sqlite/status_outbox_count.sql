-- What waits, by topic.
SELECT topic, count(*), min(recorded_at)
FROM {status_outbox}
GROUP BY topic
ORDER BY topic
