"""Landing: a result as a diff, as files of the user's checkout, or as a branch, so that a kill loses nothing."""
