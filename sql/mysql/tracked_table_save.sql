-- ?1 target schema, ?2 target table, ?3 source database, ?4 source table, ?5 topic, ?6 key paths (JSON list), ?7 made by us, ?8 name as the
-- templates gave it.
INSERT INTO {tracked_table} (target_schema, target_table, source_database, source_table, topic, key_paths, created_by_us, expanded_name,
                             updated_at)
VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, UTC_TIMESTAMP(6))
ON DUPLICATE KEY UPDATE source_database = VALUES(source_database), source_table = VALUES(source_table), topic = VALUES(topic),
    key_paths = VALUES(key_paths), created_by_us = VALUES(created_by_us), expanded_name = VALUES(expanded_name),
    updated_at = VALUES(updated_at)
