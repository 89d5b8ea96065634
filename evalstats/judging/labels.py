"""What people say: verdicts exported as a table to be filled in, and read back.

The table is CSV, one row per expectation of a trial: ``run, case, arm, trial, expectation`` say which, ``label`` is
``yes`` or ``no`` (empty: not labelled), ``labeller`` who says so and ``time`` when. ``question`` and ``text`` are there
to be read and are passed over on the way back. Reading is all or nothing: every fault is told with its line.
"""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from evalstats import judgements
from evalstats.errors import DocumentError, JournalError, Problem
from evalstats.journal import Journal, owners_only
from evalstats.judging.fence import escaped
from evalstats.judging.questions import Question
from evalstats.judging.transcripts import Judged
from evalstats.trials import Label, Trial, timestamp

KEYS = ("run", "case", "arm", "trial", "expectation")
NEEDED = (*KEYS, "label")
SHOWN = ("question", "text")
COLUMNS = (*KEYS, "label", "labeller", "time", *SHOWN)
WORDS = {
    "yes": True,
    "pass": True,
    "true": True,
    "1": True,
    "no": False,
    "fail": False,
    "false": False,
    "0": False,
}
LONGEST_CELL = 32_000  # what spreadsheets take
_FORMULA = tuple("=+-@\t\r")
_BIGGEST_FILE = 100_000_000

Unit = tuple[str, str, str, int, int]


def unit_of(trial: Trial, question: Question) -> Unit:
    """Return what identifies one expectation of one trial in a table."""
    return trial.run_id, trial.case_id, str(trial.arm), trial.trial_index, question.expectation


def table(runs: Iterable[Judged], *, only: Iterable[Unit] | None = None, texts: bool = True) -> str:
    """Return the table of what can be labelled, with the labels that there are; of ``only`` these, in that order."""
    rows = {key: row for run in runs for key, row in _rows(run, texts=texts)}
    chosen = rows if only is None else [key for key in only if key in rows]
    out = io.StringIO()
    writer = csv.DictWriter(out, COLUMNS, lineterminator="\n")
    writer.writeheader()
    writer.writerows(rows[key] for key in chosen)
    return out.getvalue()


def _rows(run: Judged, *, texts: bool) -> Iterator[tuple[Unit, dict[str, Any]]]:
    known = {
        (label.trial_key, label.expectation): label for label in latest(judgements.read_labels(run.folder))
    }
    for trial, question in sorted(run.items(), key=lambda item: unit_of(*item)):
        unit = unit_of(trial, question)
        row = {**dict(zip(KEYS, unit, strict=True)), "question": _cell(question.text)}
        if (label := known.get((trial.key, question.expectation))) is not None:
            said = {"label": "yes" if label.passed else "no", "time": label.labelled_at}
            row |= {**said, "labeller": _cell(label.labeller)}
        if texts:
            row["text"] = _cell(_text(run, trial, question))
        yield unit, row


def latest(labels: Iterable[Label]) -> list[Label]:
    """Return labels with the last one of each person at the end of its expectation: it is the one that counts."""
    return sorted(labels, key=lambda label: (label.labelled_at, label.key))


def _text(run: Judged, trial: Trial, question: Question) -> str:
    try:
        text, _ = run.text(trial, question)
    except JournalError:
        text = None
    return "(not kept)" if text is None else escaped(text)


def _cell(text: str) -> str:
    """Return a text that no spreadsheet takes for a formula."""
    cut = text if len(text) <= LONGEST_CELL else text[: LONGEST_CELL - 6] + " [cut]"
    return f"'{cut}" if cut.startswith(_FORMULA) else cut


# --- and back ------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True, kw_only=True)
class Imported:
    """What came of reading a table: labels that are new, were there before, and rows that were left empty."""

    added: int
    known: int
    empty: int


def read(path: Path, runs: Mapping[str, Judged], *, labeller: str | None = None) -> Imported:
    """Read a table that was filled in and record its labels in the runs.

    ``runs`` are those it may speak of, by id; ``labeller`` stands where a row names nobody. Raises DocumentError with
    every fault and its line, and then nothing is recorded.
    """
    rows, now = list(_parsed(path)), timestamp()
    found: list[Label | None] = []
    problems: list[Problem] = []
    said: dict[tuple[str, int, str, str], bool] = {}
    units = {unit_of(t, q): t for run in runs.values() for t, q in run.items()}
    for line, row in rows:
        try:
            label = _label({**row, "time": row.get("time", "").strip() or now}, units, labeller)
            if label is not None and said.setdefault(_voice(label), label.passed) is not label.passed:
                raise ValueError("label: the same person says yes and no at the same time")
            found.append(label)
        except ValueError as error:
            field, _, message = str(error).partition(": ")
            problems.append(Problem(field, message, line))
    if problems:
        raise DocumentError(path, problems)
    labels = [label for label in found if label is not None]
    added = _recorded(labels, runs, now)
    return Imported(added=added, known=len(labels) - added, empty=len(found) - len(labels))


def _voice(label: Label) -> tuple[str, int, str, str]:
    return label.trial_key, label.expectation, label.labeller, label.labelled_at


def _parsed(path: Path) -> Iterator[tuple[int, Mapping[str, str]]]:
    try:
        if path.stat().st_size > _BIGGEST_FILE:
            raise DocumentError(path, [Problem("", f"is larger than {_BIGGEST_FILE} bytes")])
        text = path.read_bytes().decode("utf-8-sig")
    except OSError as error:
        raise DocumentError(path, [Problem("", f"cannot be read: {error.strerror}")]) from None
    except UnicodeDecodeError:
        raise DocumentError(path, [Problem("", "is not UTF-8; save it as UTF-8")]) from None
    reader = csv.reader(io.StringIO(text, newline=""), strict=True)
    try:
        header = next(reader, [])
        _check_header(header, path)
        line = reader.line_num + 1
        for row in reader:
            if row and len(row) != len(header):
                raise DocumentError(
                    path, [Problem("", f"has {len(row)} cells, the header {len(header)}", line)]
                )
            if any(cell.strip() for cell in row):
                yield line, dict(zip(header, row, strict=True))
            line = reader.line_num + 1
    except csv.Error as error:
        raise DocumentError(path, [Problem("", f"is not CSV: {error}", reader.line_num)]) from None


def _check_header(header: list[str], path: Path) -> None:
    found = [Problem(name, "is a column that is needed", 1) for name in NEEDED if name not in header]
    found += [Problem("", "holds a column that is not known", 1) for name in header if name not in COLUMNS]
    if len(set(header)) < len(header):
        found.append(Problem("", "holds a column twice", 1))
    if found:
        raise DocumentError(path, found)


def _label(row: Mapping[str, str], units: Mapping[Unit, Trial], labeller: str | None) -> Label | None:
    """Return the label of one row; None where it has none. Raises ValueError, "field: what is wrong"."""
    word = row["label"].strip().lower()
    if not word:
        return None
    if word not in WORDS:
        raise ValueError("label: is neither yes nor no")
    trial, expectation = _found(row, units)
    who = row.get("labeller", "").strip().removeprefix("'") or (labeller or "").strip()
    if not 0 < len(who) <= 200:
        raise ValueError("labeller: nobody is named; fill it in or give --labeller")
    return Label(
        run_id=trial.run_id,
        case_id=trial.case_id,
        arm=trial.arm,
        trial_index=trial.trial_index,
        expectation=expectation,
        passed=WORDS[word],
        labeller=who,
        labelled_at=_time(row["time"]),
    )


def _found(row: Mapping[str, str], units: Mapping[Unit, Trial]) -> tuple[Trial, int]:
    numbers = []
    for name in ("trial", "expectation"):
        cell = row[name].strip()
        if not (cell.isascii() and cell.isdecimal() and len(cell) < 10):
            raise ValueError(f"{name}: is no number")
        numbers.append(int(cell))
    unit = (row["run"].strip(), row["case"], row["arm"].strip(), numbers[0], numbers[1])
    if unit not in units:
        raise ValueError(
            f"{_unknown(unit, units)}: is not known; the runs hold no such expectation of a judge"
        )
    return units[unit], numbers[1]


def _unknown(unit: Unit, units: Iterable[Unit]) -> str:
    """Return the first part of a key with which nothing that is known begins."""
    known = list(units)
    for count, name in enumerate(KEYS, 1):
        known = [each for each in known if each[:count] == unit[:count]]
        if not known:
            return name
    return KEYS[-1]


def _time(text: str) -> str:
    try:
        when = datetime.fromisoformat(text)
    except ValueError:
        raise ValueError("time: is no date like 2026-01-31T12:00:00Z") from None
    return timestamp(when if when.tzinfo else when.replace(tzinfo=UTC))


def _recorded(labels: Iterable[Label], runs: Mapping[str, Judged], now: str) -> int:
    """Record what is new; who says again now, without a time, what was said before, says nothing new."""
    added = 0
    by_run: dict[str, list[Label]] = {}
    for label in labels:
        by_run.setdefault(label.run_id, []).append(label)
    for run_id, own in by_run.items():
        run = runs[run_id]
        known = latest(judgements.read_labels(run.folder))
        keys = {label.key for label in known}
        last = {_voice(label)[:3]: label.passed for label in known}
        new = {
            label.key: label
            for label in own
            if label.key not in keys
            and not (label.labelled_at == now and last.get(_voice(label)[:3]) is label.passed)
        }
        if new:
            with owners_only(run.suite.is_private), Journal(run.folder / judgements.LABELS) as book:
                for label in new.values():
                    book.append(label)
        added += len(new)
    return added
