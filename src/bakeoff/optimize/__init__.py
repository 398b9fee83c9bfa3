"""Candidates for one Python definition: where they come from, how they are applied, judged and timed."""
