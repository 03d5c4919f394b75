SELECT target_schema, target_table, shape FROM {status_planned} ORDER BY target_schema, target_table
