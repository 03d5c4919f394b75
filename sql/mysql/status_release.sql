-- ?1 topic, ?2 owner: anybody may send now.
UPDATE {status_sender} SET lease_until = '1970-01-01 00:00:00' WHERE topic = ?1 AND owner = ?2
