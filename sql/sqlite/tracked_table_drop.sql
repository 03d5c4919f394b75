-- ?1 target schema, ?2 target table.
DELETE FROM {tracked_column} WHERE target_schema = ?1 AND target_table = ?2;

DELETE FROM {tracked_table} WHERE target_schema = ?1 AND target_table = ?2
