"""What can be wrong with a sandbox."""

from __future__ import annotations

from bakeoff.workspace.errors import WorkspaceError


class SandboxError(WorkspaceError):
    """This machine cannot give the protection that was asked for."""
