-- ?1 pipeline (empty = any).
SELECT COUNT(*) FROM {dead_letter} WHERE (?1 = '' OR pipeline = ?1) AND state = 'open'
