"""Has the judge changed under us? Texts frozen with what it said of them, shown to it again and again.

A sentinel holds anchors: the full text, its question and its digest, and the votes of the judge when it was frozen.
Each check asks all of it again and tests, exactly, whether the votes moved: as a whole, towards yes or no (`shift`),
or text by text in any direction (`change`). The smaller p-value, doubled, is the one that counts. Each check is a line
of a history, so that a change is dated: after the last check that found none, before the first that did.
"""

from __future__ import annotations

import asyncio
import hashlib
import json
import os
import re
import secrets
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from evalstats import contract, journal
from evalstats.errors import AdapterError, DocumentError, JournalError, Problem, UsageError
from evalstats.judging.exact import Votes, change, shift
from evalstats.judging.judge import Chance, Judge, Reply, ask
from evalstats.judging.passes import HOPELESS, Access, in_turn
from evalstats.judging.questions import Form, Question
from evalstats.judging.transcripts import Judged
from evalstats.runner.endpoint import Client, pace
from evalstats.trials import timestamp

ANCHORS, CHECK = "judge-anchors.v1", "judge-check.v1"
MOST_LOST = 0.10  # the share of judgements without a verdict beyond which a check says nothing
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,99}")
Document = dict[str, Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class Anchor:
    """One frozen text with its question, and the votes that it got: yes, and in all."""

    source: str
    question: Question
    text: str
    yes: int
    votes: int


def place(data: Path, name: str) -> Path:
    """Return the file of the sentinel called so; its history lies beside it."""
    if not _NAME.fullmatch(name):
        raise UsageError("a sentinel is called by letters, digits, '.', '_' and '-'", field="NAME")
    return data / "sentinels" / f"{name}.json"


def history_of(path: Path) -> Path:
    """Return the file of the checks of a sentinel."""
    return path.with_suffix(".jsonl")


def freeze(
    runs: Sequence[Judged], judge: Judge, access: Access, *, path: Path, most: int, repeats: int
) -> Document:
    """Freeze texts of these runs, as asked of this judge now, and write them; return the document.

    Raises UsageError when the file is there already: what is frozen stays.
    """
    if path.exists():
        raise UsageError("is there already; what is frozen stays, so choose another name", path=path)
    chosen = _chosen(runs, most)
    replies = asyncio.run(_asked(chosen, judge, access, repeats))
    anchors = [
        {**_frozen(source, question, text), **_counted(found)}
        for (source, question, text), found in zip(chosen, replies, strict=True)
    ]
    document = {
        "schema_version": 1,
        "frozen_at": timestamp(),
        "repeats": repeats,
        "judge": _described(judge),
        "anchors": [anchor for anchor in anchors if anchor["votes"]],
    }
    if not document["anchors"]:
        raise AdapterError("the judge gave no verdict on any text, so there is nothing to freeze", path=path)
    private = any(run.suite.is_private for run in runs)
    with journal.owners_only(private):
        path.parent.mkdir(parents=True, exist_ok=True)
        journal.write_synced(path, contract.readable(document).encode("utf-8", "replace"))
    return document


def _chosen(runs: Sequence[Judged], most: int) -> list[tuple[str, Question, str]]:
    """Return at most so many texts, one a question and trial, spread over cases by digest, the same every time."""
    found = []
    for run in runs:
        for trial, question in run.items():
            text, _ = run.text(trial, question)
            if text is not None:
                source = f"{trial.key}:{question.expectation}"
                found.append((hashlib.sha256(source.encode()).hexdigest(), source, question, text))
    turns: Counter[str] = Counter()
    in_order = []
    for digest, source, question, text in sorted(found, key=lambda entry: entry[0]):
        turns[question.case_id] += 1
        in_order.append((turns[question.case_id], digest, source, question, text))
    return [
        (source, question, text)
        for _, _, source, question, text in sorted(in_order, key=lambda e: e[:2])[:most]
    ]


def _frozen(source: str, question: Question, text: str) -> Document:
    asked = {
        name: value
        for name, value in asdict(question).items()
        if name not in ("wording", "inverted", "target")
    }
    return {"source": source, "question": asked, "text": text, "text_sha256": _digest(text)}


def _digest(text: str) -> str:
    return contract.digest(text.encode("utf-8", "replace"))


def _described(judge: Judge) -> Document:
    given = {"model": judge.model, "family": judge.declared_family, "temperature": judge.temperature}
    return {**given, "form": str(judge.form), "rubric": judge.rubric, "sha256": judge.sha256}


def read(path: Path) -> tuple[Judge, list[Anchor], Document]:
    """Return the judge and the anchors of a sentinel. Raises DocumentError where a frozen text is not what it was."""
    document, text = contract.read_json(path)
    contract.validate(document, ANCHORS, path=path, text=text)
    for index, anchor in enumerate(document["anchors"]):
        if _digest(anchor["text"]) != anchor["text_sha256"]:
            changed = Problem(f"/anchors/{index}/text", "is not the text its text_sha256 names")
            raise DocumentError(path, contract.with_lines([changed], text))
    given = document["judge"]
    judge = Judge(
        model=given["model"],
        declared_family=given["family"],
        temperature=given["temperature"],
        form=Form(given["form"]),
        rubric=given["rubric"],
        rubric_sha256=contract.digest(given["rubric"].encode()),
    )
    if judge.sha256 != given["sha256"]:
        asked = "this version of evalstats asks in another way than it was frozen with; freeze a new sentinel"
        raise UsageError(asked, path=path, field="/judge/sha256")
    anchors = [
        Anchor(
            source=a["source"],
            question=Question(**a["question"]),
            text=a["text"],
            yes=a["yes"],
            votes=a["votes"],
        )
        for a in document["anchors"]
    ]
    return judge, anchors, document


def check(path: Path, access: Access, *, level: float, repeats: int | None = None) -> Document:
    """Ask the frozen texts again, add the outcome to the history and return it.

    ``level`` is the share of unchanged judges that one check accuses at most.
    """
    judge, anchors, document = read(path)
    earlier = history(path)
    times = document["repeats"] if repeats is None else repeats
    asked = [(anchor.source, anchor.question, anchor.text) for anchor in anchors]
    replies = asyncio.run(_asked(asked, judge, access, times))
    line = {
        "schema_version": 1,
        "checked_at": timestamp(),
        "anchors_sha256": contract.canonical_digest(document),
        "model": judge.model,
        "reported": _reported(replies),
        "repeats": times,
        **outcome(anchors, replies, level),
    }
    contract.validate(line, CHECK)
    _append(history_of(path), {**line, **_dated(line, earlier)})
    return {**line, **_dated(line, earlier)}


def outcome(anchors: Sequence[Anchor], replies: Sequence[Sequence[Reply]], level: float) -> Document:
    """Return what a round of replies says about the judge, given the votes that were frozen."""
    votes, moved = [], Counter[str]()
    lost = sum(reply.verdict is None for found in replies for reply in found)
    total = sum(map(len, replies))
    for anchor, found in zip(anchors, replies, strict=True):
        now = _counted(found)
        if now["votes"]:
            votes.append(Votes(anchor.yes, anchor.votes, now["yes"], now["votes"]))
            moved[_moved(votes[-1])] += 1
    p_shift, p_change = shift(votes), change(votes)
    p_value = min(1.0, 2 * min(p_shift, p_change))
    unusable = not votes or lost > MOST_LOST * total
    return {
        "level": level,
        "n_anchors": len(votes),
        "n_judgements": total,
        "without_verdict": lost,
        "to_yes": moved["to_yes"],
        "to_no": moved["to_no"],
        "p_shift": p_shift,
        "p_change": p_change,
        "p_value": p_value,
        "changed": None if unusable else p_value < level,
    }


def _moved(votes: Votes) -> str:
    """Return which way the majority on a text went; a tie is no, as in a trial."""
    then, now = 2 * votes.yes_then > votes.n_then, 2 * votes.yes_now > votes.n_now
    return "same" if then == now else "to_yes" if now else "to_no"


def _counted(found: Iterable[Reply]) -> dict[str, int]:
    given = [reply.verdict.passed for reply in found if reply.verdict is not None]
    return {"yes": sum(given), "votes": len(given)}


def _reported(replies: Iterable[Iterable[Reply]]) -> list[str]:
    """Return what the endpoint says it is: model and version, each that was met."""
    said = {
        " ".join(filter(None, (reply.completion.model, reply.completion.version)))
        for found in replies
        for reply in found
        if reply.completion is not None
    }
    return sorted(said - {""})


def _dated(line: Mapping[str, Any], earlier: Sequence[Mapping[str, Any]]) -> Document:
    """Return between which two checks the judge changed: known only while it is found changed."""
    if not line["changed"]:
        return {"unchanged_at": None, "changed_by": None}
    decided = [each for each in earlier if each["changed"] is not None]
    sound = [index for index, each in enumerate(decided) if not each["changed"]]
    since = decided[sound[-1] + 1 :] if sound else decided
    return {
        "unchanged_at": decided[sound[-1]]["checked_at"] if sound else None,
        "changed_by": since[0]["checked_at"] if since else line["checked_at"],
    }


def history(path: Path) -> list[Document]:
    """Return the checks of a sentinel, oldest first; a torn last line is passed over."""
    file, found = history_of(path), []
    for number, line in enumerate(journal.raw_lines(file) if file.exists() else (), 1):
        if line.endswith(b"\n"):
            found.append(journal.parse_line(line, file, number, CHECK))
    return found


def _append(file: Path, line: Mapping[str, Any]) -> None:
    """Add a line to a history and bring it to disk; a torn tail is closed first, so that it costs no other line."""
    try:
        descriptor = os.open(
            file, os.O_RDWR | os.O_APPEND | os.O_CREAT, 0o600 if journal.is_private_tree(file) else 0o644
        )
        try:
            size = os.fstat(descriptor).st_size
            torn = size > 0 and os.pread(descriptor, 1, size - 1) != b"\n"
            if torn:
                keep = os.pread(descriptor, size, 0).rfind(b"\n") + 1
                os.ftruncate(descriptor, keep)
            os.write(descriptor, json.dumps(line, allow_nan=False).encode() + b"\n")
            os.fsync(descriptor)
        finally:
            os.close(descriptor)
    except OSError as error:
        raise JournalError(f"cannot be written: {error.strerror}", path=file) from None


async def _asked(
    chosen: Sequence[tuple[str, Question, str]], judge: Judge, access: Access, repeats: int
) -> list[list[Reply]]:
    """Return the replies to each text, in the order of the texts; they are asked round by round."""
    replies: list[list[Reply]] = [[] for _ in chosen]
    secret = secrets.token_bytes(32)

    async def once(job: tuple[int, int]) -> None:
        repeat, index = job
        source, question, text = chosen[index]
        seed = int.from_bytes(hashlib.sha256(f"{source}:{repeat}".encode()).digest()[:6], "big")
        reply = await ask(client, judge, question, text, Chance(seed=seed, secret=secret))
        if reply.error_class in HOPELESS:
            raise AdapterError(f"the judge cannot be asked: {reply.reason}", field=reply.error_class)
        replies[index].append(reply)

    limiter = pace(access.max_rpm)
    async with Client(access.endpoint, patience=access.patience, limiter=limiter) as client:
        rounds = [(repeat, index) for repeat in range(repeats) for index in range(len(chosen))]
        await in_turn(rounds, once, access.jobs)
    return replies
