SELECT schema_epoch FROM {meta}
