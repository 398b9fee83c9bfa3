"""The rate gate: how fast requests go to an endpoint, learned from its answers, shared by all who use it."""
