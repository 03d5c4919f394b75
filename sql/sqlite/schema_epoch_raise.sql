UPDATE {meta} SET schema_epoch = schema_epoch + 1, updated_at = strftime('%Y-%m-%dT%H:%M:%f', 'now') || '000Z' RETURNING schema_epoch
