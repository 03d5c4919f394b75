-- $1 topic, $2 owner: anybody may send now.
UPDATE {status_sender} SET lease_until = to_timestamp(0) WHERE topic = $1::text AND owner = $2::text
