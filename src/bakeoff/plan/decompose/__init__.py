"""A project's files as a hierarchy of subplans: `decompose` of `decompose.decompose` is the way in."""
