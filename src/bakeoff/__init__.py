"""Run many attempts at a piece of code work at once, judge them by evidence, keep the best."""
