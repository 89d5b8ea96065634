"""Broken logs of every format end in a correct import or in an error of one line, soon, and change no count unseen.

What counts as unseen depends on what was done to the log. ``flip`` and ``swap`` change content: as many rows must
be read as before, unless the report says something it did not say before (a warning, a figure that no longer
agrees), and of scores no more may vanish or appear than rows were touched. ``cut`` must be an error or be said,
unless the log ends at the end of a line, which leaves a shorter log that is whole. ``deep`` and ``huge`` are a swap
for a value that no log holds; ``twice`` puts a key of an object there a second time and is always an error; ``drop``
takes a key away; ``again`` tells a line or an element a second time, which is counted as a duplicate.
"""

from __future__ import annotations

import copy
import io
import json
import random
import time
import zipfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from evalstats import importers
from evalstats.errors import EvalstatsError, LogError, UsageError

SECONDS = 2.0
KINDS = ("flip", "cut", "swap", "deep", "huge", "twice", "drop", "again")
VALUES = (
    None, True, False, 0, -1, 7, 1.5, -0.5, float("nan"), float("inf"), "", "x", "1", "-1", "true", [], {}, [[]], [1],
    {"a": 1}, "\ud800", "é\n", "2026-01-01T00:00:00", 2**63,
)  # fmt: skip
FORMATS = (
    "inspect-json", "inspect-eval", "lm-eval", "promptfoo", "promptfoo-lines", "openai-evals", "swe-bench", "junit",
    "skill-creator", "helm", "terminal-bench", "terminal-bench-table", "harbor", "tau-bench", "agentops-record",
    "agentops-scorecard", "agentops-trials", "agentops-escapes", "agentops-verdicts", "journal", "table", "parquet",
)  # fmt: skip


@dataclass(frozen=True)
class Told:
    """What an import said of a file."""

    format: str
    rows: int
    scored: int
    said: frozenset[str]


def told(path: Path) -> Told | str:
    """Return what an import says of a file, or the one line of its error."""
    reading = importers.read([path])
    began = time.thread_time()
    try:
        scored = sum(found.trial.score is not None for found in reading)
    except (LogError, UsageError) as error:
        text = str(error)
        assert error.__cause__ is None, f"an importer stumbled: {error.__cause__!r}"
        assert "\n" not in text and len(text) < 900 and isinstance(error, EvalstatsError)
        return text
    finally:
        assert time.thread_time() - began < SECONDS
    (file,) = reading.files
    said = {*file.warnings, *(+file.statuses), *(d.name for d in file.declared if not d.agrees)}
    return Told(str(file.format), file.trials + file.duplicates, scored, frozenset(said))


# --- breaking things ------------------------------------------------------------------------------


def places(node: Any, found: list[tuple[Any, Any]]) -> list[tuple[Any, Any]]:
    """Return every (container, key) below a document."""
    pairs = node.items() if isinstance(node, dict) else enumerate(node) if isinstance(node, list) else ()
    for key, value in pairs:
        found.append((node, key))
        places(value, found)
    return found


class Twice(dict):  # type: ignore[type-arg]
    """An object whose first key is written twice."""

    def items(self) -> Any:
        pairs = list(super().items())
        return pairs[:1] + pairs


def deep(rng: random.Random) -> str:
    depth = rng.choice((150, 250, 3000, 100_000))
    return "[" * depth + "]" * depth if rng.random() < 0.5 else '{"a":' * depth + "1" + "}" * depth


def huge(rng: random.Random) -> str:
    return rng.choice(
        ("9" * 25, "-" + "9" * 400, "9" * 3999, "9" * 6000, "1e999", "-1e999", "1E+400", "0." + "9" * 5000)
    )


MARK = "\x00there\x00"


def broken_json(text: str, kind: str, rng: random.Random) -> str:
    """Return one JSON document with one thing in it changed."""
    document = json.loads(text)
    found = places(document, [])
    if kind in ("twice", "drop"):
        found = [(node, key) for node, key in found if isinstance(node, dict)]
    if not found:
        return text
    node, key = rng.choice(found)
    raw = ""
    if kind == "swap":
        node[key] = rng.choice(VALUES)
    elif kind == "drop":
        del node[key]
    elif kind == "again":
        if not isinstance(node, list):
            return text
        node.insert(key, copy.deepcopy(node[key]))
    elif kind == "twice":
        raw = json.dumps(node[key])
        node[key] = MARK
        dumped, mark = json.dumps(document), json.dumps(MARK)
        pair = f"{json.dumps(key)}: {mark}"
        return dumped.replace(pair, f"{json.dumps(key)}: {raw}, {json.dumps(key)}: {raw}", 1)
    else:
        raw = deep(rng) if kind == "deep" else huge(rng)
        node[key] = MARK
    return json.dumps(document).replace(json.dumps(MARK), raw, 1)


def broken_lines(text: str, kind: str, rng: random.Random) -> str:
    lines = text.splitlines(keepends=True)
    at = rng.randrange(len(lines))
    if kind == "again":
        return "".join([*lines[: at + 1], *lines[at:]])
    lines[at] = broken_json(lines[at], kind, rng) + "\n"
    return "".join(lines)


def broken_cells(text: str, kind: str, rng: random.Random) -> str:
    lines = [line.split(",") for line in text.splitlines()]
    at = rng.randrange(len(lines))
    cell = rng.randrange(len(lines[at]))
    if kind == "again":
        lines.insert(at, list(lines[at]))
    elif kind == "drop":
        del lines[at][cell]
    elif kind == "twice":
        lines[0][cell % len(lines[0])] = lines[0][cell - 1]
    else:
        values = {"deep": deep, "huge": huge}
        made = (
            values[kind](rng)
            if kind in values
            else str(rng.choice(VALUES)).encode("utf-8", "replace").decode()
        )
        lines[at][cell] = made.replace(",", ";").replace("\n", " ")
    return "".join(",".join(line) + "\n" for line in lines)


def broken_xml(text: str, kind: str, rng: random.Random) -> str:
    import re

    found = list(re.finditer(r'(\w+)="([^"]*)"', text))
    match = rng.choice(found)
    if kind == "drop":
        return text[: match.start()] + text[match.end() :]
    if kind == "twice":
        return text[: match.end()] + " " + match[0] + text[match.end() :]
    if kind == "deep":
        depth = rng.choice((150, 3000, 30_000))
        return text.replace("<testcase", "<x>" * depth + "</x>" * depth + "<testcase", 1)
    if kind == "again":
        match = rng.choice(list(re.finditer(r"<testcase [^>]*/>", text)))
        return text[: match.end()] + match[0] + text[match.end() :]
    made = (
        huge(rng) if kind == "huge" else rng.choice(("", "x", "-1", "0", "1e9", "nan", "&amp;", "2026", "é"))
    )
    return text[: match.start(2)] + made + text[match.end(2) :]


def broken_archive(content: bytes, kind: str, rng: random.Random) -> bytes:
    """Return an archive with one thing in one member changed; or, half the time, one member there twice."""
    with zipfile.ZipFile(io.BytesIO(content)) as archive:
        members = [(name, archive.read(name)) for name in archive.namelist()]
    at = rng.randrange(1, len(members))  # behind the start, which nobody reads where there is a header
    if kind == "again":
        members.insert(rng.randrange(len(members)), members[at])
    elif kind == "drop" and rng.random() < 0.5:
        del members[at]
    else:
        name, raw = members[at]
        members[at] = name, broken_json(raw.decode(), kind, rng).encode("utf-8", "surrogatepass")
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", rng.choice((zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED))) as archive:
        for name, raw in members:
            archive.writestr(name, raw)
    return buffer.getvalue()


def flipped(content: bytes, rng: random.Random) -> bytes:
    changed = bytearray(content)
    for _ in range(rng.choice((1, 1, 1, 2, 3))):
        changed[rng.randrange(len(changed))] ^= 1 << rng.randrange(8)
    return bytes(changed)


def overwritten(content: bytes, rng: random.Random) -> bytes:
    at = rng.randrange(len(content) - 8)
    return content[:at] + rng.randbytes(8) + content[at + 8 :]


def broken(name: str, content: bytes, kind: str, rng: random.Random) -> bytes:
    """Return a log with something in it changed."""
    if kind == "flip":
        return flipped(content, rng)
    if kind == "cut":
        return content[: rng.randrange(len(content))]
    if name == "parquet":
        return overwritten(content, rng)
    if name == "inspect-eval":
        return broken_archive(content, kind, rng)
    lines = content.count(b"\n") > 1 or name in ("lm-eval", "journal")
    change: Callable[[str, str, random.Random], str] = broken_lines if lines else broken_json
    change = {"table": broken_cells, "terminal-bench-table": broken_cells, "junit": broken_xml}.get(
        name, change
    )
    return change(content.decode(), kind, rng).encode("utf-8", "surrogatepass")


# --- what must come of it -------------------------------------------------------------------------


def is_unseen(kind: str, before: Told, after: Told | str, changed: bytes) -> str | None:
    """Return what went wrong unseen, or None."""
    if isinstance(after, str) or (kind != "twice" and after.said - before.said):
        return None
    fewer, scores = before.rows - after.rows, abs(before.scored - after.scored)
    rows = f"{before.rows} rows became {after.rows}"
    if kind == "twice":
        return "a key that stood twice was read"
    if kind == "cut":
        return rows if fewer and not changed.endswith(b"\n") else None
    if fewer > 0 or (fewer < 0 and kind != "again"):
        return rows
    # a line of a series of escapes tells all trials of its run
    touched = 3 if b"n_false_dones" in changed else 1
    vanished = kind not in ("flip", "again") and scores > touched
    return f"{before.scored} scores became {after.scored}" if vanished else None


def parquet(path: Path) -> bytes:
    import pyarrow as pa
    import pyarrow.parquet as pq

    columns = {"case": ["a", "a", "b"], "trial": [1, 2, 1], "score": [1.0, 0.5, None], "model": ["m"] * 3}
    pq.write_table(pa.table(columns), path, write_page_checksum=True)
    return path.read_bytes()


def run(name: str, count: int, samples: Any, beside: Any, folder: Path) -> None:
    """Break one log ``count`` times and hold every outcome to the rules."""
    file, content = ("x.parquet", parquet(folder / "x.parquet")) if name == "parquet" else samples[name]()
    path = folder / file
    path.parent.mkdir(parents=True, exist_ok=True)
    for other, text in beside.get(name, {}).items():
        (path.parent / other).write_bytes(text)
    path.write_bytes(content)
    before = told(path)
    assert isinstance(before, Told), before
    wrong = []
    for number in range(count):
        rng = random.Random(f"{name} {number}")
        kind = KINDS[number % len(KINDS)]
        changed = broken(name, content, kind, rng)
        if changed == content or (name == "parquet" and kind == "twice"):
            continue
        path.write_bytes(changed)
        try:
            problem = is_unseen(kind, before, told(path), changed)
        except Exception as error:
            problem = f"{type(error).__name__}: {error}"[:300]
        if problem is not None:
            wrong.append(f"{number} ({kind}): {problem}")
    assert not wrong, f"{len(wrong)} of {count}: " + "; ".join(wrong[:12])


@pytest.mark.filterwarnings("ignore:Duplicate name")
@pytest.mark.parametrize("name", FORMATS)
def test_three_hundred_broken_logs(name, samples, beside, tmp_path):
    run(name, 304, samples, beside, tmp_path)


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore:Duplicate name")
@pytest.mark.parametrize("name", FORMATS)
def test_ten_thousand_broken_logs(name, samples, beside, tmp_path):
    run(name, 10_000, samples, beside, tmp_path)
