"""Plans: a project split into subplans that are worked on side by side, merged and verified."""
