UPDATE {meta} SET schema_epoch = schema_epoch + 1, updated_at = now() RETURNING schema_epoch
