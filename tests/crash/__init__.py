"""Kills the coordinator at every journal write and at random moments, resumes, and compares."""
