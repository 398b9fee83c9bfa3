"""Slots: made over a snapshot, leased from a pool, reset, swept when their owner is dead."""
