-- $1 target schema, $2 target table, $3 and $4 its names from now on.
WITH columns AS (
    UPDATE {tracked_column} SET target_schema = $3::text, target_table = $4::text, updated_at = now()
    WHERE target_schema = $1::text AND target_table = $2::text
)
UPDATE {tracked_table} SET target_schema = $3::text, target_table = $4::text, updated_at = now()
WHERE target_schema = $1::text AND target_table = $2::text
