"""Every edit of a suite is named by its layer and case, and by nothing else."""

from __future__ import annotations

import json
from collections.abc import Callable
from itertools import combinations
from pathlib import Path
from typing import Any

import pytest

from evalstats import suite as suites
from evalstats.errors import UsageError
from evalstats.governance import lock_changes, locks
from evalstats.governance.lock_changes import Finding, Layer

Write = Callable[..., Path]
Document = Callable[[], dict[str, Any]]
Found = tuple[Layer, str | None, tuple[str, ...]]


def set_at(*path: Any, to: Any) -> Callable[[dict[str, Any], Path], None]:
    def edit(document: dict[str, Any], root: Path) -> None:
        owner: Any = document
        for step in path[:-1]:
            owner = owner[step]
        owner[path[-1]] = to

    return edit


def write_file(name: str) -> Callable[[dict[str, Any], Path], None]:
    def edit(document: dict[str, Any], root: Path) -> None:
        (root / "evals/door" / name).write_text("other\n")

    return edit


def drop_case(document: dict[str, Any], root: Path) -> None:
    del document["cases"][1]


EDITS: dict[str, tuple[Callable[[dict[str, Any], Path], None], Found]] = {
    "prompt": (
        set_at("cases", 1, "prompt", to="Who?"),
        (Layer.CASE_CONTENT, "refuse", ("prompt",)),
    ),
    "expectation": (
        set_at("cases", 0, "expectations", 0, "value", to="4712"),
        (Layer.CASE_CONTENT, "open", ("expectations",)),
    ),
    "fixture of a case": (write_file("open.txt"), (Layer.FIXTURE, "open", ("evals/door/open.txt",))),
    "shared fixture": (write_file("door.txt"), (Layer.FIXTURE, None, ("evals/door/door.txt",))),
    "threshold": (
        set_at("scoring", "aggregate_threshold", to=0.7),
        (Layer.SCORING, None, ("scoring",)),
    ),
    "time limit": (
        set_at("environment", "timeout_seconds", to=6),
        (Layer.SCORING, None, ("environment",)),
    ),
    "judge": (set_at("judge", "model", to="other-model"), (Layer.SCORING, None, ("judge",))),
    "arm": (set_at("arms", "skill-on", "env", "HINT", to="2"), (Layer.SCORING, None, ("arms",))),
    "file of an arm": (write_file("hint.md"), (Layer.FIXTURE, None, ("evals/door/hint.md",))),
    "trials": (set_at("trials", "per_case", to=3), (Layer.SCORING, None, ("trials",))),
    "policy": (
        set_at("baseline_policy", "mode", to="none"),
        (Layer.POLICY, None, ("baseline_policy",)),
    ),
    "owner": (set_at("owners", to=["others"]), (Layer.METADATA, None, ("owners",))),
    "case gone": (drop_case, (Layer.CASE_SET, "refuse", ())),
}
SCORING_EDITS = {"threshold", "time limit", "judge", "arm", "trials"}


class Repository:
    """The door suite in a folder, its lock, and what `verify` finds after edits."""

    def __init__(self, root: Path, write: Write, document: dict[str, Any]) -> None:
        self.root, self.write, self.document = root, write, document
        self.lock = locks.read(locks.write(locks.create("2026Q4", [self.suite()]), root / "locks"))

    def suite(self, text: str | None = None) -> suites.Suite:
        return suites.load(self.write(self.root, self.document, text))

    def edited(self, *names: str) -> list[Finding]:
        path = self.write(self.root, self.document)
        (self.root / "evals/door/hint.md").write_text("a hint\n")
        document = json.loads(path.read_text())
        for name in names:
            EDITS[name][0](document, self.root)
        path.write_text(json.dumps(document, indent=1))
        return list(lock_changes.verify(self.lock, [suites.load(path)]).findings)


@pytest.fixture
def repository(tmp_path: Path, write_suite: Write, suite_document: Document) -> Repository:
    document = suite_document()
    document["arms"]["skill-on"]["files"] = ["evals/door/hint.md"]
    (tmp_path / "evals/door").mkdir(parents=True)
    (tmp_path / "evals/door/hint.md").write_text("a hint\n")
    return Repository(tmp_path, write_suite, document)


def said(findings: list[Finding]) -> set[Found]:
    return {(finding.layer, finding.case_id, finding.fields) for finding in findings}


@pytest.mark.parametrize("name", EDITS)
def test_an_edit_names_exactly_its_layer_and_case(name: str, repository: Repository) -> None:
    assert said(repository.edited(name)) == {EDITS[name][1]}


def test_two_edits_name_both(repository: Repository) -> None:
    for first, second in combinations([name for name in EDITS if name not in SCORING_EDITS], 2):
        if {"case gone", "prompt"} == {first, second}:
            continue  # both of one case: it is gone
        if {"shared fixture", "file of an arm"} == {first, second}:
            continue  # one finding names both files
        assert said(repository.edited(first, second)) == {EDITS[first][1], EDITS[second][1]}, (first, second)
    assert said(repository.edited("judge", "arm")) == {(Layer.SCORING, None, ("arms", "judge"))}


def test_nothing_changed_is_no_finding(repository: Repository) -> None:
    assert repository.edited() == []


def test_the_same_document_in_other_bytes_is_formatting(repository: Repository) -> None:
    spaced = repository.suite(text=json.dumps(repository.document, indent=4))
    assert said(list(lock_changes.verify(repository.lock, [spaced]).findings)) == {
        (Layer.FORMATTING, None, ())
    }


def test_a_new_case_is_a_candidate_and_no_finding_and_order_means_nothing(repository: Repository) -> None:
    cases = repository.document["cases"]
    repository.document["cases"] = [{**cases[0], "id": "later"}, *reversed(cases)]
    found = lock_changes.verify(repository.lock, [repository.suite()])
    assert found.findings == ()
    assert found.candidates == (("door", "later"),)


def test_a_renamed_or_unread_suite_is_gone(repository: Repository) -> None:
    (finding,) = lock_changes.verify(repository.lock, []).findings
    assert str(finding) == "door: case set changed: the suite is gone, or cannot be read"


def test_a_finding_is_one_sentence(repository: Repository) -> None:
    assert [str(finding) for finding in repository.edited("prompt", "owner", "shared fixture")] == [
        "door: metadata changed: owners",
        "door: fixture changed: evals/door/door.txt",
        "door/refuse: case content changed: prompt",
    ]


@pytest.mark.parametrize("name", EDITS)
def test_only_what_moves_numbers_stops_a_headline(name: str, repository: Repository) -> None:
    repository.edited(name)
    present = [suites.load(repository.root / "evals/door/suite.json")]
    if name in ("policy", "owner"):
        lock_changes.check(repository.lock, "door", present)
    else:
        with pytest.raises(UsageError, match=r"changed.*see `evalstats lock verify 2026Q4`"):
            lock_changes.check(repository.lock, "door", present)


@pytest.mark.parametrize(
    ("name", "layer"),
    [
        ("prompt", Layer.SCORING),
        ("judge", Layer.SCORING),
        ("open.txt", Layer.FIXTURE),
        ("policy", Layer.POLICY),
        ("owner", Layer.METADATA),
    ],
)
def test_a_private_suite_names_its_layer_only(
    name: str, layer: Layer, tmp_path: Path, write_suite: Write, suite_document: Document
) -> None:
    document = {**suite_document(), "visibility": "private_holdout"}
    made = locks.create("q", [suites.load(write_suite(tmp_path, document))], evaluator=True)
    lock = locks.read(locks.write(made, tmp_path / "locks"))
    (EDITS[name][0] if name in EDITS else write_file(name))(document, tmp_path)
    path = tmp_path / "evals/door/suite.json"
    path.write_text(json.dumps(document, indent=1))
    present = [suites.load(path)]
    (finding,) = lock_changes.verify(lock, present, evaluator=True).findings
    assert str(finding) == f"a private suite: {layer} changed"
    unlooked = lock_changes.verify(lock, present)
    assert (unlooked.findings, unlooked.unchecked_private, unlooked.candidates) == ((), 1, ())
    (gone,) = lock_changes.verify(lock, [], evaluator=True).findings
    assert gone.layer is Layer.CASE_SET and gone.suite_id is None
