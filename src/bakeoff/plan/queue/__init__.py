"""The merge queue: what is green alone, then together; what is good lands, who broke it is named."""
