"""Models: one small protocol, clients, the local model, rates."""
