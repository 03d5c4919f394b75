-- ?1 topic, ?2 owner, ?3 milliseconds: we send now, unless somebody else does. Result: the offset from which on something may have been sent that is
-- not marked (-1: nothing has been sent); no row where somebody else sends.
INSERT IGNORE INTO {status_sender} (topic, owner, lease_until, sent_from) VALUES (?1, ?2, UTC_TIMESTAMP(6), -1);

UPDATE {status_sender} SET lease_until = UTC_TIMESTAMP(6) + INTERVAL ?3 * 1000 MICROSECOND, owner = ?2
WHERE topic = ?1 AND (owner = ?2 OR lease_until < UTC_TIMESTAMP(6));

SELECT sent_from FROM {status_sender} WHERE topic = ?1 AND owner = ?2
