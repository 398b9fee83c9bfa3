"""Facilities of the operating system: folders, files that a person names, temporary places, memory and processors."""
