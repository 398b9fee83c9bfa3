"""Merging results in memory: who conflicts with whom, what rules resolve, and one chain of commits."""
