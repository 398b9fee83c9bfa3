from __future__ import annotations

import pytest

from bakeoff.agent.doctor import check_agents
from bakeoff.settings import BUILT_IN, AgentSettings, Settings

pytestmark = pytest.mark.anyio


async def look(spawner, tmp_path, settings=None, env=None, timeout=5.0):
    home = str(tmp_path / "home")
    base = {"PATH": str(tmp_path / "bin"), "HOME": home}
    for variable in ("OPENAI_API_KEY", "ANTHROPIC_API_KEY", "GEMINI_API_KEY", "CODEX_HOME", "CLAUDE_CONFIG_DIR"):
        base[variable] = None
    async with spawner:
        found = await check_agents(
            settings or Settings(), spawner, cwd=str(tmp_path), env={**base, **(env or {})}, timeout=timeout
        )
    return {check.name: check for check in found}


async def test_all_known_agents_are_looked_for(spawner, tmp_path):
    found = await look(spawner, tmp_path, Settings(agents={"mine": AgentSettings(argv=("nope", "{prompt}"))}))
    assert list(found) == sorted({*BUILT_IN, "mine"})
    assert all(check.path is None and "Get it:" in check.advice for check in found.values())


async def test_version_and_login(spawner, tmp_path, program):
    for name, version in (("codex", "codex-cli 0.171.0"), ("claude", "2.1.197 (Claude Code)"), ("qwen", "beta")):
        program(name, f"echo '{version}'")
    program("aider", "echo 'aider 0.86.2' >&2")
    login = tmp_path / "home" / ".codex" / "auth.json"
    login.parent.mkdir()
    login.mkdir()  # a directory cannot be read: it shows that only its existence is asked for
    found = await look(spawner, tmp_path, env={"ANTHROPIC_API_KEY": "k"})
    assert (found["codex"].version, found["codex"].login) == ("0.171.0", f"file {login}")
    assert (found["claude"].version, found["claude"].login) == ("2.1.197", "variable ANTHROPIC_API_KEY")
    assert (found["qwen"].version, found["qwen"].login) == ("unknown", None)
    assert "log in, or set OPENAI_API_KEY" in found["qwen"].advice
    assert found["aider"].version == "0.86.2"
    assert found["codex"].advice is None


async def test_moved_home_is_honoured(spawner, tmp_path, program):
    program("codex", "echo 1.0")
    (tmp_path / "auth.json").touch()
    found = await look(spawner, tmp_path, env={"CODEX_HOME": str(tmp_path)})
    assert found["codex"].login == f"file {tmp_path}/auth.json"


@pytest.mark.parametrize(
    ("body", "timeout", "said"),
    [
        ("exec /bin/sleep 60", 0.5, "did not tell its version within 0.5 s"),
        ("echo node is too old >&2; exit 3", 60, "ended with status 3 when asked for its version: node is too old"),
        ("exit 1", 60, "ended with status 1 when asked for its version"),
    ],
)
async def test_why_there_is_no_version_is_said_in_bounded_time(spawner, tmp_path, program, body, timeout, said):
    program("codex", body)
    found = await look(spawner, tmp_path, timeout=timeout)
    assert found["codex"].version is None
    assert said in found["codex"].advice


async def test_program_that_cannot_start(spawner, tmp_path):
    path = tmp_path / "bin" / "codex"
    path.parent.mkdir()
    path.write_bytes(b"\x7fELF nonsense")
    path.chmod(0o755)
    assert (await look(spawner, tmp_path))["codex"].version is None
