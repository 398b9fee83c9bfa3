"""Coding-agent CLIs: one declarative entry each, one runner. Imported only when an agent step runs."""
