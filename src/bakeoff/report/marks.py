"""Signs and colours of a status, for terminals."""

WITHOUT, IN_PART = "without", "in_part"
"""What stands for a run with no result, and with part of it, where others have a status."""

MARKS = {
    "completed": ("✓", "green"),
    WITHOUT: ("○", "yellow"),
    IN_PART: ("◐", "yellow"),
    "failed": ("✗", "red"),
    "aborted": ("✗", "red"),
    "cancelled": ("✗", "yellow"),
    "blocked": ("✗", "red"),
    "budget_spent": ("✗", "red"),
    "skipped": ("-", "bright_black"),
    "paused": ("?", "yellow"),
    "halted": ("‖", "yellow"),
    "running": ("▶", "cyan"),
    "created": ("·", "cyan"),
    "pending": ("·", "bright_black"),
}
"""The sign and colour of each status of a run or node, of a run that is completed without a result or with part of it,
and of a node that an item or branch of it halted."""
