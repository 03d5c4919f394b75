-- ?1 id, ?2 state.
UPDATE {dead_letter} SET state = ?2, state_changed_at = strftime('%Y-%m-%dT%H:%M:%f', 'now') || '000Z' WHERE id = ?1 AND state <> ?2
