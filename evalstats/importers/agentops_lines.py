"""Evidence of the AgentOps family that comes as JSON lines: trials, inputs of a bootstrap, a series of escapes.

Tokens written as text are counts; an arm or a repeat that a line leaves out is not guessed.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from typing import Any

from evalstats.contract import Arm, Outcome
from evalstats.importers.logs import Log
from evalstats.importers.rows import Item, LoggedRun, Options, Row, arm_of
from evalstats.importers.values import mapping, number, text, whole

NAME = "agentops"
_ARMS = {"bare": Arm.CONTEXT_OFF, "full": Arm.CONTEXT_ON}
_MOST_CLAIMS = 100_000  # of one run: what a count in a log may expand to


def trials(log: Log, options: Options) -> Iterator[Item]:
    """Read trials as lines; a score that is an object has one named score for each of its keys."""
    runs: dict[tuple[str, str], LoggedRun] = {}
    ranks: Counter[tuple[str, str, str]] = Counter()
    cut: list[str] = []
    for line, trial in log.json_lines(cut, allow_truncated=options.allow_truncated):
        case = text(trial.get("task")) or text(trial.get("sample_id"))
        if case is None:
            raise log.error("a trial needs its task", line=line)
        model, word = str(trial.get("model") or ""), str(trial.get("arm") or "")
        if (model, word) not in runs:
            runs[model, word] = _trial_run(log, model, word)
        run = runs[model, word]
        row = _trial(trial, case, f"line {line}", options)
        row.trial_index = _rank(log, line, trial)
        if not row.trial_index:
            run.warn("lines without a repeat are numbered in the order of the file")
            ranks[model, word, case] += 1
            row.trial_index = ranks[model, word, case]
        yield run, row
    for run in runs.values():
        run.warnings += cut


def _rank(log: Log, line: int, trial: Mapping[str, Any]) -> int:
    """Return which repeat a line is, 0 where it does not say; a seed names a repeat too, and may be 0."""
    name = "rep" if "rep" in trial else "seed"
    told = trial.get(name)
    found = whole(told)
    if told is not None and (found is None or (name == "rep" and not found)):
        raise log.error(f"a {name} is a whole number, and a rep counts from 1", line=line)
    return 0 if found is None else found if name == "rep" else found + 1


def _trial_run(log: Log, model: str, word: str) -> LoggedRun:
    arm = _ARMS.get(word) or arm_of(word)
    folder = log.path.resolve().parent
    run = LoggedRun(
        suite=folder.name if folder.name != "results" else folder.parent.name,
        key=(NAME, "trials", log.identity, model, word),
        group=(NAME, "trials", log.identity, model),
        arm=arm or Arm.CANDIDATE,
        label=word or None,
        model=model or None,
        tool=NAME,
    )
    if arm is None:
        run.warn(f"the arm {word!r} is not known here; see --arm" if word else "lines name no arm; see --arm")
    return run


def _trial(trial: Mapping[str, Any], case: str, locator: str, options: Options) -> Row:
    score = trial.get("score", trial.get("value"))
    named = {name: number(value) for name, value in mapping(score).items()}
    chosen = options.metric or ("hidden_pass" if "hidden_pass" in named else next(iter(named), None))
    return Row(
        case_id=case,
        trial_index=0,
        locator=locator,
        score=(named.get(chosen) if chosen else None) if named else number(score),
        scores=named,
        about=trial,
        tokens_out=whole(trial.get("tokens")),
        started_at=text(trial.get("ts")),
    )


def escapes(log: Log, options: Options) -> Iterator[Item]:
    """Read a series of runs: each false claim is a trial that the verifier caught or missed.

    A run with degraded verifications is not clean, and none of its trials counts.
    """
    cut: list[str] = []
    for line, told in log.json_lines(cut, allow_truncated=options.allow_truncated):
        false, missed, degraded = (whole(told.get(k)) for k in ("n_false_dones", "n_missed", "degraded"))
        if false is None or missed is None or missed > false or not text(told.get("run_id")):
            raise log.error(
                "needs run_id, n_false_dones and n_missed, counts of which the second is part", line=line
            )
        if degraded is None:
            raise log.error(
                "must be a count; without it, no run is known to be clean", line=line, field="/degraded"
            )
        if told.get("n_caught", false - missed) != false - missed:
            raise log.error(
                "caught and missed do not add up to the false claims", line=line, field="/n_caught"
            )
        if false > _MOST_CLAIMS:
            raise log.error(f"counts more than {_MOST_CLAIMS} claims", line=line)
        run = LoggedRun(
            suite="escape-rate", key=(NAME, "escapes", told["run_id"]), model=text(told.get("membrane")),
            tool=NAME, created_at=text(told.get("ts")), facts={"run_id": told["run_id"]}, warnings=cut,
        )  # fmt: skip
        yield run, None
        for index in range(1, false + 1):
            yield (
                run,
                Row(
                    case_id="false-claim",
                    trial_index=index,
                    locator=f"line {line}",
                    outcome=Outcome.DEGRADED if degraded else Outcome.OK,
                    score=float(index > missed),
                    reason=f"{degraded} verifications of this run were degraded" if degraded else None,
                ),
            )
