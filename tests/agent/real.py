"""Sets up a real CLI against a scripted model: an empty home, a git repository, nothing of the user's."""

from __future__ import annotations

import os
import shutil
import subprocess
from dataclasses import dataclass
from pathlib import Path

import pytest

from agent.install_clis import MAYBE
from bakeoff.agent.entry import Entry
from bakeoff.agent.registry import find_entry
from bakeoff.agent.result import AgentResult
from bakeoff.agent.runner import AgentRequest, run_agent
from bakeoff.engine.mask import Masker
from bakeoff.process.command import Processes
from bakeoff.process.spawner import Spawner
from bakeoff.settings import Settings

TOOLS = Path(__file__).parents[2] / ".tools"
KEY = "scripted-key-value"
MODELS = {"gemini": "gemini-2.5-flash", "opencode": "scripted/scripted"}
GEMINI_SETTINGS = '{"security": {"auth": {"selectedType": "gemini-api-key"}}, "general": {"maxAttempts": 1}}'
CODEX_PROVIDER = (
    'model_providers.scripted={{name="scripted",base_url="{url}/v1",env_key="SCRIPTED_KEY",wire_api="responses",'
    "request_max_retries={retries},stream_max_retries=0}}"
)


@dataclass
class Real:
    """One CLI, ready to be asked."""

    name: str
    home: Path
    repo: Path
    path: str

    def spawner(self) -> Spawner:
        base = {"PATH": self.path, "HOME": str(self.home), "LANG": "C.UTF-8"}
        return Spawner(token=f"test-{self.home.parent.name}", base_env=base, masker=Masker())

    @property
    def entry(self) -> Entry:
        return find_entry(self.name, Settings())

    def env(self, url: str, retries: int) -> dict[str, str | None]:
        return {
            "PATH": self.path,
            "HOME": str(self.home),
            "SCRIPTED_KEY": KEY,
            "ANTHROPIC_BASE_URL": url,
            "ANTHROPIC_API_KEY": KEY,
            "CLAUDE_CODE_MAX_RETRIES": str(retries),
            "OPENAI_API_KEY": KEY,
            "OPENAI_BASE_URL": f"{url}/v1",
            "OPENAI_MODEL": "scripted",
            "GEMINI_API_KEY": KEY,
            "GOOGLE_GEMINI_BASE_URL": url,
            "GEMINI_CLI_NO_RELAUNCH": "true",  # else it starts twice, seconds of CPU each, for a larger heap
        }

    def extra(self, url: str, retries: int) -> tuple[str, ...]:
        """Arguments that point the CLI at the server and keep it from the machine's own configuration."""
        provider = CODEX_PROVIDER.format(url=url, retries=retries)
        return {
            "codex": ("--ignore-user-config", "-c", "model_provider=scripted", "-c", provider),
            "claude": ("--bare",),
            "qwen": ("--bare", "--auth-type=openai"),
        }.get(self.name, ())

    async def ask(self, processes: Processes, url: str, prompt: str, *, retries: int = 0, **more) -> AgentResult:
        known = {name: more.pop(name) for name in ("session", "max_usd") if name in more}
        request = AgentRequest(prompt, model=MODELS.get(self.name, "scripted"), extra=self.extra(url, retries), **known)
        return await run_agent(
            self.entry, request, processes, cwd=self.repo, env=self.env(url, retries), **{"timeout": 90, **more}
        )

    def processes_left(self) -> list[int]:
        """Processes that still have this CLI's home in their environment."""
        mark = f"HOME={self.home}".encode()
        return [
            int(entry.name) for entry in Path("/proc").iterdir() if entry.name.isdigit() and mark in _environ(entry)
        ]


def _environ(process: Path) -> bytes:
    try:
        return (process / "environ").read_bytes()
    except OSError:
        return b""


PROPRIETARY = ("claude", "copilot")
"""CLIs whose licences are for whoever uses them to accept: they are tested where they are installed."""


def installed(name: str, required: bool) -> str:
    """The PATH on which a CLI is, `.tools` first.

    It fails where the tests of real CLIs were asked for and it is missing; elsewhere it skips.
    """
    path = f"{TOOLS / 'bin'}{os.pathsep}{os.environ['PATH']}"
    if shutil.which(name, path=path) is None:
        if name in PROPRIETARY:
            pytest.skip(f"{name} is proprietary and tested only where it is installed")
        if name in MAYBE and (TOOLS / ".ready").exists():
            pytest.skip(f"{name} could not be installed here")
        (pytest.fail if required else pytest.skip)("the CLIs are not installed: run `make agents-cli`")
    return path


def set_up(name: str, place: Path, required: bool) -> Real:
    """A CLI with an empty home, and a git repository."""
    path = installed(name, required)
    home, repo = place / "home", place / "repo"
    (home / ".gemini").mkdir(parents=True)
    (home / ".gemini" / "settings.json").write_text(GEMINI_SETTINGS)
    repo.mkdir()
    subprocess.run(["git", "init", "-q", repo], check=True)
    return Real(name, home, repo, path)
