"""Where the time of a function goes, line by line."""
