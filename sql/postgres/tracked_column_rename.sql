-- $1 target schema, $2 target table, $3 column, $4 its name from now on, $5 its path from now on.
UPDATE {tracked_column} SET column_name = $4::text, path = $5::text, updated_at = now()
WHERE target_schema = $1::text AND target_table = $2::text AND column_name = $3::text
