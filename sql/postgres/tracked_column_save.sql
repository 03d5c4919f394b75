-- $1 target schema, $2 target table, $3 JSON list of the columns. What the values have needed only grows: several instances add to it.
INSERT INTO {tracked_column} AS t (
    target_schema, target_table,
    column_name, column_index, path, type, type_origin, declared_not_null, policy, is_key, is_configured, is_by_hand,
    is_name_substituted, value_counts, conflict_count, int_digits, frac_digits, max_abs, max_length, has_special, has_fraction,
    has_negative_time, first_topic, first_partition, first_offset, first_time_us, widened_topic, widened_partition, widened_offset,
    widened_time_us, widened_from, widened_from_origin, widened_from_not_null)
SELECT $1::text, $2::text,
       c.column_name, c.column_index, c.path, c.type, c.type_origin, c.declared_not_null, c.policy, c.is_key, c.is_configured,
       c.is_by_hand, c.is_name_substituted, c.value_counts, c.conflict_count, c.int_digits, c.frac_digits, c.max_abs, c.max_length,
       c.has_special, c.has_fraction, c.has_negative_time, c.first_topic, c.first_partition, c.first_offset, c.first_time_us,
       c.widened_topic, c.widened_partition, c.widened_offset, c.widened_time_us, c.widened_from, c.widened_from_origin,
       c.widened_from_not_null
FROM json_to_recordset($3::text::json)
     AS c (column_name text, column_index integer, path text, type text, type_origin text, declared_not_null boolean, policy text,
           is_key boolean, is_configured boolean, is_by_hand boolean, is_name_substituted boolean, value_counts json,
           conflict_count numeric, int_digits bigint, frac_digits bigint, max_abs numeric, max_length bigint, has_special boolean,
           has_fraction boolean, has_negative_time boolean, first_topic text, first_partition integer, first_offset bigint,
           first_time_us bigint, widened_topic text, widened_partition integer, widened_offset bigint, widened_time_us bigint,
           widened_from text, widened_from_origin text, widened_from_not_null boolean)
ORDER BY c.column_name
ON CONFLICT (target_schema, target_table, column_name) DO UPDATE
SET column_index = excluded.column_index, path = excluded.path, type = excluded.type, type_origin = excluded.type_origin,
    declared_not_null = excluded.declared_not_null, policy = excluded.policy, is_key = excluded.is_key,
    is_configured = excluded.is_configured, is_by_hand = excluded.is_by_hand, is_name_substituted = excluded.is_name_substituted,
    value_counts = excluded.value_counts, conflict_count = excluded.conflict_count, int_digits = greatest(t.int_digits, excluded.int_digits),
    frac_digits = greatest(t.frac_digits, excluded.frac_digits), max_abs = greatest(t.max_abs, excluded.max_abs), max_length = greatest(t.max_length, excluded.max_length),
    has_special = t.has_special OR excluded.has_special, has_fraction = t.has_fraction OR excluded.has_fraction, has_negative_time = t.has_negative_time OR excluded.has_negative_time,
    first_topic = excluded.first_topic, first_partition = excluded.first_partition, first_offset = excluded.first_offset,
    first_time_us = excluded.first_time_us, widened_topic = excluded.widened_topic, widened_partition = excluded.widened_partition,
    widened_offset = excluded.widened_offset, widened_time_us = excluded.widened_time_us, widened_from = excluded.widened_from,
    widened_from_origin = excluded.widened_from_origin, widened_from_not_null = excluded.widened_from_not_null, updated_at = now()
