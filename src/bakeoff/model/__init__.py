"""Language models behind one small protocol: clients, the local model, the rate gate that all of them pass."""
