-- $1 target schema, $2 target table.
SELECT column_name, column_index, path, type, type_origin, declared_not_null, policy, is_key, is_configured, is_by_hand,
       is_name_substituted, value_counts::text, conflict_count::text, int_digits, frac_digits, max_abs::text, max_length, has_special,
       has_fraction, has_negative_time, first_topic, first_partition, first_offset, first_time_us, widened_topic, widened_partition,
       widened_offset, widened_time_us, widened_from, widened_from_origin, widened_from_not_null
FROM {tracked_column}
WHERE target_schema = $1::text AND target_table = $2::text
ORDER BY column_index, column_name
