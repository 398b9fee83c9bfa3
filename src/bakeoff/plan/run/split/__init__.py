"""Splitting of a goal into subplans by an agent or a model: the question, who is asked, the proposal."""
