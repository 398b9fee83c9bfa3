"""Judging: requirements and their verdicts."""
