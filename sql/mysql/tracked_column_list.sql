-- ?1 target schema, ?2 target table.
SELECT column_name, column_index, path, type, type_origin, declared_not_null, policy, is_key, is_configured, is_by_hand,
       is_name_substituted, value_counts, CAST(conflict_count AS CHAR), int_digits, frac_digits, CAST(max_abs AS CHAR),
       max_length, has_special, has_fraction, has_negative_time, first_topic, first_partition, first_offset, first_time_us,
       widened_topic, widened_partition, widened_offset, widened_time_us, widened_from, widened_from_origin,
       widened_from_not_null
FROM {tracked_column}
WHERE target_schema = ?1 AND target_table = ?2
ORDER BY column_index, column_name
