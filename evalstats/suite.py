"""A suite: what is asked, how it is scored, and the digests that say what changed.

A suite is read once (:func:`load`), and trusted afterwards. Five digests name its layers, because a
stale hash is only useful when it says *what* is stale.
"""

from __future__ import annotations

import os
import re
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from evalstats import contract
from evalstats.contract import CaseKind, ExpectationType, Tier, Visibility
from evalstats.errors import DocumentError, Problem, SuiteError, UsageError

# Policy and scoring keys of the document; whatever is in neither is metadata.
SCORING_KEYS = ("cases", "scoring", "environment", "trials", "judge", "arms")
POLICY_KEYS = ("baseline_policy",)

DEFAULT_TIMEOUT_SECONDS = 60.0
LIVE_TRIALS_PER_CASE = 3
_SAFE_SEGMENT = re.compile(r"[A-Za-z0-9._ @+=,-]{1,200}")


@dataclass(frozen=True, slots=True)
class Expectation:
    """One assertion of a case."""

    type: ExpectationType
    target: str | None = None
    value: Any = None
    threshold: float | None = None
    required: bool = True


@dataclass(frozen=True, slots=True)
class Case:
    """One thing asked: the sampling unit of every statistic."""

    id: str
    title: str
    kind: CaseKind
    objective: str
    expectations: tuple[Expectation, ...]
    archetype: str | None = None
    prompt: str | None = None
    pool: str = "locked"
    runtime: str | None = None
    timeout_seconds: float | None = None
    inputs: dict[str, Any] = field(default_factory=dict)
    dimensions: tuple[str, ...] = ()
    critical: bool = False
    tags: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Dimension:
    """One aspect of quality, its weight in the aggregate and the score below which a run fails."""

    name: str
    weight: float
    threshold: float
    critical: bool = False


@dataclass(frozen=True, slots=True)
class Suite:
    """A loaded suite. ``document`` is the parsed JSON, ``raw`` its bytes."""

    id: str
    name: str
    path: Path
    root: Path
    visibility: Visibility
    tier: Tier
    cases: tuple[Case, ...]
    dimensions: tuple[Dimension, ...]
    aggregate_threshold: float
    document: dict[str, Any]
    raw: bytes

    @property
    def folder(self) -> Path:
        """Return the folder of the suite file: the default working directory of a command."""
        return self.path.parent

    @property
    def environment(self) -> dict[str, Any]:
        """Return the environment section."""
        section: dict[str, Any] = self.document.get("environment", {})
        return section

    @property
    def trials_per_case(self) -> int:
        """Return how many trials a case gets unless the caller says otherwise."""
        default = LIVE_TRIALS_PER_CASE if self.tier is Tier.LIVE else 1
        return int(self.document.get("trials", {}).get("per_case", default))

    def timeout(self, case: Case) -> float:
        """Return the seconds one trial of ``case`` may take."""
        return float(case.timeout_seconds or self.environment.get("timeout_seconds", DEFAULT_TIMEOUT_SECONDS))


def find(place: Path) -> Path:
    """Return the suite file behind ``place``: a file, or a folder that holds ``suite.json``."""
    if place.is_dir():
        place = place / "suite.json"
    if not place.is_file():
        raise UsageError("no suite here; give a suite file or a folder with suite.json", path=place)
    return place


def load(place: Path, *, root: Path | None = None) -> Suite:
    """Read, validate and return the suite at ``place`` (a file, or a folder with ``suite.json``).

    ``root`` is the folder that fixture paths are relative to; by default the nearest folder above
    that holds ``evalstats.toml`` or ``.git``. Raises SuiteError with every problem of the document.
    """
    path = find(place)
    document, text = contract.read_json(path)
    found = contract.problems(document, "eval-suite.v1")
    if not found:
        found = _meaning(document)
    if found:
        raise SuiteError(path, contract.with_lines(found, text))
    return _suite(document, path, (root or repository_root(path)).resolve())


def repository_root(path: Path) -> Path:
    """Return the nearest folder above ``path`` with ``evalstats.toml`` or ``.git``; else its own folder."""
    folder = path.resolve() if path.is_dir() else path.resolve().parent
    for candidate in (folder, *folder.parents):
        if (candidate / "evalstats.toml").is_file() or (candidate / ".git").exists():
            return candidate
    return folder


def _meaning(document: dict[str, Any]) -> list[Problem]:
    """Return the problems that a schema cannot say."""
    found = _repeated((case["id"] for case in document["cases"]), "/cases/{}/id", "case id")
    names = (dimension["name"] for dimension in document["scoring"]["dimensions"])
    found += _repeated(names, "/scoring/dimensions/{}/name", "dimension")
    for index, case in enumerate(document["cases"]):
        if case["kind"] == CaseKind.COMMAND and not {"shell", "argv", "command"} & set(
            case.get("inputs", {})
        ):
            found.append(Problem(f"/cases/{index}/inputs", "a command case needs shell, argv or command"))
    if (
        document["tier"] == Tier.DETERMINISTIC
        and document.get("environment", {}).get("network") == "required"
    ):
        found.append(Problem("/environment/network", "a deterministic suite cannot require the network"))
    return found + _bad_fixture_paths(document)


def _repeated(values: Iterable[str], pointer: str, what: str) -> list[Problem]:
    seen: Counter[str] = Counter()
    found = []
    for index, value in enumerate(values):
        seen[value] += 1
        if seen[value] > 1:
            found.append(Problem(pointer.format(index), f"{what} {value!r} stands twice; rename one"))
    return found


def _bad_fixture_paths(document: dict[str, Any]) -> list[Problem]:
    return [
        Problem(pointer, "the path of a file is relative to the repository and stays inside it")
        for pointer, fixture in _files(document)
        if not is_inside_path(fixture["path"])
    ]


def _files(document: dict[str, Any]) -> list[tuple[str, dict[str, Any]]]:
    """Return (pointer to the path, fixture) for each file the suite stands on; a rubric is one of them."""
    files = _fixtures(document, "")
    for index, case in enumerate(document["cases"]):
        files += _fixtures(case, f"/cases/{index}")
    rubric = document.get("judge", {}).get("rubric")
    return files + ([("/judge/rubric", {"path": rubric})] if rubric else [])


def _fixtures(owner: dict[str, Any], pointer: str) -> list[tuple[str, dict[str, Any]]]:
    return [(f"{pointer}/fixtures/{i}/path", fixture) for i, fixture in enumerate(owner.get("fixtures", []))]


def is_inside_path(path: str) -> bool:
    """Return whether ``path`` is a plain relative POSIX path that cannot leave its root by its text."""
    parts = path.split("/")
    return all(part not in ("", ".", "..") and _SAFE_SEGMENT.fullmatch(part) for part in parts)


def _suite(document: dict[str, Any], path: Path, root: Path) -> Suite:
    scoring = document["scoring"]
    return Suite(
        id=document["id"],
        name=document["name"],
        path=path,
        root=root,
        visibility=Visibility(document["visibility"]),
        tier=Tier(document["tier"]),
        cases=tuple(_case(case) for case in document["cases"]),
        dimensions=tuple(Dimension(**dimension) for dimension in scoring["dimensions"]),
        aggregate_threshold=float(scoring["aggregate_threshold"]),
        document=document,
        raw=path.read_bytes(),
    )


def _case(case: dict[str, Any]) -> Case:
    expectations = tuple(_expectation(e) for e in case["expectations"])
    names = ("archetype", "prompt", "runtime", "timeout_seconds")
    given = {name: case[name] for name in names if name in case}
    return Case(
        id=case["id"],
        title=case["title"],
        kind=CaseKind(case["kind"]),
        objective=case["objective"],
        expectations=expectations,
        pool=case.get("pool", "locked"),
        inputs=case.get("inputs", {}),
        dimensions=tuple(case.get("dimensions", ())),
        critical=case.get("critical", False),
        tags=tuple(case.get("tags", ())),
        **given,
    )


def _expectation(entry: dict[str, Any]) -> Expectation:
    return Expectation(**{**entry, "type": ExpectationType(entry["type"])})


# --- digests -------------------------------------------------------------------------------------


def hashes(suite: Suite) -> dict[str, str]:
    """Return the five digests: ``raw``, ``canonical``, ``scoring``, ``policy``, ``metadata``."""
    document = suite.document
    scoring = {key: document[key] for key in SCORING_KEYS if key in document}
    scoring["content"] = _contents(suite, _files(document))
    rest = {key: value for key, value in document.items() if key not in (*SCORING_KEYS, *POLICY_KEYS)}
    return {
        "raw": contract.digest(suite.raw),
        "canonical": contract.canonical_digest(document),
        "scoring": contract.canonical_digest(scoring),
        "policy": contract.canonical_digest({key: document[key] for key in POLICY_KEYS}),
        "metadata": contract.canonical_digest(rest),
    }


def case_hashes(suite: Suite) -> dict[str, str]:
    """Return case id -> digest of the case and the content of its own fixtures."""
    result = {}
    for index, case in enumerate(suite.document["cases"]):
        content = _contents(suite, _fixtures(case, f"/cases/{index}"))
        result[case["id"]] = contract.canonical_digest({"case": case, "content": content})
    return result


def _contents(suite: Suite, files: list[tuple[str, dict[str, Any]]]) -> dict[str, str | None]:
    return {file["path"]: _file_digest(suite.root / file["path"]) for _, file in files}


def _file_digest(path: Path) -> str | None:
    return contract.digest(path.read_bytes()) if path.is_file() else None


# --- before a run --------------------------------------------------------------------------------


def check_fixtures(suite: Suite) -> None:
    """Raise SuiteError naming every fixture that is missing, outside the repository or changed."""
    found = []
    for pointer, fixture in _files(suite.document):
        problem = _fixture_problem(suite.root, fixture)
        if problem:
            found.append(Problem(pointer, problem))
    if found:
        raise SuiteError(suite.path, contract.with_lines(found, suite.raw.decode("utf-8-sig")))


def _fixture_problem(root: Path, fixture: dict[str, Any]) -> str | None:
    path = root / fixture["path"]
    if not Path(os.path.realpath(path)).is_relative_to(root):  # Path.resolve fails on a loop of links
        return f"fixture {fixture['path']!r} is a link that leaves the repository"
    if not path.is_file():
        return (
            f"fixture {fixture['path']!r} is missing under {root}" if fixture.get("required", True) else None
        )
    if "sha256" in fixture and fixture["sha256"] != _file_digest(path):
        return f"fixture {fixture['path']!r} is not the file its sha256 names"
    return None


def select(suite: Suite, *, archetype: str | None = None, case_ids: Iterable[str] = ()) -> tuple[Case, ...]:
    """Return the cases of one archetype (exact match) and of these ids; nothing asked means all."""
    wanted = set(case_ids)
    unknown = wanted - {case.id for case in suite.cases}
    if unknown:
        raise UsageError(f"unknown case {sorted(unknown)[0]!r}", path=suite.path, field="--case")
    archetypes = sorted({case.archetype for case in suite.cases if case.archetype})
    if archetype is not None and archetype not in archetypes:
        known = ", ".join(archetypes) or "none"
        raise UsageError(
            f"unknown archetype {archetype!r}; known: {known}", path=suite.path, field="--archetype"
        )
    chosen = tuple(
        case
        for case in suite.cases
        if (archetype is None or case.archetype == archetype) and (not wanted or case.id in wanted)
    )
    if not chosen:
        raise UsageError(
            f"none of these cases is of archetype {archetype!r}", path=suite.path, field="--case"
        )
    return chosen


def load_all(folder: Path) -> tuple[list[Suite], list[DocumentError]]:
    """Return the suites under ``folder`` (``*/suite.json``) and the errors of those that cannot load."""
    suites, failures = [], []
    for path in sorted(folder.glob("*/suite.json")):
        try:
            suites.append(load(path))
        except DocumentError as error:
            failures.append(error)
    return suites, failures
