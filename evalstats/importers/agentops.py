"""Evidence of the AgentOps family: run records, scorecards of two arms, trials and verdicts as JSON lines.

A run record and a scorecard tell one result a case, so each is one trial; what they average over is not there to
be read. Tokens written as text are counts; an arm or a repeat that a line leaves out is not guessed.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from typing import Any

from evalstats.contract import Arm, ExpectationType, Outcome
from evalstats.importers.logs import Log, number, whole
from evalstats.importers.rows import Declared, Item, LoggedRun, Options, Row, arm_of
from evalstats.trials import ExpectationResult

NAME = "agentops"
_STATUS = {"error": Outcome.INFRASTRUCTURE, "skipped": Outcome.SKIPPED, "inconclusive": Outcome.UNSCORED}
_ARMS = {"bare": Arm.CONTEXT_OFF, "full": Arm.CONTEXT_ON}


def sniff(log: Log) -> str | None:
    """Recognise each kind of evidence by the keys of its object, or of its first line."""
    kind = _kind(log)
    return None if kind is None else kind[0]


def _kind(log: Log) -> tuple[str, Any] | None:
    keys = set(log.top_keys)
    for wanted, name, reader in _KINDS:
        if wanted <= keys and log.first_object is not None:
            return name, reader
    return None


def read(log: Log, options: Options) -> Iterator[Item]:
    """Yield the rows of whichever kind the file is."""
    kind = _kind(log)
    if kind is None:
        raise log.error("is no evidence of a known kind")
    yield from kind[1](log, options)


# --- one document a run ---------------------------------------------------------------------------


def _record(log: Log, options: Options) -> Iterator[Item]:
    record = log.json()
    suite, runtime = _mapping(record.get("suite")), _mapping(record.get("runtime"))
    if not isinstance(record.get("case_results"), list) or not _text(suite.get("id")):
        raise log.error("a run record needs its suite and its case results", field="/case_results")
    arm = arm_of(str(record.get("arm", ""))) or Arm.SKILL_ON
    run = LoggedRun(
        suite=suite["id"],
        key=(NAME, "run", str(record.get("run_id"))),
        arm=Arm.SKILL_OFF if _mapping(record.get("environment")).get("hooks_disabled") else arm,
        model=_text(runtime.get("model")),
        tool=_text(runtime.get("name")),
        created_at=_text(record.get("started_at")),
        is_mock=bool(record.get("is_mock")) or runtime.get("name") == "mock",
        scoring=suite.get("sha256"),
        facts={"run_id": record.get("run_id"), "status": record.get("status"), "git": record.get("git")},
    )
    yield run, None
    if (log.path.parent / "journal").is_dir():
        run.warnings.append("its journal lies beside it and is read instead: it says more")
        return
    for index, case in enumerate(record["case_results"]):
        yield run, _case(log, case, f"/case_results/{index}")


def _case(log: Log, case: Any, locator: str) -> Row:
    if not isinstance(case, dict) or not _text(case.get("id")):
        raise log.error("a case result needs its id", field=locator)
    outcome = _STATUS.get(str(case.get("status")), Outcome.OK)
    milliseconds = number(case.get("duration_ms"))
    notes = case.get("diagnostics")
    return Row(
        case_id=case["id"],
        trial_index=1,
        locator=locator,
        outcome=outcome,
        score=number(case.get("score")) if outcome is Outcome.OK else None,
        passed=case.get("status") == "pass" if outcome is Outcome.OK else None,
        reason=None if outcome is Outcome.OK else str(case.get("status")),
        scores={str(name): number(value) for name, value in _mapping(case.get("dimension_scores")).items()},
        about=case,
        duration_s=None if milliseconds is None else milliseconds / 1000,
        stop_reason="; ".join(str(note) for note in notes)[:200] if isinstance(notes, list) else None,
    )


def _scorecard(log: Log, options: Options) -> Iterator[Item]:
    """Read a scorecard of two arms: one trial for each case and arm."""
    card = log.json()
    if not isinstance(card.get("per_case"), list):
        raise log.error("must be an array", field="/per_case")
    group = (NAME, "scorecard", str(card.get("skill_on_run_id")), str(card.get("skill_off_run_id")))
    for side, arm in (("skill_on", Arm.SKILL_ON), ("skill_off", Arm.SKILL_OFF)):
        scores: list[float] = []
        run = LoggedRun(
            suite=str(card["suite_id"]), key=(*group, side), group=group, arm=arm, tool=NAME,
            created_at=_text(card.get("generated_at")),
        )  # fmt: skip
        run.warnings.append("a scorecard tells one result a case and arm: run-to-run noise is not in it")
        for index, case in enumerate(card["per_case"]):
            row = _case(log, {
                "id": _mapping(case).get("case_id"), "status": _mapping(case).get(f"{side}_status"),
                "score": _mapping(case).get(f"{side}_score"),
            }, f"/per_case/{index}")  # fmt: skip
            scores += [row.score] if row.score is not None else []
            yield run, row


def _plugin_scorecard(log: Log, options: Options) -> Iterator[Item]:
    """Read a scorecard of criteria: the share met of each case in each configuration, pooled over its runs."""
    card = log.json()
    cases = _mapping(_mapping(card.get("behavior")).get("cases"))
    names = list(
        dict.fromkeys(name for case in cases.values() for name, arm in case.items() if isinstance(arm, dict))
    )
    totals = _mapping(_mapping(card.get("behavior")).get("totals_all_cases"))
    group = (NAME, "plugin-eval", str(card.get("date")), str(card.get("model")))
    for name in names:
        run = LoggedRun(
            suite="plugin-eval",
            key=(*group, name),
            group=group,
            label=name,
            arm=Arm.SKILL_OFF if name.startswith("without") else Arm.SKILL_ON,
            model=_text(card.get("model")),
            judge_model=_text(card.get("grader")),
            tool=_text(card.get("evaluator")),
            created_at=_text(card.get("date")),
            facts={"configuration": name},
        )
        run.warnings.append("the runs of a case are pooled: run-to-run noise is not in it")
        met = Counter[str]()
        for case, arms in cases.items():
            row = _criteria(case, _mapping(arms).get(name), _mapping(arms).get("criteria"))
            if row is not None:
                met["met"] += whole(arms[name].get("criteria_met")) or 0
                met["total"] += whole(arms[name].get("criteria_total")) or 0
                yield run, row
        told = _mapping(totals.get(name))
        run.declared = _totals(name, told, met)


def _totals(name: str, told: Mapping[str, Any], met: Mapping[str, int]) -> Any:
    pairs = (("criteria_met", "met"), ("criteria_total", "total"))
    return lambda: [
        Declared(name=f"{name} {figure}", declared=value, recomputed=float(met[own]))
        for figure, own in pairs
        if (value := number(told.get(figure))) is not None
    ]


def _criteria(case: str, arm: Any, texts: Any) -> Row | None:
    if not isinstance(arm, dict):
        return None
    met, total, runs = (whole(arm.get(k)) for k in ("criteria_met", "criteria_total", "runs"))
    told = arm.get("per_criterion")
    each = told if isinstance(told, list) else []
    return Row(
        case_id=case,
        trial_index=1,
        locator=f"/behavior/cases/{case}",
        score=met / total if met is not None and total else None,
        reason=None if total else "no criteria",
        content=texts,
        expectations=tuple(
            ExpectationResult(
                index=i, type=ExpectationType.JUDGE, required=True,
                passed=True if count == runs else False if count == 0 else None, detail=f"met in {count} of {runs}",
            )
            for i, count in enumerate(each)
        ),
    )  # fmt: skip


# --- one line a trial or a run --------------------------------------------------------------------


def _trials(log: Log, options: Options) -> Iterator[Item]:
    """Read trials as lines; a score that is an object has one named score for each of its keys."""
    runs: dict[tuple[str, str], LoggedRun] = {}
    ranks: Counter[tuple[str, str, str]] = Counter()
    cut: list[str] = []
    for line, trial in log.json_lines(cut, allow_truncated=options.allow_truncated):
        case = _text(_mapping(trial).get("task")) or _text(_mapping(trial).get("sample_id"))
        if case is None:
            raise log.error("a trial needs its task", line=line)
        model, word = str(trial.get("model") or ""), str(trial.get("arm") or "")
        run = runs.get((model, word)) or _trial_run(log, model, word)
        runs[model, word] = run
        ranks[model, word, case] += 1
        told = whole(trial.get("rep", trial.get("seed")))
        if told is None:
            _note(run, "lines without a repeat are numbered in the order of the file")
        row = _trial(trial, case, f"line {line}", options)
        row.trial_index = ranks[model, word, case] if told is None else max(told, 1)
        yield run, row
    for run in runs.values():
        run.warnings += cut


def _trial_run(log: Log, model: str, word: str) -> LoggedRun:
    arm = _ARMS.get(word) or arm_of(word)
    run = LoggedRun(
        suite=log.path.parent.name if log.path.parent.name != "results" else log.path.parent.parent.name,
        key=(NAME, "trials", log.sha256, model, word),
        group=(NAME, "trials", log.sha256, model),
        arm=arm or Arm.CANDIDATE,
        label=word or None,
        model=model or None,
        tool=NAME,
    )
    if arm is None:
        run.warnings.append(
            f"the arm {word!r} is not known here; see --arm" if word else "lines name no arm; see --arm"
        )
    return run


def _trial(trial: Mapping[str, Any], case: str, locator: str, options: Options) -> Row:
    score = trial.get("score", trial.get("value"))
    named = {str(name): number(value) for name, value in score.items()} if isinstance(score, dict) else {}
    chosen = options.metric or ("hidden_pass" if "hidden_pass" in named else next(iter(named), None))
    return Row(
        case_id=case,
        trial_index=1,
        locator=locator,
        score=(named.get(chosen) if chosen else None) if named else number(score),
        scores=named,
        about=trial,
        tokens_out=whole(trial.get("tokens")),
        started_at=_text(trial.get("ts")),
    )


def _verdicts(log: Log, options: Options) -> Iterator[Item]:
    """Read a verifier's verdicts: it is right when it refutes false work and accepts true work."""
    card = log.json()
    run = LoggedRun(
        suite="membrane", key=(NAME, "membrane", str(card.get("generated_at"))), model=_text(card.get("verifier")),
        tool=NAME, created_at=_text(card.get("generated_at")), is_mock=bool(card.get("dry_run")),
    )  # fmt: skip
    for index, task in enumerate(card["per_task"] if isinstance(card.get("per_task"), list) else []):
        right = {"caught": 1.0, "correct_ack": 1.0, "escaped": 0.0, "false_refute": 0.0}.get(
            task.get("class")
        )
        degraded = bool(task.get("degraded"))
        yield (
            run,
            Row(
                case_id=str(task.get("task")),
                trial_index=1,
                locator=f"/per_task/{index}",
                outcome=Outcome.DEGRADED if degraded else Outcome.OK,
                score=right,
                reason="the verifier was degraded" if degraded else None,
            ),
        )


def _escapes(log: Log, options: Options) -> Iterator[Item]:
    """Read a series of runs: each false claim is a trial that the verifier caught or missed.

    A run with degraded verifications is not clean, and none of its trials counts.
    """
    for line, told in log.json_lines([], allow_truncated=options.allow_truncated):
        false, missed = whole(told.get("n_false_dones")), whole(told.get("n_missed"))
        if false is None or missed is None or missed > false:
            raise log.error("needs n_false_dones and n_missed, counts of which the second is part", line=line)
        run = LoggedRun(
            suite="escape-rate", key=(NAME, "escapes", str(told.get("run_id"))), model=_text(told.get("membrane")),
            tool=NAME, created_at=_text(told.get("ts")), facts={"run_id": told.get("run_id")},
        )  # fmt: skip
        degraded = whole(told.get("degraded")) or 0
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


_KINDS: tuple[tuple[set[str], str, Any], ...] = (
    ({"run_id", "suite", "case_results"}, "a run record", _record),
    ({"suite_id", "per_case", "skill_on_run_id"}, "a scorecard of two arms", _scorecard),
    ({"schema", "behavior", "runs_per_case"}, "a scorecard of criteria", _plugin_scorecard),
    ({"per_task", "verifier", "totals"}, "verdicts of a verifier", _verdicts),
    ({"run_id", "n_false_dones", "n_missed"}, "a series of escapes", _escapes),
    ({"task", "score", "arm"}, "trials, one a line", _trials),
    ({"task", "score", "rep"}, "trials, one a line", _trials),
    ({"sample_id", "arm", "value"}, "inputs of a bootstrap, one a line", _trials),
    ({"sample_id", "arm", "score"}, "inputs of a bootstrap, one a line", _trials),
)


def _note(run: LoggedRun, sentence: str) -> None:
    if sentence not in run.warnings:
        run.warnings.append(sentence)


def _mapping(value: Any) -> Mapping[str, Any]:
    return value if isinstance(value, dict) else {}


def _text(value: Any) -> str | None:
    return value if isinstance(value, str) and value else None
