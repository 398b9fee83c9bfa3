"""Python source as text: finding definitions, replacing them, comparing versions. Nothing here runs code."""
