"""A plan carried out: each subplan an attempt in a slot, results merged and verified in plan order, losers reopened."""
