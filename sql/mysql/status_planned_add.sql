-- ?1 schema, ?2 table, ?3 its shape now. One that is there stays.
INSERT IGNORE INTO {status_planned} (target_schema, target_table, shape, recorded_at) VALUES (?1, ?2, ?3, UTC_TIMESTAMP(6))
