"""One file a row: each has `measure(bench)`, which gives the row's measures."""
