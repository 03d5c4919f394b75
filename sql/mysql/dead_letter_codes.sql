-- ?1 pipeline (empty = any). The open ones by reason.
SELECT pipeline, code, COUNT(*), DATE_FORMAT(MIN(recorded_at), '%Y-%m-%dT%H:%i:%s.%fZ'), DATE_FORMAT(MAX(recorded_at), '%Y-%m-%dT%H:%i:%s.%fZ')
FROM {dead_letter}
WHERE (?1 = '' OR pipeline = ?1) AND state = 'open'
GROUP BY pipeline, code
ORDER BY pipeline, code
