"""Facts about code: syntax, kinds of values, what functions read and change; each module uses those before it."""
