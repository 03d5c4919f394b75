-- ?1 target schema, ?2 target table, ?3 JSON list of the columns. What the values have needed only grows: several instances add to it.
INSERT INTO {tracked_column} AS t (
    target_schema, target_table,
    column_name, column_index, path, type, type_origin, declared_not_null, policy, is_key, is_configured, is_by_hand,
    is_name_substituted, value_counts, conflict_count, int_digits, frac_digits, max_abs, max_length, has_special, has_fraction,
    has_negative_time, first_topic, first_partition, first_offset, first_time_us, widened_topic, widened_partition, widened_offset,
    widened_time_us, widened_from, widened_from_origin, widened_from_not_null)
SELECT ?1, ?2,
       j.value ->> 'column_name', j.value ->> 'column_index', j.value ->> 'path', j.value ->> 'type', j.value ->> 'type_origin',
       j.value ->> 'declared_not_null', j.value ->> 'policy', j.value ->> 'is_key', j.value ->> 'is_configured',
       j.value ->> 'is_by_hand', j.value ->> 'is_name_substituted', j.value ->> 'value_counts', j.value ->> 'conflict_count',
       j.value ->> 'int_digits', j.value ->> 'frac_digits', j.value ->> 'max_abs', j.value ->> 'max_length', j.value ->> 'has_special',
       j.value ->> 'has_fraction', j.value ->> 'has_negative_time', j.value ->> 'first_topic', j.value ->> 'first_partition',
       j.value ->> 'first_offset', j.value ->> 'first_time_us', j.value ->> 'widened_topic', j.value ->> 'widened_partition',
       j.value ->> 'widened_offset', j.value ->> 'widened_time_us', j.value ->> 'widened_from', j.value ->> 'widened_from_origin',
       j.value ->> 'widened_from_not_null'
FROM json_each(?3) AS j
WHERE true
ON CONFLICT (target_schema, target_table, column_name) DO UPDATE
SET column_index = excluded.column_index, path = excluded.path, type = excluded.type, type_origin = excluded.type_origin,
    declared_not_null = excluded.declared_not_null, policy = excluded.policy, is_key = excluded.is_key,
    is_configured = excluded.is_configured, is_by_hand = excluded.is_by_hand, is_name_substituted = excluded.is_name_substituted,
    value_counts = excluded.value_counts, conflict_count = excluded.conflict_count, int_digits = max(t.int_digits, excluded.int_digits),
    frac_digits = max(t.frac_digits, excluded.frac_digits), max_abs = CASE WHEN (length(t.max_abs), t.max_abs) > (length(excluded.max_abs), excluded.max_abs) THEN t.max_abs ELSE excluded.max_abs END, max_length = max(t.max_length, excluded.max_length),
    has_special = t.has_special OR excluded.has_special, has_fraction = t.has_fraction OR excluded.has_fraction, has_negative_time = t.has_negative_time OR excluded.has_negative_time,
    first_topic = excluded.first_topic, first_partition = excluded.first_partition, first_offset = excluded.first_offset,
    first_time_us = excluded.first_time_us, widened_topic = excluded.widened_topic, widened_partition = excluded.widened_partition,
    widened_offset = excluded.widened_offset, widened_time_us = excluded.widened_time_us, widened_from = excluded.widened_from,
    widened_from_origin = excluded.widened_from_origin, widened_from_not_null = excluded.widened_from_not_null,
    updated_at = strftime('%Y-%m-%dT%H:%M:%f', 'now') || '000Z'
