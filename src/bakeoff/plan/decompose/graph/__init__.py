"""Import graph: one scanner a language, what it reads out of a file cached by the file's blob id."""
