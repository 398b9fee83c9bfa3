"""Where candidates come from: one small protocol, one package or file a source."""
