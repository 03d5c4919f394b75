-- ?1 target schema, ?2 target table, ?3 and ?4 its names from now on.
UPDATE {tracked_column} SET target_schema = ?3, target_table = ?4, updated_at = UTC_TIMESTAMP(6)
WHERE target_schema = ?1 AND target_table = ?2;

UPDATE {tracked_table} SET target_schema = ?3, target_table = ?4, updated_at = UTC_TIMESTAMP(6)
WHERE target_schema = ?1 AND target_table = ?2
