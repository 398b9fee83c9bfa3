"""Rules of single keys that a model cannot say, because they look at more than one key or step."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection
from pathlib import Path as FilePath
from typing import Any

from bakeoff.engine.lanes import LEAVES
from bakeoff.workflow.file_model import InputDeclaration
from bakeoff.workflow.inputs import coerce
from bakeoff.workflow.models import FAILURE_KINDS
from bakeoff.workflow.problems import Path, shown, suggestion
from bakeoff.workflow.step_models import BUILT_IN, HOLDING
from bakeoff.workflow.tree import Entry, Tree
from bakeoff.workflow.values import concurrency

_ENV_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_OUTPUT_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_-]*")
BUILT_IN_LANES = frozenset({"agents", "tests", "bench", "slots", "apply", LEAVES})
"""Lanes that every run has."""

_RESERVED_OUTPUTS = frozenset({"workflow", "status", "error", "aborted", "integration", "model", "options", "input"})


def check_top_level(tree: Tree) -> None:
    """Rules of the top level: inputs, outputs, secrets, environment, and what of spec-kit is not supported."""
    data = tree.document.data
    _check_inputs(tree, data.get("inputs"))
    _check_env(tree, ("env",), data.get("env"))
    secrets = data.get("secrets")
    for key, name in enumerate(secrets) if isinstance(secrets, list) else _items(secrets):
        if isinstance(name, str):
            _check_env_name(tree, ("secrets", key), name, key=False)
    for name, _ in _items(data.get("outputs")):
        if isinstance(name, str) and (name in _RESERVED_OUTPUTS or not _OUTPUT_NAME.fullmatch(name)):
            why = "is a name of the call itself" if name in _RESERVED_OUTPUTS else "is no name"
            tree.error(("outputs", name), f"the output `{name}` {why}; choose another", key=True)
    if "extends" in data or "edits" in data:
        tree.error((), "this is an overlay of spec-kit; overlays are not supported: write the edited workflow out")
    _check_overlays(tree)


def _check_overlays(tree: Tree) -> None:
    path: FilePath | None = tree.document.path
    if path is None or path.parent.parent.name != "workflows" or path.parent.parent.parent.name != ".specify":
        return
    folder = path.parent.parent / "overlays" / path.parent.name
    if any(folder.glob("*.yml")):
        tree.warn((), f"the overlays in {folder} are not supported and not applied: write the edited workflow out")


def _check_inputs(tree: Tree, inputs: Any) -> None:
    for name, raw in _items(inputs):
        if not isinstance(raw, dict):
            continue
        kind = raw.get("type", "string")
        values = raw.get("enum")
        allowed = values if isinstance(values, list) else None
        if kind not in ("string", "number", "boolean"):
            continue
        automatic = name == "integration" and raw.get("default") == "auto"
        if raw.get("default") is not None and not automatic:
            declaration = InputDeclaration.model_construct(type=kind, enum=allowed)
            try:
                coerce(declaration, raw["default"])
            except ValueError as failure:
                tree.error(("inputs", name, "default"), f"the default of the input `{name}` {failure}")


def _items(value: Any) -> list[tuple[Any, Any]]:
    return list(value.items()) if isinstance(value, dict) else []


def _check_env(tree: Tree, path: Path, env: Any) -> None:
    for name, _ in _items(env):
        if isinstance(name, str):
            _check_env_name(tree, (*path, name), name)


def _check_env_name(tree: Tree, path: Path, name: str, *, key: bool = True) -> None:
    if not _ENV_NAME.fullmatch(name):
        what = "is no name for an environment variable; use letters, digits and `_`, not beginning with a digit"
        tree.error(path, f"`{name}` {what}", key=key)


def check_steps(tree: Tree, lanes: Collection[str] = BUILT_IN_LANES) -> None:
    """Rules of single steps, by type; `lanes` are those that the run has."""
    for entry in tree.entries:
        _check_lanes(tree, entry, lanes)
        _check_kinds(tree, entry)
        _check_env(tree, (*entry.path, "env"), entry.raw.get("env"))
        check = _BY_TYPE.get(entry.type_name)
        if check is not None and entry.model is not None:
            check(tree, entry)
        if entry.model is not None and entry.type_name not in BUILT_IN:
            _check_custom(tree, entry)
        if entry.raw.get("workspace") is not None and _is_holder(tree, entry):
            message = f"a `{entry.type_name}` step has no slot of its own; put `workspace` on the steps that work"
            tree.error((*entry.path, "workspace"), message, key=True)


_NO_WORK = frozenset({"gate", "fan-in", "slot"})


def _is_holder(tree: Tree, entry: Entry) -> bool:
    """Whether a step does no work of its own in the project."""
    if entry.model is None:
        return False
    return entry.type_name in _NO_WORK | HOLDING or tree.types.container(entry.type_name) is not None


def _check_custom(tree: Tree, entry: Entry) -> None:
    check = getattr(tree.types.custom(entry.type_name), "check", None)
    for key, message in check(entry.raw) if callable(check) else ():
        inner = () if key is None else key if isinstance(key, tuple) else (key,)
        tree.error((*entry.path, *inner), message)


def _check_lanes(tree: Tree, entry: Entry, lanes: Collection[str]) -> None:
    written = entry.raw.get("lane")
    for place, name in enumerate(written) if isinstance(written, list) else ((None, written),):
        if isinstance(name, str) and name not in lanes:
            path = (*entry.path, "lane") if place is None else (*entry.path, "lane", place)
            there = f"there are {', '.join(sorted(lanes))}; add it under `lanes:` of the file that is run"
            hint = suggestion(name, lanes) or f"; {there}, or in the settings"
            tree.error(path, f"there is no lane `{name}`{hint}")


def _check_kinds(tree: Tree, entry: Entry) -> None:
    """Warn of kinds of failure that no built-in step has; a custom step may have its own, unless it looks mistyped."""
    retry = entry.raw.get("retry")
    key: Any = "on" if isinstance(retry, dict) and "on" in retry else True  # as YAML 1.1 reads a bare `on`
    kinds = retry.get(key) if isinstance(retry, dict) else None
    for place, kind in enumerate(kinds if isinstance(kinds, list) else ()):
        if not isinstance(kind, str) or kind in FAILURE_KINDS:
            continue
        hint = suggestion(kind, FAILURE_KINDS)
        if hint or entry.type_name in BUILT_IN:
            there = hint or f"; there are {', '.join(FAILURE_KINDS)}"
            tree.warn((*entry.path, "retry", key, place), f"no built-in step fails with the kind `{kind}`{there}")


def _check_shell(tree: Tree, entry: Entry) -> None:
    run, argv = entry.raw.get("run"), entry.raw.get("argv")
    if run is None and argv is None:
        tree.error(entry.path, "`run` is missing (or `argv`, to run a program without a shell)")
    elif run is not None and argv is not None:
        tree.error((*entry.path, "argv"), "a shell step has `run` or `argv`, not both", key=True)
    if isinstance(run, str) and not run.strip():
        tree.error((*entry.path, "run"), "`run` is empty")


def _check_agent(tree: Tree, entry: Entry) -> None:
    path = (*entry.path, "capture_max_bytes")
    if entry.raw.get("capture_max_bytes") == 0:
        tree.error(path, "`capture_max_bytes` must be greater than 0, or -1 for no limit")
    elif entry.raw.get("capture") is False and entry.raw.get("capture_max_bytes") is not None:
        tree.error(path, "`capture_max_bytes` means nothing with `capture: false`")


def _check_gate(tree: Tree, entry: Entry) -> None:
    options = entry.raw.get("options", ["approve", "reject"])
    on_reject = entry.raw.get("on_reject", "abort")
    texts = [option.lower() for option in options if isinstance(option, str)] if isinstance(options, list) else []
    if texts and on_reject in ("abort", "retry") and not {"reject", "abort"} & set(texts):
        message = f"`on_reject: {on_reject}` needs an option `reject` or `abort`; add one, or say `on_reject: skip`"
        tree.error((*entry.path, "options"), message)
    name = entry.raw.get("verdict_input")
    if isinstance(name, str):
        _check_verdict(tree, entry, name, on_reject)


def _check_verdict(tree: Tree, entry: Entry, name: str, on_reject: Any) -> None:
    path = (*entry.path, "verdict_input")
    inputs = tree.document.data.get("inputs")
    declared = inputs if isinstance(inputs, dict) else {}
    if name not in declared:
        tree.error(
            path,
            f"`verdict_input` names the input `{name}`, which is not declared{suggestion(name, map(str, declared))}",
        )
    elif entry.scope.owner is not None:
        tree.error(path, "`verdict_input` cannot be used inside a fan-out; use `bakeoff answer`")
    elif on_reject == "retry":
        values = declared[name].get("enum") if isinstance(declared[name], dict) else None
        if isinstance(values, list) and "" not in values:
            message = f'`on_reject: retry` empties the input `{name}`, so its `enum` must contain ""'
            tree.error(path, message)


def _check_fan_in(tree: Tree, entry: Entry) -> None:
    wait_for = entry.raw.get("wait_for")
    for place, name in enumerate(wait_for if isinstance(wait_for, list) else ()):
        if tree.full:
            return
        path = (*entry.path, "wait_for", place)
        if not isinstance(name, str):
            tree.error(path, f"`wait_for` takes ids of steps, not {shown(name)}")
            continue
        complaint = _waiting(tree, entry, name)
        if complaint:
            tree.error(path, f"`wait_for` names `{name}`, {complaint}")


def _waiting(tree: Tree, entry: Entry, name: str) -> str | None:
    if name == entry.id:
        return "which is this step itself"
    found = entry.scope.find(name)
    if found is not None:
        return "which is declared later; move this step behind it" if found.order > entry.order else None
    first = name.split(":")[0]
    inner = next((other for other in tree.entries if other.id == name), None)
    if ":" in name and entry.scope.find(first) is not None:
        return f"which is one item or pass; wait for `{first}` and take its results"
    if inner is not None and inner.scope.owner is not None:
        return f"which stands inside the fan-out `{inner.scope.owner.id}`; wait for that and take its results"
    earlier = [other.id for other in tree.entries if other.order < entry.order and entry.scope.find(other.id) is other]
    return f"and there is no such step before this one{suggestion(name, earlier)}"


def _check_fan_out(tree: Tree, entry: Entry) -> None:
    _check_concurrency(tree, entry)
    items, share = entry.raw.get("items"), entry.raw.get("min_success")
    if "items" in entry.raw and not isinstance(items, (list, str)):
        tree.error((*entry.path, "items"), f"`items` must be a list or an expression, not {shown(items)}")
    elif isinstance(items, str) and "{{" not in items:
        message = f'`items` is {shown(items)}, not a list; write [a, b], or an expression such as "{{{{ inputs.x }}}}"'
        tree.warn((*entry.path, "items"), message)
    if isinstance(items, list) and _too_many(share, len(items)):
        count = f"{len(items)} item{'' if len(items) == 1 else 's'}"
        tree.error((*entry.path, "min_success"), f"`min_success` is {share}, but `items` has only {count}")
    if isinstance(share, float) and share > 1 and not share.is_integer():
        tree.error((*entry.path, "min_success"), "`min_success` is a whole number, or a share between 0 and 1")


def _too_many(share: Any, count: int) -> bool:
    """Whether more items are to succeed than there are; a share of them is never too much."""
    number = isinstance(share, int | float) and not isinstance(share, bool)
    return number and not (isinstance(share, float) and share <= 1) and share > count


def _check_concurrency(tree: Tree, entry: Entry) -> None:
    value = entry.raw.get("max_concurrency", 1)
    path = (*entry.path, "max_concurrency")
    if isinstance(value, str) and "{{" in value:
        return
    if isinstance(value, (dict, list)):
        tree.error(path, f"`max_concurrency` must be a number or an expression, not {shown(value)}")
    elif complaint := odd_concurrency(value):
        tree.warn(path, f"`max_concurrency` {complaint}")


def odd_concurrency(value: Any) -> str | None:
    """Warning on a value of `max_concurrency` that counts as another one; None where it means what it says."""
    bound = concurrency(value)
    if value is None or (bound is not None and (isinstance(value, str) or bound == value)):
        return None
    return f"is {shown(value)} and counts as {bound or 1}; write a whole number from 1"


def _check_parallel(tree: Tree, entry: Entry) -> None:
    _check_concurrency(tree, entry)
    for name, _ in _items(entry.raw.get("branches")):
        path = (*entry.path, "branches", name)
        if not isinstance(name, str):
            tree.error(path, f"the name of a branch must be text, not {shown(name)}; put it in quotes", key=True)
        elif not name or ":" in name or "/" in name:
            tree.error(path, f"the branch name `{name}` must not be empty or contain `:` or `/`", key=True)


_BY_TYPE: dict[str, Callable[[Tree, Entry], None]] = {
    "shell": _check_shell,
    "command": _check_agent,
    "prompt": _check_agent,
    "gate": _check_gate,
    "fan-in": _check_fan_in,
    "fan-out": _check_fan_out,
    "parallel": _check_parallel,
}
