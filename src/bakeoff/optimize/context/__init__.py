"""Context of a target that sources are told: helpers, callers, recorded calls, a profile."""
