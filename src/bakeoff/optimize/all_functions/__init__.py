"""All functions below a path, ranked by their share of the tests' time and optimised one after the other."""
