"""What the operating system gives: folders, files that a person names, temporary places, memory and processors."""
