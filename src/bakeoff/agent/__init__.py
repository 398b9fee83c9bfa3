"""Coding-agent CLIs: a file for each in `clis/`, one runner. Imported only when an agent is asked."""
