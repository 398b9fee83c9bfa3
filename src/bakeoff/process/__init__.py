"""Processes: spawner, supervisor, output streams, the sweep of what dead sessions left. Above the engine's records."""
