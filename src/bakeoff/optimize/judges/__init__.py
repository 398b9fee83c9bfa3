"""Judges of candidates: a function by its tests, files by commands."""
