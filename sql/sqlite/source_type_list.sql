-- ?1 pipeline, ?2 topic, ?3 partition, ?4 offset, ?5 part: after this one, ?6 at most.
SELECT topic, "partition", record_offset, part, source_database, source_table, told
FROM {source_type}
WHERE pipeline = ?1 AND (topic, "partition", record_offset, part) > (?2, ?3, ?4, ?5)
ORDER BY topic, "partition", record_offset, part
LIMIT ?6
