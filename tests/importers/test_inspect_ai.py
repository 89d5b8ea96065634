"""Logs of Inspect AI: archives and documents, old and new spellings, epochs, limits, retries."""

import io
import json
import zipfile
import zlib

import pytest
from backports import zstd

from evalstats.contract import Outcome
from evalstats.errors import LogError


def scores(found):
    return {(f.row.case_id, f.row.trial_index): f.row.score for f in found}


def frames(document, size=200):
    """Return a document as several zstd frames, one after the other."""
    raw = json.dumps(document).encode()
    return b"".join(zstd.compress(raw[at : at + size]) for at in range(0, len(raw), size))


def zstd_archive(members):
    """Return a zip with zstd members (method 93), which zipfile of this Python cannot write."""
    buffer, entries = io.BytesIO(), []
    for name, (raw, packed) in members.items():
        entries.append((name, zlib.crc32(raw), len(packed), len(raw), buffer.tell()))
        head = b"PK\x03\x04" + (63).to_bytes(2, "little") + bytes(2) + (93).to_bytes(2, "little") + bytes(4)
        head += (
            zlib.crc32(raw).to_bytes(4, "little")
            + len(packed).to_bytes(4, "little")
            + len(raw).to_bytes(4, "little")
        )
        buffer.write(head + len(name).to_bytes(2, "little") + bytes(2) + name.encode() + packed)
    start = buffer.tell()
    for name, crc, packed, raw, place in entries:
        head = (
            b"PK\x01\x02" + (63).to_bytes(2, "little") * 2 + bytes(2) + (93).to_bytes(2, "little") + bytes(4)
        )
        head += b"".join(n.to_bytes(4, "little") for n in (crc, packed, raw))
        buffer.write(
            head + len(name).to_bytes(2, "little") + bytes(12) + place.to_bytes(4, "little") + name.encode()
        )
    size = buffer.tell() - start
    count = len(entries).to_bytes(2, "little")
    buffer.write(
        b"PK\x05\x06"
        + bytes(4)
        + count * 2
        + size.to_bytes(4, "little")
        + start.to_bytes(4, "little")
        + bytes(2)
    )
    return buffer.getvalue()


def test_epochs_are_trials_and_both_shapes_tell_the_same(sample, read):
    _, document = read(sample("inspect-json"))
    assert scores(document) == {("a", 1): 1.0, ("a", 2): 1.0, ("b", 1): 1.0, ("b", 2): 0.0}
    said = [[f.trial.as_record() for f in found] for found in (document, read(sample("inspect-eval"))[1])]
    for records in said:
        for record in records:
            del record["source_path"], record["source_sha256"], record["source_locator"]
    assert said[0] == said[1]
    trial = document[0].trial
    assert (trial.tokens_in, trial.tokens_out, trial.duration_s, trial.utc_offset) == (5, 7, 2.0, "+00:00")
    assert document[0].run.created_at == "2026-01-02T07:04:05.000Z"


def test_members_packed_by_zstd_in_several_frames(read, tmp_path, make):
    documents = {"header.json": make.inspect_header()}
    documents |= {f"samples/{s['id']}_epoch_{s['epoch']}.json": s for s in make.inspect_samples}
    members = {name: (json.dumps(d).encode(), frames(d)) for name, d in documents.items()}
    assert all(packed.count(b"\x28\xb5\x2f\xfd") > 1 for _, packed in members.values())
    path = tmp_path / "log.eval"
    path.write_bytes(zstd_archive(members))
    _, found = read(path)
    assert scores(found) == {("a", 1): 1.0, ("a", 2): 1.0, ("b", 1): 1.0, ("b", 2): 0.0}
    torn = {name: (raw, packed[:-3]) for name, (raw, packed) in members.items()}
    path.write_bytes(zstd_archive(torn))
    with pytest.raises(LogError, match=r"header.json: cannot be unpacked: it ends inside a frame"):
        read(path)
    wrong = {name: (raw[:-1] + b" ", packed) for name, (raw, packed) in members.items()}
    path.write_bytes(zstd_archive(wrong))
    with pytest.raises(LogError, match="checksum"):
        read(path)


@pytest.mark.filterwarnings("ignore:Duplicate name")
def test_of_two_members_of_one_name_the_last_counts(sample, read, make):
    again = ("samples/b_epoch_2.json", make.inspect_sample("b", 2, "C"))
    _reading, found = read(sample("inspect-eval", more=[again]))
    assert scores(found)["b", 2] == 1.0 and len(found) == 4


def test_reductions_and_summaries_are_views_and_no_trials(sample, read):
    views = [
        ("reductions.json", [{"scorer": "match", "samples": [{"value": 1.0}] * 9}]),
        ("summaries.json", []),
    ]
    _, found = read(sample("inspect-eval", more=views))
    assert len(found) == 4


def test_a_log_without_a_header_is_not_finished(sample, read, make):
    reading, found = read(sample("inspect-eval", header=False, samples=make.inspect_samples[:3]))
    assert len(found) == 3 and "the log is not finished" in reading.files[0].warnings


def test_what_was_planned_and_never_came_is_missing(sample, read, make):
    _, found = read(sample("inspect-json", samples=make.inspect_samples[:3]))
    missing = [f for f in found if f.row.outcome is Outcome.MISSING]
    assert [(f.row.case_id, f.row.trial_index) for f in missing] == [("b", 2)]


@pytest.mark.parametrize(
    ("config", "missing"),
    [({"limit": 1}, 0), ({"limit": [1, 2]}, 2), ({"sample_id": "a"}, 0), ({"sample_id": ["b"]}, 2), ({}, 2)],
)
def test_a_limit_plans_fewer(config, missing, sample, read, make):
    path = sample("inspect-json", samples=make.inspect_samples[:2], spec={"config": {"epochs": 2, **config}})
    _, found = read(path)
    assert sum(f.row.outcome is Outcome.MISSING for f in found) == missing


@pytest.mark.parametrize("value", [float("nan"), float("inf"), None, "X", {}, [], 2.0, -1])
def test_what_is_no_score_becomes_null_with_a_reason(value, sample, read, make):
    samples = [make.inspect_sample("a", 1, value), *make.inspect_samples[1:]]
    reading, found = read(sample("inspect-json", samples=samples))
    assert (
        found[0].trial.score is None and found[0].trial.outcome is Outcome.UNSCORED and found[0].trial.reason
    )
    assert len(found) == 4 and reading.files[0].statuses["unscored"] == 1


@pytest.mark.parametrize(
    ("value", "score", "names"),
    [
        ("P", 0.5, {"match"}),
        ("N", 0.0, {"match"}),
        (True, 1.0, {"match"}),
        (0.25, 0.25, {"match"}),
        ("0.5", 0.5, {"match"}),
        ({"good": 1, "fast": 0}, 1.0, {"match.good", "match.fast"}),
        ([0, 1], 0.0, {"match.0", "match.1"}),
    ],
)
def test_letters_numbers_and_parts(value, score, names, sample, read, make):
    samples = [make.inspect_sample("a", 1, value), *make.inspect_samples[1:]]
    _, found = read(sample("inspect-json", samples=samples))
    assert found[0].row.score == score and set(found[0].row.scores) == names


def test_why_a_scorer_gave_none_is_kept(sample, read, make):
    value = {"match": {"value": float("nan"), "metadata": {"unscored_reason": "judge declined"}}}
    samples = [make.inspect_sample("a", 1, None, scores=value), *make.inspect_samples[1:]]
    _, found = read(sample("inspect-json", samples=samples))
    assert found[0].trial.reason == "unscored: judge declined"


@pytest.mark.parametrize(
    ("changes", "outcome", "reason"),
    [
        (
            {"error": {"message": "TimeoutError('slow')\ntrace"}, "scores": None},
            Outcome.INFRASTRUCTURE,
            "TimeoutError('slow')",
        ),
        ({"error": {"message": "boom"}}, Outcome.OK, None),  # scored all the same
        ({"limit": {"type": "time"}}, Outcome.TIMEOUT, "limit: time"),
        ({"limit": {"type": "token"}, "scores": {}}, Outcome.LIMIT, "limit: token"),
        ({"invalidation": {"reason": "leak"}}, Outcome.DEGRADED, "invalidated in the log"),
    ],
)
def test_how_a_sample_ended(changes, outcome, reason, sample, read, make):
    samples = [make.inspect_sample("a", 1, "C", **changes), *make.inspect_samples[1:]]
    _, found = read(sample("inspect-json", samples=samples))
    trial = found[0].trial
    assert (trial.outcome, trial.reason) == (outcome, reason)
    assert trial.score == (None if not outcome.usable else 0.0 if outcome is Outcome.LIMIT else 1.0)


def test_old_spellings(sample, read, make):
    """One score without a name, options for params, results with one scorer, no eval_id, no epoch."""
    samples = [
        {"id": i, "input": "x", "target": "y", "score": {"value": value}, "metadata": {"g": i % 2}}
        for i, value in enumerate(["C", "I", "C", "C"])
    ]
    spec = {"eval_id": None, "task_id": None, "config": {}, "dataset": {}}
    results = {
        "scorer": {"name": "score"},
        "metrics": {"accuracy": {"name": "accuracy", "value": 0.75, "options": {}}},
    }
    reading, found = read(sample("inspect-json", samples=samples, spec=spec, results=results))
    assert scores(found) == {("0", 1): 1.0, ("1", 1): 0.0, ("2", 1): 1.0, ("3", 1): 1.0}
    assert [(d.name, d.agrees) for d in reading.files[0].declared] == [("score/accuracy", True)]


def test_a_retried_log_replaces_what_was_lost(sample, read, pour, tmp_path, make):
    lost = make.inspect_sample("b", 2, None, scores=None, error={"message": "ConnectionError('x')"})
    first = sample("inspect-json", folder="1", samples=[*make.inspect_samples[:3], lost])
    second = sample("inspect-eval", folder="2")
    reading, found = read(first, second)
    assert [file.duplicates for file in reading.files] == [0, 3] and len(reading.runs) == 1
    assert found[-1].row.attempt == 2 and found[-1].supersedes is Outcome.INFRASTRUCTURE
    assert [pour(first), pour(second), pour(first), pour(second)] == [4, 1, 0, 0]


def test_the_number_and_the_text_of_one_id_collide(sample, read, make):
    samples = [make.inspect_sample(1, 1, "C"), make.inspect_sample("1", 1, "C")]
    with pytest.raises(LogError, match="the number and the text of one id"):
        read(sample("inspect-json", samples=samples, spec={"config": {}}))


def test_a_declared_figure_that_the_rows_do_not_give_is_shown(sample, read, make):
    samples = [*make.inspect_samples[:3], make.inspect_sample("b", 2, "C")]
    reading, _ = read(sample("inspect-json", samples=samples))
    differing = {d.name: (d.declared, d.recomputed) for d in reading.files[0].declared if not d.agrees}
    assert differing == {"match/accuracy": (0.75, 1.0), "match/stderr": (0.25, 0.0)}


def test_who_judged(sample, read):
    for spec, judge in (
        ({"model_roles": {"grader": {"model": "lab/judge"}}}, "lab/judge"),
        ({"model_roles": {"grader": "lab/judge"}}, "lab/judge"),
        ({"scorers": [{"name": "model_graded_qa", "options": {"model": "lab/other"}}]}, "lab/other"),
        ({"scorers": [{"name": "inspect_ai/model_graded_fact"}]}, "lab/model"),  # the subject, by default
        ({}, None),
    ):
        _, found = read(sample("inspect-json", spec=spec))
        assert found[0].run.logged.judge_model == judge


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"spec": {"task": None}}, "names no task"),
        ({"samples": {"a": 1}}, "must be an array"),
        ({"samples": [{"id": None}]}, "needs an id"),
        ({"samples": [{"id": "a", "epoch": 0}]}, "counts from 1"),
        ({"samples": [{"id": "a"}]}, "counts from 1"),  # two epochs were planned: which one is it?
        ({"samples": [{"id": "a", "epoch": 1, "scores": [1]}]}, "must be an object"),
    ],
)
def test_what_is_no_log_is_refused(changes, message, sample, read):
    with pytest.raises(LogError, match=message):
        read(sample("inspect-json", **changes))


def test_samples_in_chunks_are_refused(read, tmp_path, make):
    path = tmp_path / "log.eval"
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("header.json", json.dumps(make.inspect_header()))
        archive.writestr("samples/0001.chunk", b"x")
    with pytest.raises(LogError, match="in chunks"):
        read(path)
