"""The user's work tree, only read, and the snapshot of it: a commit in bakeoff's own repository."""
