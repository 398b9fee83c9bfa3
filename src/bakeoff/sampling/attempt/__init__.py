"""The attempt job: coding agents work in slots of their own, commands judge what they made, the best is kept."""
