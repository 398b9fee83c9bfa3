"""Jobs: which there are, and where each is. What is true of one job alone is in its folder; nobody else names it."""
