SELECT target_schema, target_table, source_database, source_table, topic, key_paths, created_by_us, expanded_name
FROM {tracked_table}
ORDER BY target_schema, target_table
