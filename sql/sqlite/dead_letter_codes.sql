-- ?1 pipeline (empty = any). The open ones by reason.
SELECT pipeline, code, count(*), min(recorded_at), max(recorded_at)
FROM {dead_letter}
WHERE (?1 = '' OR pipeline = ?1) AND state = 'open'
GROUP BY pipeline, code
ORDER BY pipeline, code
