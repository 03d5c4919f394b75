-- $1 topic, $2 owner, $3 milliseconds: we send now, unless somebody else does. Result: the offset from which on something may have been sent that is
-- not marked (-1: nothing has been sent); no row where somebody else sends.
INSERT INTO {status_sender} AS s (topic, owner, lease_until, sent_from)
VALUES ($1::text, $2::text, clock_timestamp() + $3::bigint * interval '1 millisecond', -1)
ON CONFLICT (topic) DO UPDATE SET owner = excluded.owner, lease_until = excluded.lease_until
WHERE s.owner = excluded.owner OR s.lease_until < clock_timestamp()
RETURNING sent_from
