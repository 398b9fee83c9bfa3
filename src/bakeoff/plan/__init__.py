"""Plans: one goal in parts, carried out side by side, merged and verified."""
