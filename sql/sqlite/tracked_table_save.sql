-- ?1 target schema, ?2 target table, ?3 source database, ?4 source table, ?5 topic, ?6 key paths (JSON list), ?7 made by us, ?8 name as the templates gave it.
INSERT INTO {tracked_table} (target_schema, target_table, source_database, source_table, topic, key_paths, created_by_us, expanded_name)
VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8)
ON CONFLICT (target_schema, target_table) DO UPDATE
SET source_database = excluded.source_database, source_table = excluded.source_table, topic = excluded.topic,
    key_paths = excluded.key_paths, created_by_us = excluded.created_by_us, expanded_name = excluded.expanded_name, updated_at = strftime('%Y-%m-%dT%H:%M:%f', 'now') || '000Z'
