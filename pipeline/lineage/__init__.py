"""Where every number comes from: signature, manifest."""
