"""Wrong-tree guard for Python: what is judged comes from the slot, whatever `.pth` or finder names the checkout.

`guarded` is the way in. `programs/` runs in the interpreter that is judged, whatever its version.
"""
