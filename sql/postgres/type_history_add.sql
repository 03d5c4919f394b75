-- $1 JSON list of the lines.
INSERT INTO {type_history} (target_schema, target_table, column_name, path, event, from_type, to_type, message, topic, partition,
                            record_offset)
SELECT h.target_schema, h.target_table, h.column_name, h.path, h.event, h.from_type, h.to_type, h.message, h.topic, h.partition,
       h.record_offset
FROM json_to_recordset($1::text::json)
     AS h (i integer, target_schema text, target_table text, column_name text, path text, event text, from_type text, to_type text,
           message text, topic text, partition integer, record_offset bigint)
ORDER BY h.i
