"""Which functions of a project take the time of its tests."""
