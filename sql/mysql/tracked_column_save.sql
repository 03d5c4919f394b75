-- ?1 target schema, ?2 target table, ?3 JSON list of the columns. What the values have needed only grows: several instances add to it.
INSERT INTO {tracked_column} (
    target_schema, target_table,
    column_name, column_index, path, type, type_origin, declared_not_null, policy, is_key, is_configured, is_by_hand,
    is_name_substituted, value_counts, conflict_count, int_digits, frac_digits, max_abs, max_length, has_special, has_fraction,
    has_negative_time, first_topic, first_partition, first_offset, first_time_us, widened_topic, widened_partition, widened_offset,
    widened_time_us, widened_from, widened_from_origin, widened_from_not_null, updated_at)
SELECT ?1, ?2,
       c.column_name, c.column_index, c.path, c.type, c.type_origin, c.declared_not_null, c.policy, c.is_key, c.is_configured,
       c.is_by_hand, c.is_name_substituted, c.value_counts, c.conflict_count, c.int_digits, c.frac_digits, c.max_abs, c.max_length,
       c.has_special, c.has_fraction, c.has_negative_time, c.first_topic, c.first_partition, c.first_offset, c.first_time_us,
       c.widened_topic, c.widened_partition, c.widened_offset, c.widened_time_us, c.widened_from, c.widened_from_origin,
       c.widened_from_not_null, UTC_TIMESTAMP(6)
FROM JSON_TABLE(?3, '$[*]' COLUMNS (
         column_name LONGTEXT PATH '$.column_name', column_index INT PATH '$.column_index', path LONGTEXT PATH '$.path',
         type LONGTEXT PATH '$.type', type_origin LONGTEXT PATH '$.type_origin', declared_not_null TINYINT PATH '$.declared_not_null',
         policy LONGTEXT PATH '$.policy', is_key TINYINT PATH '$.is_key', is_configured TINYINT PATH '$.is_configured',
         is_by_hand TINYINT PATH '$.is_by_hand', is_name_substituted TINYINT PATH '$.is_name_substituted',
         value_counts JSON PATH '$.value_counts', conflict_count DECIMAL(20,0) PATH '$.conflict_count',
         int_digits BIGINT PATH '$.int_digits', frac_digits BIGINT PATH '$.frac_digits', max_abs DECIMAL(20,0) PATH '$.max_abs',
         max_length BIGINT PATH '$.max_length', has_special TINYINT PATH '$.has_special', has_fraction TINYINT PATH '$.has_fraction',
         has_negative_time TINYINT PATH '$.has_negative_time', first_topic LONGTEXT PATH '$.first_topic',
         first_partition INT PATH '$.first_partition', first_offset BIGINT PATH '$.first_offset',
         first_time_us BIGINT PATH '$.first_time_us', widened_topic LONGTEXT PATH '$.widened_topic',
         widened_partition INT PATH '$.widened_partition', widened_offset BIGINT PATH '$.widened_offset',
         widened_time_us BIGINT PATH '$.widened_time_us', widened_from LONGTEXT PATH '$.widened_from',
         widened_from_origin LONGTEXT PATH '$.widened_from_origin', widened_from_not_null TINYINT PATH '$.widened_from_not_null'
     )) AS c
ORDER BY c.column_name
ON DUPLICATE KEY UPDATE
    column_index = VALUES(column_index), path = VALUES(path), type = VALUES(type), type_origin = VALUES(type_origin),
    declared_not_null = VALUES(declared_not_null), policy = VALUES(policy), is_key = VALUES(is_key),
    is_configured = VALUES(is_configured), is_by_hand = VALUES(is_by_hand), is_name_substituted = VALUES(is_name_substituted),
    value_counts = VALUES(value_counts), conflict_count = VALUES(conflict_count),
    int_digits = GREATEST({tracked_column}.int_digits, VALUES(int_digits)),
    frac_digits = GREATEST({tracked_column}.frac_digits, VALUES(frac_digits)),
    max_abs = GREATEST({tracked_column}.max_abs, VALUES(max_abs)),
    max_length = GREATEST({tracked_column}.max_length, VALUES(max_length)),
    has_special = {tracked_column}.has_special OR VALUES(has_special),
    has_fraction = {tracked_column}.has_fraction OR VALUES(has_fraction),
    has_negative_time = {tracked_column}.has_negative_time OR VALUES(has_negative_time), first_topic = VALUES(first_topic),
    first_partition = VALUES(first_partition), first_offset = VALUES(first_offset), first_time_us = VALUES(first_time_us),
    widened_topic = VALUES(widened_topic), widened_partition = VALUES(widened_partition), widened_offset = VALUES(widened_offset),
    widened_time_us = VALUES(widened_time_us), widened_from = VALUES(widened_from), widened_from_origin = VALUES(widened_from_origin),
    widened_from_not_null = VALUES(widened_from_not_null), updated_at = VALUES(updated_at)
