-- ?1 topic, ?2 owner: anybody may send now.
UPDATE {status_sender} SET lease_until = '1970-01-01T00:00:00.000000Z' WHERE topic = ?1 AND owner = ?2
