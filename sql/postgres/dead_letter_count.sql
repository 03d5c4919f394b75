-- $1 pipeline (empty = any).
SELECT count(*) FROM {dead_letter} WHERE ($1::text = '' OR pipeline = $1::text) AND state = 'open'
