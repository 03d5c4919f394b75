-- ?1 target schema, ?2 target table, ?3 column, ?4 its name from now on, ?5 its path from now on.
UPDATE {tracked_column} SET column_name = ?4, path = ?5, updated_at = UTC_TIMESTAMP(6)
WHERE target_schema = ?1 AND target_table = ?2 AND column_name = ?3
