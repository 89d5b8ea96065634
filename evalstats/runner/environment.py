"""What a trial sees of the world: an allow-list, private folders, and the marks of its run.

Nothing is inherited but the names below. What a case or an arm sets comes on top, except names that look
like credentials and names under a scrubbed prefix; which names were withheld is recorded, values never.
"""

from __future__ import annotations

import os
import shutil
import stat
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from evalstats.contract import Arm
from evalstats.redact import credential_names
from evalstats.runner import commands
from evalstats.runner.planning import Plan, TrialSpec
from evalstats.suite import Suite

INHERITED = ("PATH", "LANG", "LC_ALL", "TZ", "SSL_CERT_FILE")
ALWAYS_SCRUBBED = ("AGENTOPS_RPI_RUNTIME",)
HOOKS_DISABLED = "AGENTOPS_HOOKS_DISABLED"
RUN_MARK = "EVALSTATS_RUN"
TRIAL_MARK = "EVALSTATS_TRIAL"

# Below the trial's own folder. Only HOME and TMPDIR are made: the others appear when something needs them.
_HOME = "/home"
_TEMPORARY = "/tmp"
_MADE = (_HOME, _TEMPORARY)
_PRIVATE_FOLDER, _PRIVATE_FILE = stat.S_IFDIR | 0o700, stat.S_IFREG | 0o600
OUTPUTS = {"stdout", "stderr", "stdin"}
_PRIVATE = {
    b"HOME": b"/home",
    b"TMPDIR": b"/tmp",
    b"CODEX_HOME": b"/home/.codex",
    b"CLAUDE_CONFIG_DIR": b"/home/.claude",
    b"XDG_CONFIG_HOME": b"/home/.config",
    b"XDG_CACHE_HOME": b"/home/.cache",
    b"XDG_DATA_HOME": b"/home/.local/share",
    b"XDG_STATE_HOME": b"/home/.local/state",
    b"XDG_RUNTIME_DIR": b"/tmp",
}


def hooks_disabled(suite: Suite, arm: Arm) -> bool:
    """Return whether skills and hooks are suppressed: the suite says so, or the arm is skill-off."""
    return arm is Arm.SKILL_OFF or bool(suite.environment.get("disable_hooks", False))


def scrubbed_prefixes(suite: Suite) -> tuple[str, ...]:
    """Return the prefixes of names that no trial of the suite ever sees."""
    return tuple(dict.fromkeys((*ALWAYS_SCRUBBED, *suite.environment.get("scrub_env_prefixes", ()))))


def withheld(suite: Suite, names: Iterable[str]) -> list[str]:
    """Return which of these names a trial does not get, sorted."""
    every = list(names)
    return sorted({*credential_names(every), *(n for n in every if n.startswith(scrubbed_prefixes(suite)))})


@dataclass(frozen=True, slots=True)
class Environment:
    """Makes the environment of each trial of one plan. ``inherited`` is what the outside gives to all."""

    plan: Plan
    inherited: dict[str, str]
    _lasting: dict[tuple[str, Arm], dict[bytes, bytes]] = field(default_factory=dict)

    @classmethod
    def of(cls, plan: Plan, outside: Mapping[str, str]) -> Environment:
        """Return the environment of a plan that is run from ``outside``."""
        given = {name: outside[name] for name in INHERITED if name in outside}
        given.setdefault("PATH", os.defpath)
        return cls(plan, _without(given, withheld(plan.suite, given)))

    def own(self, spec: TrialSpec) -> dict[str, str]:
        """Return what the case and the arm set, without the names a trial does not get."""
        suite = self.plan.suite
        case = commands.inputs(suite, spec.case, spec.arm).get("env", {})
        env: dict[str, str] = {**case, **commands.arm_section(suite, spec.arm).get("env", {})}
        return _without(env, withheld(suite, env)) if env else env

    def variables(self, spec: TrialSpec, scratch: str) -> dict[bytes, bytes]:
        """Return the whole environment of one trial, whose own folder is ``scratch``."""
        folder = os.fsencode(scratch)
        return {
            **self._shared(spec),
            **{name: folder + below for name, below in _PRIVATE.items()},
            os.fsencode(TRIAL_MARK): spec.key.encode(),
            b"EVALSTATS_SEED": b"%d" % spec.seed,
            b"EVALSTATS_TRIAL_INDEX": b"%d" % spec.trial_index,
        }

    def _shared(self, spec: TrialSpec) -> dict[bytes, bytes]:
        """Return what all trials of a case in one arm have in common, encoded once for all of them."""
        known = self._lasting.get((spec.case.id, spec.arm))
        if known is None:
            env = {**self.inherited, **self.own(spec), RUN_MARK: spec.run_id, "EVALSTATS_ARM": str(spec.arm)}
            if hooks_disabled(self.plan.suite, spec.arm):
                env[HOOKS_DISABLED] = "1"
            known = {os.fsencode(name): os.fsencode(value) for name, value in env.items()}
            self._lasting[spec.case.id, spec.arm] = known
        return known

    def files(self, spec: TrialSpec, scratch: str) -> None:
        """Put the files of the arm under HOME, at the paths that the suite names."""
        for name in commands.arm_section(self.plan.suite, spec.arm).get("files", ()):
            _place(self.plan.suite.root / name, Path(scratch + _HOME, name))


class Scratch:
    """The private folders of trials, and the files of their output.

    What a trial left as it was is handed on to the next: a new inode for each trial costs more than all the
    rest of starting it, as file systems are slow to take back what was just deleted.
    """

    def __init__(self) -> None:
        self._untouched: list[str] = []

    def open(self, folder: str) -> None:
        """Make ``folder`` with its private folders, all empty."""
        if folder in self._untouched:  # by an earlier attempt at the same trial
            self._untouched.remove(folder)
            return
        if self._untouched:
            os.rename(self._untouched.pop(), folder)
            return
        os.mkdir(folder, 0o700)
        for below in _MADE:
            os.mkdir(folder + below, 0o700)

    def close(self, folder: str) -> bool:
        """Take ``folder`` back if nothing in it is changed; return False when it has to be removed."""
        if not _is_untouched(folder):
            return False
        self._untouched.append(folder)
        return True


def _is_untouched(folder: str) -> bool:
    """Return whether there is nothing but empty private folders and plain files of output."""
    try:
        outputs = set(os.listdir(folder)) - {below[1:] for below in _MADE}
        return (
            outputs <= OUTPUTS
            and all(_is_plain(os.lstat(f"{folder}/{name}")) for name in outputs)
            and all(os.lstat(folder + below).st_mode == _PRIVATE_FOLDER for below in _MADE)
            and not any(os.listdir(folder + below) for below in _MADE)
        )
    except OSError:
        return False


def _is_plain(file: os.stat_result) -> bool:
    return file.st_mode == _PRIVATE_FILE and file.st_nlink == 1


def remove_tree(folder: str) -> None:
    """Remove a folder with whatever a trial put there, folders without permissions included."""
    for parent, names, _ in os.walk(folder):
        for name in names:
            path = os.path.join(parent, name)
            if not os.path.islink(path):
                os.chmod(path, 0o700)
    shutil.rmtree(folder, ignore_errors=True)


def _place(source: Path, target: Path) -> None:
    target.parent.mkdir(parents=True, exist_ok=True)
    if source.is_dir():
        shutil.copytree(source, target, symlinks=True)
    else:
        shutil.copy2(source, target)


def _without(env: dict[str, str], names: Iterable[str]) -> dict[str, str]:
    refused = set(names)
    return {name: value for name, value in env.items() if name not in refused}
