"""The programs that execute what they are given, so that quoting it protects nobody."""

from __future__ import annotations

import re
from collections.abc import Sequence

ITSELF = "the shell"
"""Answer of `executor` when the word is the program's own name."""

SHELLS = frozenset({"sh", "bash", "dash", "zsh", "ksh", "ash", "fish"})

# What each takes up to its first operand (a text of code, or the name of a script) is executed. With each stand the
# letters of the options whose value is the next word.
_INTERPRETERS = {
    **dict.fromkeys(SHELLS, "oO"),
    "python": "WX",
    "pypy": "WX",
    "perl": "I",
    "ruby": "Ir",
    "node": "r",
    "nodejs": "r",
    "php": "d",
    "lua": "l",
    "awk": "vF",
    "gawk": "vF",
    "mawk": "vF",
}
# Their first operand is a program; the number counts the operands before it.
_PREFIXES = {
    "env": ("uC", 0),
    "exec": ("a", 0),
    "command": ("", 0),
    "builtin": ("", 0),
    "sudo": ("ughpCrtD", 0),
    "doas": ("uC", 0),
    "nohup": ("", 0),
    "setsid": ("", 0),
    "time": ("fo", 0),
    "timeout": ("sk", 1),
    "nice": ("n", 0),
    "ionice": ("cn", 0),
    "stdbuf": ("ioe", 0),
    "xargs": ("InPdLsaE", 0),
    "chroot": ("", 1),
    "busybox": ("", 0),
    "caffeinate": ("tw", 0),
    "chrt": ("TPD", 1),
    "flock": ("wE", 1),
    "fakeroot": ("libf", 0),
    "nsenter": ("tSGWT", 0),
    "parallel": ("jIaN", 0),
    "prlimit": ("p", 0),
    "runuser": ("ug", 0),
    "strace": ("eopsuEa", 0),
    "taskset": ("", 1),
    "unshare": ("SGRw", 0),
    "unbuffer": ("", 0),
    "xvfb-run": ("enspfw", 0),
}
# A shell reads all that follows.
_READERS = frozenset({"eval", "source", ".", "trap", "ssh", "su", "watch"})
LOADS_CODE = re.compile(
    r"LD_\w+|DYLD_\w+|BASH_ENV|BASH_FUNC\w*%*|SHELLOPTS|BASHOPTS|ENV|ZDOTDIR|PATH|CDPATH|IFS|PS4|PROMPT_COMMAND|SHELL|HOME"
    r"|PYTHON\w*|PYTEST_\w+|NODE_(?:OPTIONS|PATH)|GIT_\w+|PERL\w*|RUBY\w*|GEM_\w+|BUNDLE_\w+|LUA_\w+|PHPRC|PHP_INI\w+"
    r"|CLASSPATH|\w*JAVA_(?:TOOL_)?OPTIONS|MAVEN_OPTS|GRADLE_OPTS|GCONV_PATH|LOCPATH|OPENSSL_\w+|SSH_ASKPASS|SUDO_ASKPASS"
    r"|EDITOR|VISUAL|BROWSER|\w*PAGER|LESS|LESSOPEN|LESSCLOSE|TAR_OPTIONS|MAKEFLAGS|MAKEFILES|GNUMAKEFLAGS|MFLAGS"
    r"|CC|CXX|LDFLAGS|CFLAGS|RUSTC\w*|RUSTFLAGS|CARGO_\w+|GOFLAGS|NPM_CONFIG_\w+|PIP_\w+|UV_\w+|XDG_\w+|BAKEOFF_\w+",
    re.IGNORECASE,
)
"""Names of environment variables from which programs take code, or where to find it."""

# What their first operand is decides what is run; a value of these options is executed, or names what is.
_CONFIGURED = {"git": frozenset({"-c", "-C", "--config-env", "--exec-path", "--git-dir", "--work-tree"})}
_KEYWORDS = frozenset({"if", "then", "elif", "else", "while", "until", "do", "!", "{"})
_BEFORE_A_COMMAND = re.compile(r"[A-Za-z_]\w*\+?=|\d*[<>]")
_VERSION = re.compile(r"[\d.]+$")


def executor(words: Sequence[str], place: int) -> str | None:
    """The program that would execute the word at `place` of a simple command; None where it is only data."""
    at = 0
    while at <= place:
        if words[at] in _KEYWORDS or _BEFORE_A_COMMAND.match(words[at]):
            if at == place and LOADS_CODE.fullmatch(words[at].partition("=")[0].rstrip("+")):
                return f"whatever runs with the variable {words[at].partition('=')[0]}"
            at += 1
            continue
        if at == place:
            return ITSELF
        name = words[at].rsplit("/", 1)[-1]
        name = _VERSION.sub("", name) or name
        if name in _READERS:
            return name
        if name == "find":
            at = _after_exec(words, at, place)
        elif name in _CONFIGURED:
            return name if _configures(words, at + 1, place, _CONFIGURED[name]) else None
        elif name in _PREFIXES:
            if name == "env" and any(word.startswith(("-S", "--split-string")) for word in words[at + 1 : place + 1]):
                return name
            at = _operand(words, at + 1, *_PREFIXES[name])
        elif name in _INTERPRETERS:
            operand = _operand(words, at + 1, _INTERPRETERS[name])
            # `python -cCODE` is code too, so an option that holds the text counts.
            glued = at < place < operand and words[place].startswith("-")
            return name if place == operand or glued else None
        else:
            return None
    return None


def _operand(words: Sequence[str], at: int, valued: str, skipped: int = 0) -> int:
    """Index of the first operand, after options, their values and `skipped` other operands."""
    while at < len(words):
        word = words[at]
        if word[:1] in ("-", "+") and len(word) > 1:
            at += 2 if len(word) > 1 and word[1] != "-" and word[-1] in valued else 1
        elif skipped:
            skipped, at = skipped - 1, at + 1
        else:
            break
    return at


def _after_exec(words: Sequence[str], at: int, place: int) -> int:
    """The program after the last `-exec` of a `find` before `place`."""
    found = [other for other in range(at, place) if words[other] in {"-exec", "-execdir", "-ok", "-okdir"}]
    return found[-1] + 1 if found else place + 1


def _configures(words: Sequence[str], at: int, place: int, options: frozenset[str]) -> bool:
    """Whether the word at `place` is an option before the first operand, the value of one, or that operand."""
    while at < place and words[at].startswith("-"):
        at += 2 if words[at] in options else 1
    return at >= place


def own_words(words: Sequence[str]) -> int:
    """Index of the program's own words, behind those of programs that only start it (`env`, `timeout`)."""
    at = 0
    while at < len(words):
        name = words[at].rsplit("/", 1)[-1]
        if _BEFORE_A_COMMAND.match(words[at]):
            at += 1
        elif name in _PREFIXES:
            at = _operand(words, at + 1, *_PREFIXES[name])
        else:
            break
    return at + 1
