"""bakeoff's own repository of a project, the git program that reads and writes it, and its folders and locks."""
