"""Source `rules`: rewrites of source that are often faster in CPython. None of them claims to be: measuring does."""

from bakeoff.optimize.sources.rules.source import RulesSource

__all__ = ["RulesSource"]
