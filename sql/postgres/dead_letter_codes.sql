-- $1 pipeline (empty = any). The open ones by reason.
SELECT pipeline, code, count(*),
       to_char(min(recorded_at) AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"'),
       to_char(max(recorded_at) AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"')
FROM {dead_letter}
WHERE ($1::text = '' OR pipeline = $1::text) AND state = 'open'
GROUP BY pipeline, code
ORDER BY pipeline, code
