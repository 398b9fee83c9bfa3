"""The confined reader: what attempts, candidates, checks or agents wrote is read in a process that can be killed."""
