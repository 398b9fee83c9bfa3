"""The engine: bounded, durable, cancellable work. It knows nothing of git, models, agents or YAML."""
