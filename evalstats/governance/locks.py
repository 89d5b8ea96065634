"""The lock of a quarter: which cases its headlines are made of.

A lock freezes the cases of the pool ``locked``, with digests of every field and file they stand on, so that a
change can be named. Whatever is not in it is a candidate, and enters no headline until the next lock. A private
suite leaves digests only: neither its name nor its cases can be read from a lock.
"""

from __future__ import annotations

import contextlib
import os
import re
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from evalstats import contract, journal
from evalstats import suite as suites
from evalstats.contract import Visibility
from evalstats.errors import DocumentError, Problem, UsageError
from evalstats.suite import Suite
from evalstats.suite.fixtures import arm_files, file_digest, fixtures_of, named_files

if TYPE_CHECKING:
    import pandas as pd

    from evalstats.store import Store

FOLDER = "locks"
LOCKED = "locked"
POOLS = (LOCKED, "candidate")
# The policy of a private suite holds so few words that its digest could be guessed.
PRIVATE_LAYERS = ("raw", "canonical", "scoring", "metadata")

Digests = Mapping[str, str | None]


@dataclass(frozen=True, slots=True, kw_only=True)
class FrozenCase:
    """What a case was: digests of its fields and of the files it names for itself.

    ``any_pool`` holds the ``case_hash`` under every word for its pool: a case that is admitted or retired asks
    the same as before, so trials from before still count.
    """

    id: str
    pool: str
    case_hash: str
    any_pool: tuple[str, ...]
    fields: Digests
    files: Digests


@dataclass(frozen=True, slots=True, kw_only=True)
class FrozenSuite:
    """What a suite was: its five digests, those of its fields and shared files, and its cases by id."""

    id: str
    hashes: Mapping[str, str]
    fields: Digests
    files: Digests
    cases: Mapping[str, FrozenCase]


@dataclass(frozen=True, slots=True, kw_only=True)
class Lock:
    """A lock as read from its file. ``private`` holds the digests of private suites, unnamed."""

    name: str
    sha256: str
    suites: Mapping[str, FrozenSuite]
    private: tuple[Mapping[str, str], ...]

    def suite(self, suite_id: str) -> FrozenSuite:
        """Return one suite of the lock. Raises UsageError naming those that are in it."""
        if suite_id not in self.suites:
            known = ", ".join(self.suites) or "none"
            raise UsageError(f"suite {suite_id!r} is not in lock {self.name}; in it: {known}")
        return self.suites[suite_id]


def frozen(suite: Suite) -> FrozenSuite:
    """Return what a suite is today, with all its cases, in the form of a lock."""
    document, hashes = suite.document, suites.case_hashes(suite)
    cases = [_frozen_case(suite, case, hashes[case["id"]]) for case in document["cases"]]
    shared = {**document, "cases": []}
    return FrozenSuite(
        id=suite.id,
        hashes=suites.hashes(suite),
        fields=_fields({key: value for key, value in document.items() if key != "cases"}),
        files={**_files(suite, named_files(shared)), **_arm_files(suite)},
        cases={case.id: case for case in sorted(cases, key=lambda case: case.id)},
    )


def _frozen_case(suite: Suite, case: dict[str, Any], case_hash: str) -> FrozenCase:
    files = _files(suite, fixtures_of(case, ""))
    bare = {key: value for key, value in case.items() if key != "pool"}
    pools: list[dict[str, str]] = [{}, *({"pool": word} for word in POOLS)]
    return FrozenCase(
        id=case["id"],
        pool=case.get("pool", LOCKED),
        case_hash=case_hash,
        any_pool=tuple(
            sorted(contract.canonical_digest({"case": bare | p, "content": files}) for p in pools)
        ),
        fields=_fields(case),
        files=files,
    )


def _fields(owner: Mapping[str, Any]) -> dict[str, str]:
    return {key: contract.canonical_digest(value) for key, value in owner.items()}


def _files(suite: Suite, named: list[tuple[str, dict[str, Any]]]) -> dict[str, str | None]:
    return {file["path"]: file_digest(suite.root / file["path"]) for _, file in named}


def _arm_files(suite: Suite) -> dict[str, str | None]:
    names = [name for _, name in arm_files(suite.document) if suites.is_inside_path(name)]
    return {name: suites.tree_digest(suite.root / name) for name in names}


def is_private(suite: Suite) -> bool:
    """Return whether nothing that names the suite may leave."""
    return suite.visibility is Visibility.PRIVATE_HOLDOUT


def create(name: str, chosen: Sequence[Suite], *, evaluator: bool = False) -> dict[str, Any]:
    """Return the lock document (schema ``lock.v1``) of these suites: the same suites give the same document.

    Raises UsageError when there is nothing to lock, when two suites share an id, or when a private suite is
    given without ``evaluator``; SuiteError when a fixture is missing or is not what its digest says.
    """
    if not re.fullmatch(contract.schema("lock.v1")["$defs"]["lock_name"]["pattern"], name):
        raise UsageError("a lock is named with letters, digits, dashes and underscores, e.g. 2026Q4")
    if not chosen:
        raise UsageError("no suite to lock; name some, or give their folder with --suites")
    private = [suite for suite in chosen if is_private(suite)]
    if private and not evaluator:
        raise UsageError("a private suite enters a lock only for --role evaluator", field="--role")
    for suite in chosen:
        _check_files(suite)
    public = today(chosen)
    digests = sorted(({layer: suites.hashes(s)[layer] for layer in PRIVATE_LAYERS} for s in private), key=str)
    document = {
        "schema": "lock.v1",
        "name": name,
        "suites": [_entry(suite) for suite in public.values()],
        "private": digests,
    }
    document["sha256"] = contract.canonical_digest(document)
    contract.validate(document, "lock.v1")
    return document


def today(present: Sequence[Suite]) -> dict[str, FrozenSuite]:
    """Return what the public ones of these suites are now, by id. Raises UsageError when two share an id."""
    found: dict[str, FrozenSuite] = {}
    for suite in sorted((s for s in present if not is_private(s)), key=lambda suite: suite.id):
        if suite.id in found:
            raise UsageError(f"suite id {suite.id!r} is used twice; rename one", path=suite.path)
        found[suite.id] = frozen(suite)
    return found


def _check_files(suite: Suite) -> None:
    if not is_private(suite):
        suites.check_fixtures(suite)
    elif suites.fixture_problems(suite):
        raise UsageError("a private suite has missing or changed fixtures; its keeper must mend it first")


def _entry(suite: FrozenSuite) -> dict[str, Any]:
    cases = [asdict(case) for case in suite.cases.values() if case.pool == LOCKED]
    return {**asdict(suite), "cases": cases}


def write(document: Mapping[str, Any], folder: Path) -> Path:
    """Write a lock into ``folder`` and return its path; of two at once one wins, and no lock is overwritten."""
    path = folder / f"{document['name']}.json"
    temporary = folder / f".{path.name}.{os.getpid()}.new"
    if not folder.is_dir() and folder.exists():
        raise UsageError("is a file, and locks lie in a folder of that name; move it away", path=folder)
    try:
        folder.mkdir(parents=True, exist_ok=True)
        journal.write_synced(temporary, contract.canonical(document) + b"\n")
        os.link(temporary, path)  # unlike a rename, it fails where there is a file already
    except FileExistsError:
        raise UsageError(
            "is there already, and a lock never changes; choose another name", path=path
        ) from None
    except OSError as error:
        raise UsageError(f"cannot be written: {error.strerror}", path=path) from None
    finally:
        with contextlib.suppress(OSError):
            temporary.unlink()
    return path


def find(name: str | None, folder: Path) -> Path:
    """Return the file of the lock called ``name``: a path, or a lock of the suites in ``folder``; None: the last."""
    known = sorted((folder / FOLDER).glob("[!.]*.json"))
    if name is None and known:
        return known[-1]
    given = Path(name or "")
    path = given if given.suffix == ".json" else folder / FOLDER / f"{name}.json"
    if name is None or not path.is_file():
        names = ", ".join(path.stem for path in known) or "none; make one with `evalstats lock create NAME`"
        raise UsageError(f"no such lock; known: {names}", path=path if name else folder / FOLDER)
    return path


def read(path: Path) -> Lock:
    """Return the lock in ``path``. Raises DocumentError when it is no lock, or was changed since it was made."""
    document, text = contract.read_json(path)
    contract.validate(document, "lock.v1", path=path, text=text)
    body = {key: value for key, value in document.items() if key != "sha256"}
    if contract.canonical_digest(body) != document["sha256"]:
        problem = "the lock was changed after it was made; take it from the history, or make a new one"
        raise DocumentError(path, contract.with_lines([Problem("/sha256", problem)], text))
    if path.stem != document["name"]:
        raise DocumentError(path, [Problem("/name", f"is lock {document['name']} under another name", 1)])
    return Lock(
        name=document["name"],
        sha256=document["sha256"],
        suites={entry["id"]: _frozen_suite(entry) for entry in document["suites"]},
        private=tuple(document["private"]),
    )


def _frozen_suite(entry: dict[str, Any]) -> FrozenSuite:
    cases = [FrozenCase(**{**case, "any_pool": tuple(case["any_pool"])}) for case in entry["cases"]]
    return FrozenSuite(**{**entry, "cases": {case.id: case for case in cases}})


# --- use -----------------------------------------------------------------------------------------


def case_runs(opened: Store, suite_id: str) -> pd.DataFrame:
    """Return the case table of a suite with ``case_hash``: which version of the case each run tried, if it said."""
    runs = opened.case_runs(suite_id)
    return runs.merge(opened.case_hashes(suite_id), how="left", on=["run_id", "case_id"])


def locked_cases(case_runs: pd.DataFrame, lock: Lock) -> pd.DataFrame:
    """Which rows of a case table may enter a headline? Those of the locked cases of its suites.

    Parameters
    ----------
    case_runs : pandas.DataFrame
        The case table of the store, with ``case_hash`` beside each row, as from `case_runs`.
    lock : Lock
        The lock that the headline is held against.

    Returns
    -------
    pandas.DataFrame
        The rows of locked cases, of all runs. Older runs of another version of the suite are in it;
        `estimates.comparable` leaves them out by their identity.

    Raises
    ------
    UsageError
        The suite is not in the lock, or its newest run tried another version of a locked case, or does not say
        which version it tried.
    """
    import pandas as pd

    kept = []
    for suite_id, rows in case_runs.groupby("suite_id", sort=False):
        cases = lock.suite(str(suite_id)).cases
        of_suite = rows[rows["case_id"].isin(list(cases))]
        _check_newest(of_suite, lock, cases)
        kept.append(of_suite)
    return pd.concat(kept).sort_index().reset_index(drop=True) if kept else case_runs


def _check_newest(rows: pd.DataFrame, lock: Lock, cases: Mapping[str, FrozenCase]) -> None:
    if rows.empty:
        return
    newest = rows.sort_values(["created_at", "run_id"], kind="stable").iloc[-1]["run_id"]
    run = rows[rows["run_id"] == newest]
    if run["case_hash"].isna().any():
        raise UsageError(f"run {newest} recorded no digests of its cases: it cannot be held against a lock")
    tried = zip(run["case_id"], run["case_hash"], strict=True)
    changed = [case_id for case_id, digest in tried if digest not in cases[case_id].any_pool]
    if changed:
        what = f"case {changed[0]!r}" + (f" (and {len(changed) - 1} more)" if changed[1:] else "")
        raise UsageError(
            f"case content or fixture changed: run {newest} tried another {what} than lock {lock.name} holds;"
            " see `evalstats lock verify`"
        )
