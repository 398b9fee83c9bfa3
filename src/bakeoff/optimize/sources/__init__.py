"""Sources of candidates: one small protocol, one package or file a source."""
