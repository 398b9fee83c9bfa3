"""A run as people and programs read it: state, tables, timelines, HTML."""
