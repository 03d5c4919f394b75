-- ?1 pipeline, ?2 topic, ?3 code, ?4 table (empty = any), ?5 id (0 = any), ?6 replayed ones too, ?7 recorded before (null = any),
-- ?8 at most (null = all), the oldest first.
DELETE l FROM {dead_letter} AS l
JOIN (SELECT id, ROW_NUMBER() OVER (ORDER BY id) AS n FROM {dead_letter} AS d
      WHERE (?1 = '' OR d.pipeline = ?1)
        AND (?2 = '' OR d.topic = ?2)
        AND (?3 = '' OR d.code = ?3)
        AND (?4 = '' OR d.target_table = ?4 OR CONCAT(d.target_schema, '.', d.target_table) = ?4)
        AND (?5 = 0 OR d.id = ?5)
        AND (?6 OR d.state = 'open')
        AND (?7 IS NULL OR d.recorded_at < STR_TO_DATE(?7, '%Y-%m-%dT%H:%i:%s.%fZ'))) AS old
  ON l.id = old.id
WHERE ?8 IS NULL OR old.n <= ?8
