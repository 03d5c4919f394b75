-- What waits, by topic.
SELECT topic, count(*), to_char(min(recorded_at) AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"')
FROM {status_outbox}
GROUP BY topic
ORDER BY topic
