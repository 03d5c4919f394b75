-- ?1 datamart, ?2 deltas, ?3 write operations: that many numbers of each. Result: the first delta, the first write. The row stays locked until the
-- transaction ends, so numbers are given in the order of the commits.
INSERT INTO {status_datamart} (datamart, next_delta, next_cn, updated_at) VALUES (?1, ?2, ?3, UTC_TIMESTAMP(6))
ON DUPLICATE KEY UPDATE next_delta = next_delta + VALUES(next_delta), next_cn = next_cn + VALUES(next_cn), updated_at = VALUES(updated_at);

SELECT next_delta - ?2, next_cn - ?3 FROM {status_datamart} WHERE datamart = ?1 FOR UPDATE
