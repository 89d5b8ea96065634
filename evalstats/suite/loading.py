"""From a file to a trusted suite, or to every problem of the file at once."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from evalstats import contract
from evalstats.contract import CaseKind, ExpectationType, Tier, Visibility
from evalstats.errors import DocumentError, Problem, SuiteError, UsageError
from evalstats.suite import lift_suites
from evalstats.suite.fixtures import is_inside_path, named_files
from evalstats.suite.model import Case, Dimension, Expectation, Suite

_OURS = {
    "cases",
    "scoring",
    "baseline_policy",
    "tier",
    "visibility",
    "domain",
}  # any of them: meant as a suite
_NEITHER = "is no suite: it has neither cases (a suite of ours) nor evals (a lift suite)"

SCHEMA = "eval-suite.v1"
SUITE_FILE = "suite.json"
SUITE_KEYS = frozenset({"schema_version", "scoring", "cases"})
NO_SUITES = frozenset({"runs", "baselines", "locks", "schemas"})


def find(place: Path) -> Path:
    """Return the suite file behind ``place``: a file, or a folder that holds ``suite.json``."""
    if place.is_dir():
        place = place / SUITE_FILE
    if not place.is_file():
        raise UsageError("no suite here; give a suite file or a folder with suite.json", path=place)
    return place


def load(place: Path, *, root: Path | None = None) -> Suite:
    """Read, validate and return the suite at ``place`` (a file, or a folder with ``suite.json``).

    ``root`` is the folder that fixture paths are relative to; by default the nearest folder above
    that holds ``evalstats.toml`` or ``.git``. Raises SuiteError with every problem of the document.
    """
    path = find(place)
    source = read(path)
    if source.problems:
        raise SuiteError(path, source.problems)
    return of_document(source.document, path, raw=source.raw, root=(root or repository_root(path)).resolve())


@dataclass(frozen=True, slots=True, kw_only=True)
class Source:
    """A suite file as it stands.

    ``problems`` holds all its faults. Without any, ``document`` is of our shape, whatever the file's is; with
    some, it is the file's own.
    """

    document: Any
    raw: bytes
    is_lift_suite: bool
    problems: tuple[Problem, ...]


def read(path: Path) -> Source:
    """Read a suite file of either shape, ours or that of a lift suite, and find all its problems.

    Raises DocumentError when it is no JSON, and SuiteError when it is of neither shape.
    """
    raw = contract.read_bytes(path)
    document, text = contract.parse_bytes(raw, path)
    foreign = lift_suites.is_lift_suite(document)
    if not foreign and not _OURS & set(document if isinstance(document, dict) else ()):
        raise SuiteError(path, [Problem("", _NEITHER)])
    found = contract.problems(document, lift_suites.SCHEMA if foreign else SCHEMA)
    if not found:
        converted = lift_suites.converted(document) if foreign else document
        found = meaning_problems(converted)
        if foreign:
            found = [replace(p, pointer=lift_suites.source_pointer(p.pointer)) for p in found]
        elif contract.is_private(document, SCHEMA):
            found = contract.discreet(found)
        document = document if found else converted
    return Source(
        document=document, raw=raw, is_lift_suite=foreign, problems=tuple(contract.with_lines(found, text))
    )


def repository_root(path: Path) -> Path:
    """Return the nearest folder above ``path`` with ``evalstats.toml`` or ``.git``; else its own folder."""
    folder = path.resolve() if path.is_dir() else path.resolve().parent
    for candidate in (folder, *folder.parents):
        if (candidate / "evalstats.toml").is_file() or (candidate / ".git").exists():
            return candidate
    return folder


def meaning_problems(document: dict[str, Any]) -> list[Problem]:
    """Return the problems of a document that keeps its schema: what a schema cannot say."""
    found = _repeated((case["id"] for case in document["cases"]), "/cases/{}/id", "case id")
    names = (dimension["name"] for dimension in document["scoring"]["dimensions"])
    found += _repeated(names, "/scoring/dimensions/{}/name", "dimension")
    for index, case in enumerate(document["cases"]):
        if case["kind"] == CaseKind.COMMAND and not {"shell", "argv", "command"} & set(
            case.get("inputs", {})
        ):
            needed = "a command case needs shell, argv or command"
            found.append(Problem(f"/cases/{index}/inputs", needed, rule=needed))
    if (
        document["tier"] == Tier.DETERMINISTIC
        and document.get("environment", {}).get("network") == "required"
    ):
        offline = "a deterministic suite cannot require the network"
        found.append(Problem("/environment/network", offline, rule=offline))
    return found + _bad_fixture_paths(document)


def _repeated(values: Iterable[str], pointer: str, what: str) -> list[Problem]:
    seen: Counter[str] = Counter()
    found = []
    for index, value in enumerate(values):
        seen[value] += 1
        if seen[value] > 1:
            rule = "stands twice; rename one"
            found.append(
                Problem(pointer.format(index), f"{what} {value!r} {rule}", rule=f"this {what} {rule}")
            )
    return found


def _bad_fixture_paths(document: dict[str, Any]) -> list[Problem]:
    rule = "the path of a file is relative to the repository and stays inside it"
    return [
        Problem(pointer, rule, rule=rule)
        for pointer, fixture in named_files(document)
        if not is_inside_path(fixture["path"])
    ]


def of_document(document: dict[str, Any], path: Path, *, raw: bytes, root: Path) -> Suite:
    """Return the suite that a document without problems is; ``raw`` are the bytes it was read from."""
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
        raw=raw,
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


def load_all(folder: Path) -> tuple[list[Suite], list[DocumentError]]:
    """Return every suite below ``folder``, by path, and the errors of the files that cannot be loaded.

    A suite is a JSON object with ``schema_version``, ``scoring`` and ``cases``, whatever its file is called.
    Folders of runs, baselines, locks and schemas, and hidden ones, hold no suites.
    """
    suites, failures = [], []
    for path in sorted(folder.rglob("*.json")):
        try:
            if _holds_suite(path, path.relative_to(folder).parts[:-1]):
                suites.append(load(path))
        except DocumentError as error:
            failures.append(_told(error, path, folder))
    return suites, failures


def load_below(path: Path, folder: Path) -> Suite:
    """Return the suite in a file that was found below ``folder``: of a private one no error tells where."""
    try:
        return load(path)
    except DocumentError as error:
        raise _told(error, path, folder) from None


def _is_private(path: Path) -> bool:
    """Return whether a file that holds no sound suite belongs to a private one, as far as can be told."""
    try:
        document, _ = contract.read_json(path)
        meant = isinstance(document, dict) and bool(_OURS & document.keys())
        return contract.is_private(document, SCHEMA if meant else "")
    except DocumentError:
        return path.is_file() and os.access(path, os.R_OK) and contract.may_be_private(path.read_bytes())


def _told(error: DocumentError, path: Path, folder: Path) -> DocumentError:
    """Return an error as it may be told to who named only a folder above the file."""
    if not _is_private(path):
        return error
    told = f"holds a private suite with {len(error.problems)} problem(s); its keeper can validate it"
    untold = SuiteError(folder, [Problem("", told, rule=told)])
    untold.hidden = path
    return untold


def _holds_suite(path: Path, folders: tuple[str, ...]) -> bool:
    """Return whether the file must be a suite. Raises DocumentError when it might be and cannot be read."""
    if NO_SUITES.intersection(folders) or any(name.startswith(".") for name in folders):
        return False
    if path.exists() and not path.is_file():  # a folder or a pipe; a link that leads nowhere cannot be read
        return False
    raw = contract.read_bytes(path)
    named = path.name == SUITE_FILE
    if not named and not any(b'"%s"' % key.encode() in raw for key in SUITE_KEYS):
        return False  # other JSON, sound or not, is no business of ours
    document, _ = contract.parse_bytes(raw, path)
    return named or (isinstance(document, dict) and document.keys() >= SUITE_KEYS)


def select(suite: Suite, *, archetype: str | None = None, case_ids: Iterable[str] = ()) -> tuple[Case, ...]:
    """Return the cases of one archetype (exact match) and of these ids; nothing asked means all."""
    wanted = set(case_ids)
    unknown = wanted - {case.id for case in suite.cases}
    if unknown:
        raise UsageError(f"unknown case {sorted(unknown)[0]!r}", path=suite.path, field="--case")
    archetypes = sorted({case.archetype for case in suite.cases if case.archetype})
    if archetype is not None and archetype not in archetypes:
        known = "" if suite.is_private else f"; known: {', '.join(archetypes) or 'none'}"
        raise UsageError(f"unknown archetype {archetype!r}{known}", path=suite.path, field="--archetype")
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
