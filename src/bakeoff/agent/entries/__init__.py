"""One file a CLI. `ENTRIES` names them without importing any."""

from __future__ import annotations

ENTRIES: dict[str, str] = {
    "claude": "claude",
    "codex": "codex",
    "gemini": "gemini",
    "copilot": "copilot",
    "opencode": "opencode",
    "qwen": "qwen",
    "cursor-agent": "cursor",
    "aider": "aider",
    "mini": "mini",
}
"""Names that `integration:` takes, and the module of this package that describes each."""
