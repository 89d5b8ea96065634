"""What a trial sees through ``bwrap``: the system read-only, its own folder writable, other people's things not at all.

Homes, ``/run`` and ``/tmp`` are hidden whole, as nobody can list every file that holds a credential. What a trial
needs of them is put back, read-only: the repository of the suite, the programs on its PATH, and the Python that runs
us. Hidden too are the records of other trials.
"""

from __future__ import annotations

import os
import pwd
import sys
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

_HIDDEN = ("/root", "/home", "/run", "/tmp", "/var/tmp")
_NAMES_OF_HOSTS = "/run/systemd/resolve"  # where /etc/resolv.conf may lead
_BIN = ("bin", "sbin")
_ALWAYS = ("--unshare-pid", "--unshare-ipc", "--die-with-parent", "--cap-drop", "ALL")


@dataclass(frozen=True, slots=True, kw_only=True)
class View:
    """What a trial sees. ``hidden`` are folders that look empty, ``shown`` what is put back in them, read-only."""

    hidden: tuple[str, ...]
    shown: tuple[str, ...]

    @classmethod
    def of(cls, *, path: str, hidden: Iterable[str] = (), shown: Iterable[str] = ()) -> View:
        """Return the view of trials with this PATH; ``hidden`` and ``shown`` are added to the usual."""
        covered = {f for f in (*_HIDDEN, *_homes(), *hidden) if os.path.isdir(f) and not os.path.islink(f)}
        put_back = [*shown, _NAMES_OF_HOSTS, sys.prefix, sys.base_prefix, *_programs(path)]
        return cls(
            hidden=tuple(sorted(covered)),
            shown=tuple(sorted({p for p in put_back if os.path.exists(p) and _below(p, covered)})),
        )

    def words(
        self, bwrap: str, *, writable: str, cwd: str, program: str | None, offline: bool
    ) -> tuple[str, ...]:
        """Return the words that start a command in the folder ``cwd`` under this view."""
        inside = self.shown
        if program is not None and (home := _home_of(os.path.realpath(program))) not in inside:
            inside = (*inside, *([home] if _below(home, self.hidden) else []))
        layers: list[tuple[str, tuple[str, ...]]] = [(p, ("--tmpfs", p)) for p in self.hidden]
        layers += [(place, ("--ro-bind", place, place)) for place in inside]
        layers.append((writable, ("--bind", writable, writable)))
        layers.sort(key=lambda layer: len(Path(layer[0]).parts))  # what lies deeper is laid on top
        return (
            *(bwrap, "--ro-bind", "/", "/", "--dev", "/dev", "--proc", "/proc"),
            *(word for _, words in layers for word in words),
            *_ALWAYS,
            *(("--unshare-net",) if offline else ()),
            *("--chdir", cwd, "--"),
        )


def network_words(bwrap: str) -> tuple[str, ...]:
    """Return the words that start a command without a network, and otherwise as it is."""
    return bwrap, "--dev-bind", "/", "/", "--unshare-net", "--"


def _homes() -> Iterator[str]:
    """Yield the homes of this user; a machine without one may have the root of all files there."""
    found = [os.environ.get("HOME", "")]
    try:
        found.append(pwd.getpwuid(os.getuid()).pw_dir)
    except KeyError:
        pass
    yield from (home for home in map(os.path.normpath, found) if len(Path(home).parts) > 1)


def _programs(path: str) -> Iterator[str]:
    for folder in path.split(os.pathsep):
        if os.path.isabs(folder):
            yield folder
            yield from (_prefix(folder), _prefix(os.path.realpath(folder)))


def _home_of(program: str) -> str:
    """Return the folder that a program needs: its own, or all of what is installed with it."""
    return _prefix(os.path.dirname(program))


def _prefix(folder: str) -> str:
    """Return the folder around a ``bin``, unless it is one of a home, such as ``.cargo``: that may hold secrets."""
    parent = os.path.dirname(folder)
    private = {os.path.normpath(place) for place in (*_homes(), *_HIDDEN)}
    is_private = parent in private or os.path.dirname(parent) in private
    return folder if os.path.basename(folder) not in _BIN or is_private else parent


def _below(place: str, folders: Iterable[str]) -> bool:
    return any(Path(place).is_relative_to(folder) for folder in folders)
