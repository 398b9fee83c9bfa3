"""Wrong-tree guard for Python: what is judged must come from the slot, whatever `.pth` or finder names the user's checkout.

`guarded` is the way in. `programs/` runs in the interpreter that is judged, whatever its version.
"""
