"""The engine under thousands of interleavings: random programs on trio's mock clock, each replayed by its seed."""
