"""Sandbox around the commands of a slot, and the protection that it gives."""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Generic, Protocol, TypeVar

from bakeoff.confine import landlock
from bakeoff.confine.filter import INET, INET6, UNIX
from bakeoff.process.command import Command
from bakeoff.workspace.errors import WorkspaceError
from bakeoff.workspace.repository.cache import cache_root, data_root
from bakeoff.workspace.sandbox.inside.run import FAILED
from bakeoff.workspace.sandbox.machine import Machine, this_machine
from bakeoff.workspace.sandbox.places import DEVICES, SOURCES, below, is_open, outermost, readable
from bakeoff.workspace.sandbox.plan import FORK, SandboxPlan
from bakeoff.workspace.sandbox.policy import SandboxPolicy
from bakeoff.workspace.sandbox.protection import Protection, Shield, unprotected
from bakeoff.workspace.sandbox.sockets import hidden_sockets
from bakeoff.workspace.sandbox.variables import scrubbed
from bakeoff.workspace.slots.mounts import starting_in

NOT_BUILT = FAILED
"""Exit status of a command that was not run because its sandbox could not be built; its standard error says why."""

NETLINK = 16

MARKS = ("BAKEOFF_RUN", "BAKEOFF_RUN_ID", "BAKEOFF_LEAF")
"""Variables by which the engine knows its processes, and a command its run; the spawner adds them."""


class SandboxError(WorkspaceError):
    """This machine cannot give the protection that was asked for."""


class Site(Protocol):
    """A work site of commands: a `Slot`, or a `Folder` that is none. See there."""

    @property
    def path(self) -> str: ...  # noqa: D102
    @property
    def bare(self) -> str: ...  # noqa: D102
    @property
    def temp(self) -> Path: ...  # noqa: D102
    @property
    def env(self) -> Mapping[str, str | None]: ...  # noqa: D102
    @property
    def holder(self) -> int: ...  # noqa: D102
    @property
    def owned(self) -> Sequence[str]: ...  # noqa: D102
    @property
    def shown(self) -> Sequence[str]: ...  # noqa: D102
    @property
    def environments(self) -> Sequence[str]: ...  # noqa: D102
    @property
    def closed(self) -> Sequence[str]: ...  # noqa: D102
    @property
    def links(self) -> Mapping[str, str]: ...  # noqa: D102

    def command(self, argv: Sequence[str], *, env: Mapping[str, str | None] | None = None, **more: Any) -> Command:
        """Without a sandbox."""
        ...


Where = TypeVar("Where", bound=Site)


@dataclass(frozen=True, slots=True)
class Sandbox(Generic[Where]):
    """A sandbox around the commands of one slot.

    Attributes:
        slot: where they work.
        policy: what was asked for.
        machine: what can be had here.
        protection: what is active, for the receipt.
    """

    slot: Where
    policy: SandboxPolicy
    machine: Machine
    protection: Protection

    def command(
        self,
        argv: Sequence[str],
        *,
        cwd: str | None = None,
        env: Mapping[str, str | None] | None = None,
        reads: Sequence[str] = (),
        **more: Any,
    ) -> Command:
        """A command to run in the sandbox, for the engine's processes.

        It ends as `argv` ends, also by a signal; `NOT_BUILT` says that it was never started. All processes that it
        leaves behind are gone when it has ended.

        Args:
            argv: program and arguments.
            cwd: where it starts, as the slot sees it; None for the slot's top.
            env: variables on top of the slot's; None takes one away.
            reads: places that this command may see besides.
            more: as for `Command`.
        """
        slot, policy = self.slot, self.policy
        if policy.limits.seconds is not None and more.get("timeout") is None:
            more["timeout"] = policy.limits.seconds
        if policy.level == "none":
            if cwd is not None:
                argv = [*starting_in(cwd), *argv]
            return slot.command(argv, env=env, **more)
        variables = scrubbed(slot.env, policy.environment, env or {}, str(slot.temp))
        folder = cwd or slot.path
        changes: dict[str, str | None] = {name: None for name in os.environ if name not in variables}
        changes |= variables
        changes["PWD"] = folder
        if sys.platform == "darwin":
            from bakeoff.workspace.sandbox.darwin import started

            places = self._reads(variables, reads)
            return Command(started(argv, places, self._writes(), policy.network), folder, changes, **more)
        plan = self._plan(variables, folder, reads)
        return Command(plan.argv(argv), "/", changes, fork=FORK, **more)

    def plan(self, *, reads: Sequence[str] = (), at: str | None = None, size: int = 256 << 20) -> SandboxPlan:
        """The confinement of a process that is forked instead of started; see `inside/forked.py`.

        Args:
            reads: places that it may see besides.
            at: where it sees the slot's tree, with changes that go to memory and end with it; None where that cannot
                be had: it changes the slot then.
            size: bytes of such changes, /tmp included.
        """
        variables = scrubbed(self.slot.env, self.policy.environment, {}, str(self.slot.temp))
        plan = self._plan(variables, self.slot.path, reads)
        if at is None:
            return plan
        copied = self.machine.layer is not None
        own = {"lower": self.slot.bare, "at": at, "size": size, "links": dict(self.slot.links), "copied": copied}
        places = [path for path in plan.reads or () if not below(path, [at])]
        writes = [at, *DEVICES, "/dev/pts", "/tmp"]  # noqa: S108 - a folder of its own
        return replace(plan, folder=at, temp="/tmp", writes=(), reads=places, landlock_writes=writes, own=own)  # noqa: S108

    def may_read(self, paths: Sequence[str]) -> bool:
        """Whether commands see all these places anyway; what they tell of others is not to be shown to them."""
        known = self._reads(scrubbed(self.slot.env, self.policy.environment, {}, str(self.slot.temp)), ())
        if known is None or self.policy.level == "none":
            return True
        shown = [*known, *self._writes()]
        shown += [os.path.realpath(path) for path in known]
        return all(below(path, shown) and below(os.path.realpath(path), shown) for path in map(os.path.normpath, paths))

    def open_among(self, paths: Sequence[str]) -> list[str]:
        """Those of these places that hold neither the home folder nor anything of bakeoff's own or another slot's."""
        shut = [os.path.realpath(path) for path in self._closed()]
        return [path for path in paths if is_open(path, shut)]

    def _closed(self) -> list[str]:
        return [os.path.expanduser("~"), str(cache_root()), str(data_root()), *self.slot.closed]

    def _reads(self, variables: Mapping[str, str], more: Sequence[str]) -> list[str] | None:
        if self.policy.read_everything:
            return None
        slot = self.slot
        known = readable(variables, self.policy.network, self._closed(), slot.environments)
        found = [*known, *slot.shown, *self.policy.reads, *more]
        return [path for path in found if not below(path, self._writes())]

    def _writes(self) -> list[str]:
        own = self.slot.owned
        # What lies in another may have become a link since, by whoever can write there.
        return [*own, *(path for path in outermost(self.policy.writes) if not below(path, own))]

    def _plan(self, variables: Mapping[str, str], folder: str, more: Sequence[str]) -> SandboxPlan:
        policy, machine, limits = self.policy, self.machine, self.policy.limits
        apart = machine.namespaces is None
        reads, writes = self._reads(variables, more), self._writes()
        own = apart and not policy.network and policy.loopback
        plan = SandboxPlan(
            folder=folder,
            temp=str(self.slot.temp),
            writes=writes,
            reads=reads,
            variables=sorted({*variables, "PWD", *MARKS}),
            namespaces=apart,
            holder=self.slot.holder,
            network=policy.network,
            proc=machine.proc is None,
            hidden=hidden_sockets(os.environ, policy.sockets, writes) if apart and reads is None else (),
            shared=limits.shared,
            memory=limits.memory or 0,
            count=limits.processes or 0,
            limits=_each(policy),
            landlock=machine.landlock is None,
            landlock_writes=[*writes, *DEVICES, "/dev/pts", *(("/tmp",) if apart and reads is not None else ())],  # noqa: S108
            scopes=landlock.ABSTRACT_SOCKETS | landlock.SIGNALS if machine.scopes else 0,
            seccomp=machine.seccomp is None,
            families=_families(policy, own),
        )
        if not apart and reads is not None:
            plan = replace(plan, landlock_reads=[*reads, *SOURCES], keep_modes=True)
        return plan


def _each(policy: SandboxPolicy) -> dict[str, int]:
    """Limits of each process, by their names in `inside/run.py`."""
    limits = policy.limits
    named = {"data": limits.memory, "processes": limits.processes, "cpu": limits.cpu, "file": limits.file, "core": 0}
    return {name: int(amount) for name, amount in named.items() if amount is not None}


def _families(policy: SandboxPolicy, own: bool) -> list[int]:
    if policy.network:
        return [UNIX, INET, INET6, NETLINK]
    return [UNIX, INET, INET6] if own else []


async def sandbox(slot: Where, policy: SandboxPolicy, *, machine: Machine | None = None) -> Sandbox[Where]:
    """Commands of `slot` under `policy`.

    Args:
        slot: a leased one.
        policy: what is asked for.
        machine: what can be had; None to find out (once in a process, some tens of milliseconds).

    Passes on SandboxError: the policy asks for `full`, and this machine gives less.
    """
    found = machine or (NOTHING if policy.level == "none" else await this_machine())
    return Sandbox(slot, policy, found, granted(policy, found))


NOTHING = Machine("not asked for", None, None, False, None)


def granted(policy: SandboxPolicy, found: Machine) -> Protection:
    """The protection of a sandbox under `policy` on a machine, where that is enough.

    Raises:
        SandboxError: the policy asks for `full`, and this machine gives less.
    """
    if policy.level == "none":
        return unprotected("sandbox = none was asked for")
    protection = protection_of(policy, found)
    if policy.level == "full" and protection.missing:
        raise SandboxError(
            "this machine cannot protect itself from code nobody has read: "
            + "; ".join(protection.missing)
            + '. Give --sandbox=weak (or BAKEOFF_SANDBOX=weak, or sandbox = "weak" in [tool.bakeoff]) to run it with '
            "what there is, or none to run it without any"
        )
    return protection


def protection_of(policy: SandboxPolicy, machine: Machine) -> Protection:
    """The protection of a sandbox under `policy` on this machine."""
    if machine.seatbelt is None:
        from bakeoff.workspace.sandbox.darwin import protection

        return protection(policy)
    by = [name for name, missing in (("landlock", machine.landlock), ("seccomp", machine.seccomp)) if missing is None]
    if machine.namespaces is None:
        return _apart(policy, machine, by)
    return _here(policy, machine, by)


def _apart(policy: SandboxPolicy, machine: Machine, by: list[str]) -> Protection:
    files = Shield("full", ("mount namespace", *by))
    network = Shield("full", ("network namespace", *by[-1:]))
    if policy.network:
        network = Shield("full", gap="the policy allows the network")
    gap = None if machine.proc is None else f"no /proc inside: {machine.proc}"
    processes = Shield("full", ("process namespace", *by), gap)
    limits = Shield("full", (*_limits(policy), *_watches(policy)))
    if machine.proc is not None:
        limits = Shield("weak", _limits(policy), "nobody watches all processes together")
    if not _limits(policy):
        limits = Shield(None, gap="the policy has none")
    unseen = ("reads and writes outside", "connections", "signals", "system calls that were refused")
    return Protection(policy.level, files, network, processes, limits, unseen)


def _limits(policy: SandboxPolicy) -> tuple[str, ...]:
    """The kernel's limits for each process."""
    limits = policy.limits
    known = (("RLIMIT_DATA", limits.memory), ("RLIMIT_CPU", limits.cpu), ("RLIMIT_FSIZE", limits.file))
    return tuple(name for name, amount in known if amount is not None)


def _watches(policy: SandboxPolicy) -> tuple[str, ...]:
    """Limits on all processes together."""
    found = ["a watch on the memory of all"] if policy.limits.memory is not None else []
    if policy.limits.processes is not None:
        watch = "a watch on the number of processes (the kernel limits none of root's)"
        found.append("RLIMIT_NPROC" if os.geteuid() else watch)
    return tuple(found)


def _here(policy: SandboxPolicy, machine: Machine, by: list[str]) -> Protection:
    why = f"no namespaces: {machine.namespaces}"
    files = network = Shield(None, gap=why)
    reached = ", and sockets of other programs (ssh-agent, docker)" if policy.read_everything else ""
    processes = Shield("weak", ("subreaper",), f"others can be seen and ended; {why}")
    if machine.landlock is None:
        files = Shield("weak", tuple(by), f"that a file exists, its size and mode can be seen outside, too; {why}")
        if machine.scopes:
            processes = Shield("weak", ("landlock", "subreaper"), f"others can be seen; {why}")
    if policy.network:
        network = Shield("full", gap=f"the policy allows the network{reached}")
    elif machine.seccomp is None:
        network = Shield("weak", ("seccomp",), f"no sockets at all, also none on loopback; {why}")
    counted = (
        "processes are counted with all others of this user" if os.geteuid() else "root's processes are not limited"
    )
    limits = Shield("weak", _limits(policy), f"memory is limited for each process; {counted}")
    if not _limits(policy):
        limits = Shield(None, gap="the policy has none")
    unseen = ("reads and writes outside", "connections", "signals", "system calls that were refused")
    return Protection(policy.level, files, network, processes, limits, unseen)
