"""Results and salvage: what changed in a slot, as a commit in the own repository. Nothing of a slot is believed."""
