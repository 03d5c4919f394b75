-- ?1 JSON list of the lines.
INSERT INTO {type_history} (target_schema, target_table, column_name, path, event, from_type, to_type, message, topic, "partition",
                            record_offset)
SELECT h.value ->> 'target_schema', h.value ->> 'target_table', h.value ->> 'column_name', h.value ->> 'path', h.value ->> 'event',
       h.value ->> 'from_type', h.value ->> 'to_type', h.value ->> 'message', h.value ->> 'topic', h.value ->> 'partition',
       h.value ->> 'record_offset'
FROM json_each(?1) AS h
ORDER BY h.key
