-- ?1 target schema, ?2 target table (both empty = all), ?3 after this id, ?4 at most.
SELECT id, DATE_FORMAT(recorded_at, '%Y-%m-%dT%H:%i:%s.%fZ'), target_schema, target_table, column_name, path, event, from_type, to_type,
       message, topic, `partition`, record_offset
FROM {type_history}
WHERE ((?1 = '' AND ?2 = '') OR (target_schema = ?1 AND target_table = ?2)) AND id > ?3
ORDER BY id
LIMIT ?4
