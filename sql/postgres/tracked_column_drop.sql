-- $1 target schema, $2 target table, $3 column.
DELETE FROM {tracked_column} WHERE target_schema = $1::text AND target_table = $2::text AND column_name = $3::text
