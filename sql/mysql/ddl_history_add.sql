-- ?1 target schema, ?2 target table, ?3 statement, ?4 reason, ?5 rewrite, ?6 topic, ?7 partition, ?8 offset.
INSERT INTO {ddl_history} (recorded_at, target_schema, target_table, statement, reason, is_rewrite, topic, `partition`, record_offset)
VALUES (UTC_TIMESTAMP(6), ?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8)
