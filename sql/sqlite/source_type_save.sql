-- ?1 pipeline, ?2 JSON list of what was told.
INSERT INTO {source_type} (pipeline, topic, "partition", record_offset, part, source_database, source_table, told)
SELECT ?1, t.value ->> 'topic', t.value ->> 'partition', t.value ->> 'record_offset', t.value ->> 'part', t.value ->> 'source_database',
       t.value ->> 'source_table', t.value ->> 'told'
FROM json_each(?2) AS t
WHERE true
ON CONFLICT (pipeline, topic, "partition", record_offset, part) DO UPDATE
SET source_database = excluded.source_database, source_table = excluded.source_table, told = excluded.told,
    recorded_at = strftime('%Y-%m-%dT%H:%M:%f', 'now') || '000Z'
