"""What bakeoff costs, side by side with what it is compared to: `make bench`, or `python -m benchmarks`."""
