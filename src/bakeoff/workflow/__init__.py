"""The workflow language and its interpreter."""
