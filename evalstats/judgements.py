"""What judges and people said of the trials of a run, and the trials as they stand after it.

A run folder keeps judgements and labels beside its trials, in journals of the same kind. Judgements are facts of
their own: any number of judges may look at a run. One of them is deployed, and the manifest says which, since when
and with how many repeats; its votes alone enter the scores. Trials keep what they were in their journal; how they
stand is worked out anew from both, so no order of running, judging and ingesting makes a difference.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any, TypeVar

from evalstats import journal, scoring, suite
from evalstats.errors import DocumentError, JournalError
from evalstats.trials import (
    ORIGINAL,
    Judgement,
    Label,
    Trial,
    judgement_from_record,
    label_from_record,
    timestamp,
)

JUDGEMENTS, LABELS = "judgements", "labels"
Record = TypeVar("Record", Judgement, Label)
Votes = Mapping[int, list[bool | None]]


def files(run_folder: Path, kind: str) -> list[Path]:
    """Return the journals of judgements, or of labels, of one run, in name order."""
    return sorted((run_folder / kind).glob("*.jsonl"))


def read_judgements(run_folder: Path) -> list[Judgement]:
    """Return every judgement of a run once, in the order of the journals; torn tails are passed over."""
    return _read(run_folder, JUDGEMENTS, parse_judgement)


def read_labels(run_folder: Path) -> list[Label]:
    """Return every label of a run once, in the order of the journals; torn tails are passed over."""
    return _read(run_folder, LABELS, parse_label)


def parse_judgement(line: bytes, path: Path, number: int) -> Judgement:
    """Return the judgement in one whole line. Raises JournalError naming file, line and field."""
    return _parsed(line, path, number, "judgement.v1", judgement_from_record)


def parse_label(line: bytes, path: Path, number: int) -> Label:
    """Return the label in one whole line. Raises JournalError naming file, line and field."""
    return _parsed(line, path, number, "label.v1", label_from_record)


def last_attempts(judgements: Iterable[Judgement]) -> list[Judgement]:
    """Return, of each judgement that was asked for, the last attempt; of one attempt, the first record."""
    last: dict[tuple[str, int, str, str, int], Judgement] = {}
    for each in judgements:
        if each.asked not in last or each.attempt > last[each.asked].attempt:
            last[each.asked] = each
    return list(last.values())


def standing(run_folder: Path, manifest: Mapping[str, Any]) -> list[Trial]:
    """Return the trials of a run as they stand: with the votes of its deployed judge, if it has one."""
    trials, deployed = list(journal.read_trials(run_folder)), manifest.get("judge")
    if not deployed:
        return trials
    votes, dimensions = votes_of(read_judgements(run_folder), deployed), _dimensions(run_folder)
    return [scoring.settled(t, votes.get(t.key, {}), dimensions.get(t.case_id, ())) for t in trials]


def votes_of(judgements: Iterable[Judgement], deployed: Mapping[str, Any]) -> dict[str, Votes]:
    """Return trial key -> expectation -> the votes of the deployed judge, None where it gave no verdict."""
    votes: dict[str, dict[int, list[bool | None]]] = defaultdict(lambda: defaultdict(list))
    for each in last_attempts(judgements):
        if (
            each.judge_sha256 == deployed["sha256"]
            and each.wording == ORIGINAL
            and each.repeat <= deployed["repeats"]
        ):
            votes[each.trial_key][each.expectation].append(each.passed)
    return {key: dict(found) for key, found in votes.items()}


def deploy(run_folder: Path, judge: Mapping[str, Any]) -> dict[str, Any]:
    """Write into the manifest of a run which judge decides its trials from now on; return the manifest."""
    manifest = journal.read_manifest(run_folder)
    known = {"judge_model": judge["model"], "judge_rubric_sha256": judge["rubric_sha256"]}
    manifest = {**manifest, **known, "judge": {**judge, "deployed_at": timestamp()}}
    journal.write_synced(run_folder / "manifest.json", journal.encode(manifest))
    return manifest


def _dimensions(run_folder: Path) -> dict[str, tuple[str, ...]]:
    """Return the dimensions of each case, from the suite's bytes as they were."""
    path = run_folder / "suite.json"
    try:
        source = suite.read(path)
    except DocumentError as error:
        raise JournalError(error.message, path=path, line=error.line) from None
    if source.problems:
        raise JournalError(source.problems[0].message, path=path, field=source.problems[0].pointer)
    return {case["id"]: tuple(case.get("dimensions", ())) for case in source.document["cases"]}


def _read(run_folder: Path, kind: str, parse: Callable[[bytes, Path, int], Record]) -> list[Record]:
    found: dict[str, Record] = {}
    for path in files(run_folder, kind):
        for number, line in _whole_lines(path):
            record = parse(line, path, number)
            found.setdefault(record.key, record)
    return list(found.values())


def _whole_lines(path: Path) -> Iterator[tuple[int, bytes]]:
    for number, line in enumerate(journal.raw_lines(path), 1):
        if line.endswith(b"\n"):
            yield number, line


def _parsed(
    line: bytes, path: Path, number: int, schema_id: str, made: Callable[[Mapping[str, Any]], Record]
) -> Record:
    record = journal.parse_line(line, path, number, schema_id)
    try:
        found = made(record)
    except ValueError as error:
        raise JournalError(str(error), path=path, line=number) from None
    if found.key != record["key"]:
        said = "the key is not that of what the line says"
        raise JournalError(said, path=path, line=number, field="/key")
    return found
