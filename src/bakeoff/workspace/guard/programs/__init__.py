"""Programs for the judged interpreter: standard library only, Python 3.8 and later; handed over as text."""
