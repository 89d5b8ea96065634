"""What changed between two versions of a report: what went in, what came out, and what it ran on."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from evalstats import contract
from evalstats.report import bundle, tables

Document = Mapping[str, Any]
GROUPS = {
    "parameters": "Parameters",
    "inputs": "Inputs",
    "verdict": "Finding, headline and runs",
    "estimates": "Estimates",
    "tests": "Tests",
    "versions": "Code and packages",
}
_ESTIMATED = frozenset(
    "estimate std_error conf_low conf_high level n_cases n_clusters n_trials caveats".split()
)  # the rest of a row says which estimate it is
_TESTED = frozenset("statistic p_value caveats".split())
_ABSENT = "(absent)"


@dataclass(frozen=True, slots=True)
class Change:
    """One thing that differs: in which group, what, and how it reads in either report."""

    group: str
    what: str
    before: str
    after: str

    def __str__(self) -> str:
        return f"{self.what}: {self.before} → {self.after}"


@dataclass(frozen=True, slots=True)
class Difference:
    """Everything that differs between two versions, by group."""

    before: str
    after: str
    changes: tuple[Change, ...]

    def groups(self) -> dict[str, list[Change]]:
        """Return title -> its changes, for the groups that have any."""
        found = {title: [c for c in self.changes if c.group == group] for group, title in GROUPS.items()}
        return {title: changes for title, changes in found.items() if changes}

    def as_record(self) -> dict[str, Any]:
        """Return the fields as JSON holds them."""
        changes = [asdict(change) for change in self.changes]
        return {"before": self.before, "after": self.after, "changes": changes}


def diff(before: Path, after: Path) -> Difference:
    """Return what changed from one version to another, of the same or of another report.

    An estimate is the same one when all that names it agrees: its grouping keys, estimand, population and method.
    Whether a difference of two estimates is real is not asked here; ``evalstats compare`` asks it.
    """
    old, new = (bundle.read_report(folder) for folder in (before, after))
    was, now = (contract.read_json(folder / bundle.MANIFEST)[0] for folder in (before, after))
    changes = [
        *_values("parameters", was["parameters"], now["parameters"]),
        *_values("inputs", _inputs(old, was), _inputs(new, now)),
        *_values("verdict", _verdict(old), _verdict(new)),
        *_runs(old["series"], new["series"]),
        *_records("estimates", old["estimates"], new["estimates"], _ESTIMATED, _estimate),
        *_records("tests", old["tests"], new["tests"], _TESTED, _test),
        *_values("versions", _versions(was), _versions(now)),
    ]
    return Difference(_name(before), _name(after), tuple(changes))


def _name(folder: Path) -> str:
    return "/".join(folder.resolve().parts[-3:])


def _values(group: str, old: Document, new: Document) -> Iterator[Change]:
    for name in dict.fromkeys((*old, *new)):
        was, now = (side.get(name, _ABSENT) for side in (old, new))
        if was != now:
            yield Change(group, name, _text(was), _text(now))


def _text(value: object) -> str:
    return tables.visible(value if isinstance(value, str) and value else repr(value))


def _inputs(report: Document, manifest: Document) -> dict[str, Any]:
    data = report["data"]
    named = {f"digest of {name}": digest[:12] for name, digest in manifest["inputs"].items()}
    scoring = " ".join(digest[:12] for digest in manifest["suite_scoring"])
    counts = {name.removeprefix("n_"): data[name] for name in ("n_runs", "n_cases", "n_trials", "usable")}
    lost = {f"excluded, {why}": n for why, n in data["excluded"].items()}
    lock = data.get("lock", {}).get("sha256", "none")[:12]
    return {**counts, **lost, "lock": lock, "suite (scoring hash)": scoring, **named}


def _verdict(report: Document) -> dict[str, str]:
    cards = {h["label"]: ", ".join(filter(None, (h["value"], h.get("detail")))) for h in report["headline"]}
    return {"finding": report["finding"], **cards}


def _runs(old: list[Document], new: list[Document]) -> Iterator[Change]:
    """Yield the runs that came, went or scored differently: what a gate judges."""
    was, now = ({run["run_id"]: run for run in series} for series in (old, new))
    for run_id in dict.fromkeys((*was, *now)):
        texts = [_run(side.get(run_id)) for side in (was, now)]
        if was.get(run_id) != now.get(run_id):
            yield Change("verdict", f"run {run_id}", *texts)


def _run(run: Document | None) -> str:
    if run is None:
        return _ABSENT
    score = tables.missing() if run["score"] is None else tables.number(run["score"], 4)
    return f"score {score}, {run['usable']} of {run['n_trials']} usable"


def _records(
    group: str,
    old: list[Document],
    new: list[Document],
    numbers: frozenset[str],
    write: Callable[[Document, int], str],
) -> Iterator[Change]:
    was, now = (_by_key(rows, numbers) for rows in (old, new))
    for key in dict.fromkeys((*was, *now)):
        before, after = was.get(key), now.get(key)
        if before != after:
            yield Change(group, ", ".join(key), *_told_apart(before, after, write))


def _by_key(rows: list[Document], numbers: frozenset[str]) -> dict[tuple[str, ...], Document]:
    """Return what each row is about, in its own order: the grouping keys first; one that stands twice is numbered."""
    found: dict[tuple[str, ...], Document] = {}
    for row in rows:
        key = tuple(str(value) for name, value in row.items() if name not in numbers and value is not None)
        again = sum(known[: len(key)] == key for known in found)
        found[(*key, f"no. {again + 1}") if again else key] = row
    return found


def _told_apart(
    before: Document | None, after: Document | None, write: Callable[[Document, int], str]
) -> tuple[str, str]:
    """Return both as text, with as many digits as it takes to see the difference."""
    texts = ("", "")
    for digits in (3, 6, 17):
        texts = tuple(_ABSENT if row is None else write(row, digits) for row in (before, after))  # type: ignore[assignment]
        if texts[0] != texts[1]:
            break
    return texts


def _estimate(row: Document, digits: int) -> str:
    shown = tables.estimate(row, lambda value: tables.number(value, digits))
    level = tables.percent(row["level"])
    return f"{shown}, {level}, {tables.some(row['n_cases'], 'case')}, {tables.some(row['n_trials'], 'trial')}"


def _test(row: Document, digits: int) -> str:
    if row["p_value"] is None:
        return tables.missing(tables.reason_of(row))
    return f"p {tables.number(row['p_value'], digits)}, statistic {tables.number(row['statistic'], digits)}"


def _versions(manifest: Document) -> dict[str, str]:
    own = {
        "notebook": f"{manifest['notebook']['name']} {manifest['notebook']['sha256'][:12]}",
        "evalstats": manifest["code_sha256"][:12],
        "python": manifest["python"],
    }
    return {**own, **manifest["packages"]}
