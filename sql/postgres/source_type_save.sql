-- $1 pipeline, $2 JSON list of what was told.
INSERT INTO {source_type} (pipeline, topic, partition, record_offset, part, source_database, source_table, told)
SELECT $1::text, t.topic, t.partition, t.record_offset, t.part, t.source_database, t.source_table, t.told
FROM json_to_recordset($2::text::json)
     AS t (topic text, partition integer, record_offset bigint, part integer, source_database text, source_table text, told text)
ORDER BY t.topic, t.partition, t.record_offset, t.part
ON CONFLICT (pipeline, topic, partition, record_offset, part) DO UPDATE
SET source_database = excluded.source_database, source_table = excluded.source_table, told = excluded.told, recorded_at = now()
