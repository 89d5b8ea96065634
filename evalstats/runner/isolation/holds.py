"""How one command is held, and what is in effect while it runs."""

from __future__ import annotations

import contextlib
import json
import os
import signal
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import asdict, dataclass
from typing import Any

from evalstats import contract
from evalstats.artifacts import Artifacts
from evalstats.contract import Isolation
from evalstats.errors import DocumentError, JournalError
from evalstats.runner.isolation.cgroups import Group
from evalstats.runner.isolation.network import NoNetwork
from evalstats.trials import Trial

NAME = "isolation"
NO_NETWORK, UNRESTRICTED = "none", "unrestricted"
READ_ONLY, WRITABLE = "read-only", "writable"


@dataclass(frozen=True, slots=True, kw_only=True)
class Limit:
    """How much a trial may have of something, and what sees to it: ``cgroup`` all of it, ``rlimit`` each process."""

    most: int
    by: str


@dataclass(frozen=True, slots=True, kw_only=True)
class InEffect:
    """What was in effect while a trial ran (``isolation.v1``), which may be less than what was asked for."""

    processes: Isolation
    network: str = UNRESTRICTED
    files: str = WRITABLE
    memory_limit: Limit | None = None
    process_limit: Limit | None = None

    @property
    def is_plain(self) -> bool:
        """Return whether the level of the trial says it all."""
        return self == InEffect(processes=self.processes)


@dataclass(frozen=True, slots=True, kw_only=True)
class Hold:
    """How one command is held. ``wrapper`` and ``limiting`` are words before its own; a wrapper stays around it."""

    in_effect: InEffect
    wrapper: tuple[str, ...] = ()
    limiting: tuple[str, ...] = ()
    network: NoNetwork | None = None
    group: Group | None = None

    def argv(self, command: Sequence[str], report: int | None) -> tuple[str, ...]:
        """Return the whole command line; a wrapper writes to the descriptor ``report`` how far it came."""
        wrapper = self.wrapper
        if report is not None:
            wrapper = (wrapper[0], "--json-status-fd", str(report), *wrapper[1:])
        return (*(self.group.words() if self.group else ()), *self.limiting, *wrapper, *command)

    @property
    def has_words(self) -> bool:
        """Return whether the command is started by another program."""
        return bool(self.wrapper or self.limiting or self.group)

    def starting(self) -> AbstractContextManager[None]:
        """Return the context in which the command is to be started."""
        return contextlib.nullcontext() if self.network is None else self.network.entered()

    def ask_to_end(self, leader: int) -> None:
        """Send SIGTERM to the command and what it started; a wrapper would take the command away at once."""
        if self.wrapper:
            for pid in _below(leader):
                with contextlib.suppress(OSError):
                    os.kill(pid, signal.SIGTERM)
        else:
            with contextlib.suppress(OSError):
                os.killpg(leader, signal.SIGTERM)

    def fault(self, leader: int, report: int | None) -> str | None:
        """Return why a command that has ended, and is not reaped yet, never ran as it should have."""
        if report is not None and not _has_run(report):
            return "bwrap could not start the command"
        if self.group is not None and not self.group.holds(leader):
            return "the command was not in its control group"
        return None


def _has_run(report: int) -> bool:
    """Return whether the report of a wrapper tells an exit code: it does so only of what it started."""
    lines = os.pread(report, 65_536, 0).splitlines()
    with contextlib.suppress(ValueError):
        return any("exit-code" in json.loads(line) for line in lines)
    return False


def _below(pid: int) -> Iterator[int]:
    """Yield the processes that descend from one."""
    with contextlib.suppress(OSError):
        for thread in os.listdir(f"/proc/{pid}/task"):
            with open(f"/proc/{pid}/task/{thread}/children", "rb") as file:
                for child in map(int, file.read().split()):
                    yield child
                    yield from _below(child)


# --- what is kept of it --------------------------------------------------------------------------


def document(in_effect: InEffect) -> dict[str, Any]:
    """Return what was in effect as a document (``isolation.v1``)."""
    return asdict(in_effect)


def of(trials: Iterable[Trial], artifacts: Artifacts) -> list[Mapping[str, Any]]:
    """Return what was in effect for each of those trials that started a process."""
    read: dict[str, Mapping[str, Any]] = {}
    found = []
    for trial in trials:
        if trial.isolation is None:
            continue
        digest = trial.artifacts.get(NAME)
        if digest is not None and digest not in read:
            read[digest] = _read(digest, artifacts)
        plain = document(InEffect(processes=trial.isolation))
        found.append(plain if digest is None else read[digest] or plain)
    return found


def _read(digest: str, artifacts: Artifacts) -> Mapping[str, Any]:
    try:
        read: Mapping[str, Any] = contract.parse_json(artifacts.get(digest).decode())
    except (JournalError, DocumentError, UnicodeDecodeError):
        return {}  # then no more is claimed than the trial itself says
    return read


def summary(effects: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """Return what a run record says of it: per question all answers there were; of the network the weakest."""
    limits = {name: _limits(effects, name) for name in ("memory_limit", "process_limit")}
    networks = {e["network"] for e in effects}
    return {
        "network_access": NO_NETWORK if networks == {NO_NETWORK} else UNRESTRICTED,
        "isolation": {
            **{name: sorted({str(e[name]) for e in effects}) for name in ("processes", "network", "files")},
            **{name: found for name, found in limits.items() if found},
        },
    }


def _limits(effects: Sequence[Mapping[str, Any]], name: str) -> list[dict[str, Any]]:
    found = {(e[name]["most"], e[name]["by"]) for e in effects if e[name] is not None}
    return [{"most": most, "by": by} for most, by in sorted(found)]
