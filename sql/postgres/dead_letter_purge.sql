-- $1 pipeline, $2 topic, $3 code, $4 table (empty = any), $5 id (0 = any), $6 replayed ones too, $7 recorded before (null = any),
-- $8 at most (null = all), the oldest first.
DELETE FROM {dead_letter}
WHERE id IN (
    SELECT d.id
    FROM {dead_letter} AS d
    WHERE ($1::text = '' OR d.pipeline = $1::text)
      AND ($2::text = '' OR d.topic = $2::text)
      AND ($3::text = '' OR d.code = $3::text)
      AND ($4::text = '' OR d.target_table = $4::text OR d.target_schema || '.' || d.target_table = $4::text)
      AND ($5::bigint = 0 OR d.id = $5::bigint)
      AND ($6::boolean OR d.state = 'open')
      AND ($7::text IS NULL OR d.recorded_at < $7::text::timestamptz)
    ORDER BY d.id
    LIMIT $8::bigint
)
