-- ?1 target schema, ?2 target table, ?3 statement, ?4 reason, ?5 rewrite, ?6 topic, ?7 partition, ?8 offset.
INSERT INTO {ddl_history} (target_schema, target_table, statement, reason, is_rewrite, topic, "partition", record_offset)
VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8)
