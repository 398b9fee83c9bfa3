"""Sampling: many attempts at one answer, judged, repaired, chosen among."""
