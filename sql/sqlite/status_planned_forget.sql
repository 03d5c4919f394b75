-- ?1 schema, ?2 table.
DELETE FROM {status_planned} WHERE target_schema = ?1 AND target_table = ?2
