"""Checks: shell commands that judge a tree in a slot, and what their output says."""
