SELECT layout_version FROM {meta}
