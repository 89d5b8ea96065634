"""What a trial sees of the world: an allow-list, private folders, and the marks of its run.

Nothing is inherited but the names below. What a case or an arm sets comes on top, except names that look
like credentials and names under a scrubbed prefix; which names were withheld is recorded, values never.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from evalstats.contract import Arm
from evalstats.redact import credential_names
from evalstats.runner import commands, contexts
from evalstats.runner.folders import HOME, place
from evalstats.runner.grounds import Ground
from evalstats.runner.planning import Plan
from evalstats.runner.specs import TrialSpec
from evalstats.runner.sweeping import RUN_MARK, RUNNER_MARK, TRIAL_MARK, runner_mark
from evalstats.suite import Suite

INHERITED = ("PATH", "LANG", "LC_ALL", "TZ", "SSL_CERT_FILE")
ALWAYS_SCRUBBED = ("AGENTOPS_RPI_RUNTIME",)
HOOKS_DISABLED = "AGENTOPS_HOOKS_DISABLED"

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
    grounds: Mapping[Arm, Ground]
    inherited: dict[str, str]
    _lasting: dict[tuple[str, Arm], dict[bytes, bytes]] = field(default_factory=dict)

    @classmethod
    def of(cls, plan: Plan, grounds: Mapping[Arm, Ground], outside: Mapping[str, str]) -> Environment:
        """Return the environment of a plan that is run from ``outside``."""
        given = {name: outside[name] for name in INHERITED if name in outside}
        given.setdefault("PATH", os.defpath)
        return cls(plan, grounds, _without(given, withheld(plan.suite, given)))

    def own(self, spec: TrialSpec) -> dict[str, str]:
        """Return what the case and the arm set, without the names a trial does not get."""
        suite = self.plan.suite
        case = commands.inputs(suite, spec.case, spec.arm).get("env", {})
        env: dict[str, str] = {**case, **commands.arm_section(suite, spec.arm).get("env", {})}
        return _without(env, withheld(suite, env)) if env else env

    def hooks_disabled(self, spec: TrialSpec) -> bool:
        """Return whether a trial runs without hooks: its arm has it so, or its case asks for it."""
        asked = self.own(spec).get(HOOKS_DISABLED, "0") not in ("", "0")
        return asked or hooks_disabled(self.plan.suite, spec.arm)

    def lent(self, names: Iterable[str], outside: Mapping[str, str]) -> dict[str, str]:
        """Return the variables that a runtime declares and the suite does not scrub, as far as they are set."""
        prefixes = scrubbed_prefixes(self.plan.suite)
        return {name: outside[name] for name in names if outside.get(name) and not name.startswith(prefixes)}

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
            env[RUNNER_MARK] = runner_mark()
            if hooks_disabled(self.plan.suite, spec.arm):
                env[HOOKS_DISABLED] = "1"
            if context := self.grounds[spec.arm].context:
                env.update(dict.fromkeys(contexts.VARIABLES, str(context.path)))
            known = {os.fsencode(name): os.fsencode(value) for name, value in env.items()}
            self._lasting[spec.case.id, spec.arm] = known
        return known

    def files(self, spec: TrialSpec, scratch: str) -> None:
        """Put the files of the arm under HOME, at the paths that the suite names; those of a context lie there."""
        ground = self.grounds[spec.arm]
        if ground.context is None:
            for name in commands.arm_section(self.plan.suite, spec.arm).get("files", ()):
                place(ground.suite.root / name, Path(scratch + HOME, name))


def _without(env: dict[str, str], names: Iterable[str]) -> dict[str, str]:
    refused = set(names)
    return {name: value for name, value in env.items() if name not in refused}
