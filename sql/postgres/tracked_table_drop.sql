-- $1 target schema, $2 target table.
WITH columns AS (DELETE FROM {tracked_column} WHERE target_schema = $1::text AND target_table = $2::text)
DELETE FROM {tracked_table} WHERE target_schema = $1::text AND target_table = $2::text
