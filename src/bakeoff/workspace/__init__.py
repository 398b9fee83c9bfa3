"""Places to work: a snapshot of the user's tree, slots over it, and what attempts made of it.

`open_workspace` is the way in; `diff`, `apply` and `branch` need no slot.
"""
