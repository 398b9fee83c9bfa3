"""Does a candidate behave as the original does? Tests, recorded calls, derived inputs, one reason."""
