-- $1 topic, $2 owner, $3 offset: whatever waits is not in the topic before it. Result: a row, if we are the one who sends.
UPDATE {status_sender} SET sent_from = $3::bigint WHERE topic = $1::text AND owner = $2::text RETURNING 1
