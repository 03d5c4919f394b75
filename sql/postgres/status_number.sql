-- $1 datamart, $2 deltas, $3 write operations: that many numbers of each. Result: the first delta, the first write. The row stays locked until the
-- transaction ends, so numbers are given in the order of the commits.
INSERT INTO {status_datamart} AS s (datamart, next_delta, next_cn) VALUES ($1::text, $2::bigint, $3::bigint)
ON CONFLICT (datamart) DO UPDATE
SET next_delta = s.next_delta + excluded.next_delta, next_cn = s.next_cn + excluded.next_cn, updated_at = now()
RETURNING next_delta - $2::bigint, next_cn - $3::bigint
