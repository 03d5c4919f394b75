-- ?1 id, ?2 state.
UPDATE {dead_letter} SET state = ?2, state_changed_at = UTC_TIMESTAMP(6) WHERE id = ?1 AND state <> ?2
