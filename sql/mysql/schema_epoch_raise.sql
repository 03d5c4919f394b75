UPDATE {meta} SET schema_epoch = schema_epoch + 1, updated_at = UTC_TIMESTAMP(6);

SELECT schema_epoch FROM {meta}
