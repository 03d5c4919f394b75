-- ?1 topic, ?2 owner, ?3 milliseconds: we send now, unless somebody else does. Result: the offset from which on something may have been sent that is
-- not marked (-1: nothing has been sent); no row where somebody else sends.
INSERT INTO {status_sender} AS s (topic, owner, lease_until, sent_from)
VALUES (?1, ?2, strftime('%Y-%m-%dT%H:%M:%f', 'now', '+' || (?3 / 1000.0) || ' seconds') || '000Z', -1)
ON CONFLICT (topic) DO UPDATE SET owner = excluded.owner, lease_until = excluded.lease_until
WHERE s.owner = excluded.owner OR s.lease_until < strftime('%Y-%m-%dT%H:%M:%f', 'now') || '000Z'
RETURNING sent_from
