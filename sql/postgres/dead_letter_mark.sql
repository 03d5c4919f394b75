-- $1 id, $2 state.
UPDATE {dead_letter} SET state = $2::text, state_changed_at = now() WHERE id = $1::bigint AND state <> $2::text
