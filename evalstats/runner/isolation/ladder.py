"""Which rung of the ladder a run stands on: ``bwrap``, ``cgroup``, ``subreaper``, ``killpg``, strongest first.

A run stands on ``subreaper``, and where the kernel has none on ``killpg``, unless it asks for more. The stronger rungs
cost milliseconds a trial, and ``bwrap`` changes what a trial can do: a suite would mean one thing where it is installed
and another where it is not. Who asks for a rung gets it or a stronger one, or no run.

Memory is limited by a control group where there is one, else by RLIMIT_DATA. RLIMIT_AS would also count what a program
merely reserves, and runtimes that compile at run time reserve far more than they use; Linux ignores RLIMIT_RSS. How
many processes there may be is limited by a control group alone: RLIMIT_NPROC counts all that the user runs anywhere,
and does not bind root.
"""

from __future__ import annotations

import contextlib
import shutil
import tempfile
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace

from evalstats.contract import Isolation
from evalstats.errors import AdapterError
from evalstats.runner.isolation import bwrap, cgroups, probes
from evalstats.runner.isolation.bwrap import View
from evalstats.runner.isolation.cgroups import Group, Groups
from evalstats.runner.isolation.holds import (
    NO_NETWORK,
    READ_ONLY,
    UNRESTRICTED,
    WRITABLE,
    Hold,
    InEffect,
    Limit,
)
from evalstats.runner.isolation.network import NoNetwork
from evalstats.runner.sweeping import Sweeper
from evalstats.runner.terms import Terms

RUNGS = tuple(Isolation)


@dataclass(frozen=True, slots=True, kw_only=True)
class Site:
    """Where one command runs, and which. Under a view of its own ``shown`` must be seen, and ``hidden`` must not."""

    scratch: str
    cwd: str
    program: str
    program_path: str
    path: str
    shown: tuple[str, ...]
    hidden: tuple[str, ...]


class Ladder:
    """What holds the trials of one run, used as a context manager around it; tried out when it is entered.

    ``level`` is the rung, ``no_network`` why the network cannot be taken from a trial. Raises AdapterError where the
    machine has not what the terms ask for.
    """

    def __init__(self, terms: Terms, *, offline: bool, path: str, shown: Iterable[str] = ()) -> None:
        self.sweeper = Sweeper()
        self.no_network: str | None = None
        self._terms = terms
        self._offline = offline
        self._path = path
        self._shown = tuple(shown)
        self._bwrap: str | None = None
        self._groups: Groups | None = None
        self._network: NoNetwork | None = None
        self._network_words: tuple[str, ...] = ()
        self._limiting: tuple[str, ...] = ()
        self._views: dict[tuple[str, ...], View] = {}
        self._holds: dict[bool, Hold] = {}
        self._open = contextlib.ExitStack()

    def __enter__(self) -> Ladder:
        with contextlib.ExitStack() as opening:
            opening.enter_context(self.sweeper)
            self._open = opening
            self._limit()
            self._climb()
            if self._offline:
                self._take_network()
            self._open = opening.pop_all()
        return self

    def __exit__(self, *_: object) -> None:
        self._open.close()

    @property
    def level(self) -> Isolation:
        """Return the rung on which the trials of the run stand."""
        if self._bwrap is not None:
            return Isolation.BWRAP
        return self.sweeper.isolation if self._groups is None else Isolation.CGROUP

    def hold(self, site: Callable[[], Site], *, offline: bool) -> Hold:
        """Return what holds a command that runs at a site; ``offline`` if it is to have no network."""
        cut = offline and self.no_network is None
        known = self._holds.get(cut)
        if known is None:
            known = self._holds[cut] = Hold(
                in_effect=self._in_effect(cut),
                wrapper=self._network_words if cut else (),
                limiting=self._limiting,
                network=self._network if cut else None,
            )
        if self._bwrap is not None:
            known = replace(known, wrapper=self._words(self._bwrap, site(), cut))
        return known if self._groups is None else replace(known, group=_made(self._groups))

    def _words(self, program: str, site: Site, cut: bool) -> tuple[str, ...]:
        key = (site.path, *site.shown)
        if key not in self._views:
            self._views[key] = View.of(path=site.path, hidden=site.hidden, shown=site.shown)
        started = shutil.which(site.program, path=site.program_path)
        view = self._views[key]
        return view.words(program, writable=site.scratch, cwd=site.cwd, program=started, offline=cut)

    def _in_effect(self, cut: bool) -> InEffect:
        most = self._terms.memory_limit, self._terms.process_limit
        by = ("rlimit" if self._limiting else "cgroup"), "cgroup"
        memory, processes = (
            None if m is None else Limit(most=m, by=b) for m, b in zip(most, by, strict=True)
        )
        return InEffect(
            processes=self.level,
            network=NO_NETWORK if cut else UNRESTRICTED,
            files=WRITABLE if self._bwrap is None else READ_ONLY,
            memory_limit=memory,
            process_limit=processes,
        )

    # --- what the machine has, tried out ---

    def _climb(self) -> None:
        """Take the least rung that the terms are content with and the machine has. Raises AdapterError."""
        wanted = self._terms.require_isolation
        if wanted is None or RUNGS.index(self.level) <= RUNGS.index(wanted):
            return
        refused = []
        for rung in reversed(RUNGS[: RUNGS.index(wanted) + 1]):
            why = self._take(rung)
            if why is None:
                return
            refused.append(f"{rung}: {why}")
        raise AdapterError(
            f"this machine cannot give {wanted}: {'; '.join(refused)}", field="--require-isolation"
        )

    def _take(self, rung: Isolation) -> str | None:
        """Stand on a rung; return why that cannot be."""
        if rung is Isolation.CGROUP:
            return self._take_groups(frozenset())
        if rung is Isolation.BWRAP:
            return self._take_bwrap()
        return "the kernel does not hand over the orphans of a trial"

    def _take_bwrap(self) -> str | None:
        program, view = _program(), View.of(path=self._path, shown=self._shown)
        writable = tempfile.mkdtemp(prefix="evalstats-", dir="/tmp")
        try:
            why = probes.of_bwrap(program, view, writable)
        finally:
            shutil.rmtree(writable)
        self._bwrap = program if why is None else None
        return why

    def _take_groups(self, limits: frozenset[str]) -> str | None:
        try:
            groups = cgroups.opened(limits)
        except OSError as error:
            return f"no group can be made: {error.strerror}"
        groups.memory = self._terms.memory_limit if "memory" in limits & groups.limits else None
        groups.processes = self._terms.process_limit if "pids" in limits & groups.limits else None
        why = probes.of_groups(groups)
        if why is None and not limits <= groups.limits:
            why = f"control groups cannot limit {' and '.join(sorted(limits - groups.limits))} here"
        if why is not None:
            groups.close()
            return why
        self._groups = groups
        self._open.callback(groups.close)
        return None

    def _limit(self) -> None:
        """Have the limits kept that the terms set. Raises AdapterError where nothing here can."""
        memory, processes = self._terms.memory_limit, self._terms.process_limit
        if processes is not None:
            both = frozenset({"pids"} | ({"memory"} if memory is not None else set()))
            why = self._take_groups(both)
            if why is not None and memory is not None:
                why = self._take_groups(frozenset({"pids"}))
            if why is not None:
                raise AdapterError(f"this machine cannot keep it: {why}", field="--process-limit")
        elif memory is not None:
            self._take_groups(frozenset({"memory"}))
        if memory is not None and (self._groups is None or self._groups.memory is None):
            words = ("/bin/sh", "-c", f'ulimit -d {memory // 1024} && exec "$@"', "sh")
            why = probes.of_memory_words(words, memory)
            if why is not None:
                raise AdapterError(f"this machine cannot keep it: {why}", field="--memory-limit")
            self._limiting = words

    def _take_network(self) -> None:
        """Find a way to run trials without a network; remember why there is none."""
        program = _program()
        if self._bwrap is not None:
            self.no_network = probes.of_bwrap_network(self._bwrap)
            return
        try:
            network = NoNetwork()
        except OSError as error:
            why = f"this user may not make a network namespace: {error.strerror}"
        else:
            self._open.callback(network.close)
            self._network = network
            if (found := probes.of_network(network)) is None:
                return
            why = found
        self._network = None
        by_bwrap = probes.of_bwrap_network(program)
        if by_bwrap is None and program is not None:
            self._network_words = bwrap.network_words(program)
        else:
            self.no_network = f"{why}; bwrap: {by_bwrap}"


def _made(groups: Groups) -> Group:
    try:
        return groups.make()
    except OSError as error:
        raise AdapterError(f"a control group cannot be made: {error.strerror}") from None


def _program() -> str | None:
    return shutil.which("bwrap")
