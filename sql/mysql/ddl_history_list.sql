-- ?1 after this id, ?2 at most.
SELECT id, DATE_FORMAT(recorded_at, '%Y-%m-%dT%H:%i:%s.%fZ'), target_schema, target_table, statement, reason, is_rewrite, topic, `partition`,
       record_offset
FROM {ddl_history}
WHERE id > ?1
ORDER BY id
LIMIT ?2
