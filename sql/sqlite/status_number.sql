-- ?1 datamart, ?2 deltas, ?3 write operations: that many numbers of each. Result: the first delta, the first write.
INSERT INTO {status_datamart} AS s (datamart, next_delta, next_cn) VALUES (?1, ?2, ?3)
ON CONFLICT (datamart) DO UPDATE
SET next_delta = s.next_delta + excluded.next_delta, next_cn = s.next_cn + excluded.next_cn,
    updated_at = strftime('%Y-%m-%dT%H:%M:%f', 'now') || '000Z'
RETURNING next_delta - ?2, next_cn - ?3
