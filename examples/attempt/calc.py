"""Sums."""


def add(a, b):
    """The sum of both."""
    return a - b
