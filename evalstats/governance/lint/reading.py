"""A suite file as lint reads it: all that can be understood, even of a document that breaks its schema.

What breaks the schema is left out, part by part, and said; the rest is linted as it stands. Findings point into
the file, so each part remembers where it came from.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from evalstats import contract
from evalstats import suite as suites
from evalstats.contract import Visibility
from evalstats.errors import Problem, SuiteError
from evalstats.governance.lint.findings import Code, Finding
from evalstats.suite import Suite, lift_suites

Fits = Callable[[dict[str, Any]], bool]
Place = tuple[int, tuple[int, ...]]  # of a case in the file, and of each of its expectations there

_SHELL: dict[str, Any] = {
    "schema_version": 1,
    "id": "unnamed",
    "name": "(unnamed)",
    "domain": "mixed",
    "visibility": Visibility.PRIVATE_HOLDOUT.value,  # until the file says otherwise, nothing of it is shown
    "tier": "headless",
    "scoring": {
        "aggregate_threshold": 0,
        "dimensions": [{"name": "correctness", "weight": 1, "threshold": 0}],
    },
    "baseline_policy": {"mode": "none"},
}
_CASE = {"id": "unnamed", "title": "-", "kind": "artifact_check", "objective": "-"}
_LIFT_SHELL: dict[str, Any] = {"skill_name": "unnamed"}
_PROMPT = {"id": "unnamed", "prompt": "-"}


@dataclass(frozen=True, kw_only=True)
class Reading:
    """What was understood of a suite file. ``places`` says where each case of ``suite`` stands in it."""

    suite: Suite
    problems: tuple[Problem, ...]
    places: tuple[Place, ...]
    is_lift_suite: bool

    @property
    def is_private(self) -> bool:
        """Return whether nothing of the suite's content may be shown."""
        return self.suite.visibility is Visibility.PRIVATE_HOLDOUT

    @property
    def knows_dimensions(self) -> bool:
        """Return whether the dimensions are the file's own, not those that stand in for broken ones."""
        stand_in = self.suite.document["scoring"]["dimensions"] == _SHELL["scoring"]["dimensions"]
        return not (self.problems and stand_in)

    @cached_property
    def _lines(self) -> dict[str, int]:
        return contract.pointer_lines(self.suite.raw.decode("utf-8-sig"))

    def finding(self, code: Code, what: str, pointer: str = "", *, case: int | None = None) -> Finding:
        """Return a finding at ``pointer``, which is relative to the ``case``-th of the suite if one is given.

        The pointer is that of the parts understood; the finding's is that of the file.
        """
        if case is not None:
            pointer = f"/cases/{case}{pointer}"
        pointer = self.in_file(pointer)
        nearest = pointer
        while nearest and nearest not in self._lines:
            nearest = nearest.rpartition("/")[0]
        line, named = self._lines.get(nearest), None if case is None else self.suite.cases[case].id
        if self.is_private:
            pointer, named = contract.discreet_pointer(pointer), None
        return Finding(code=code, what=what, pointer=pointer, line=line, case=named)

    def in_file(self, pointer: str) -> str:
        """Return where in the file stands what ``pointer`` names in the suite as it was understood."""
        steps = pointer.split("/")
        if steps[1:2] == ["cases"] and len(steps) > 2:
            case, expectations = self.places[int(steps[2])]
            steps[2] = str(case)
            if steps[3:4] == ["expectations"] and len(steps) > 4:
                steps[4] = str(expectations[int(steps[4])])
        pointer = "/".join(steps)
        return lift_suites.source_pointer(pointer) if self.is_lift_suite else pointer

    def expectations(self) -> Iterator[tuple[int, int, suites.Case, suites.Expectation]]:
        """Yield (number of the case, number of the expectation, case, expectation) of all required ones."""
        for case_number, case in enumerate(self.suite.cases):
            for number, expectation in enumerate(case.expectations):
                if expectation.required:
                    yield case_number, number, case, expectation


def read(path: Path, *, root: Path | None = None) -> Reading:
    """Read what can be understood of a suite file.

    Raises DocumentError when it is no JSON, and SuiteError when it is no suite, or not one case of it makes
    sense.
    """
    path = suites.find(path)
    source = suites.read(path)
    document, places = source.document, None
    if source.problems:
        document, places = _understood(source.document, source.is_lift_suite)
        if not places:
            raise SuiteError(path, source.problems)
    folder = (root or suites.repository_root(path)).resolve()
    suite = suites.of_document(document, path, raw=source.raw, root=folder)
    return Reading(
        suite=suite,
        problems=source.problems,
        places=places or tuple((i, tuple(range(len(c.expectations)))) for i, c in enumerate(suite.cases)),
        is_lift_suite=source.is_lift_suite,
    )


def _understood(document: dict[str, Any], is_lift_suite: bool) -> tuple[dict[str, Any], tuple[Place, ...]]:
    """Return a valid document made of the valid parts of this one, and where its cases stand."""
    if is_lift_suite:
        kept, places = _kept(document, lift_suites.SCHEMA, "evals", _LIFT_SHELL, _PROMPT)
        return (lift_suites.converted(kept) if places else {}), places
    return _kept(document, "eval-suite.v1", "cases", _SHELL, _CASE)


def _kept(
    document: dict[str, Any], schema: str, items: str, shell: dict[str, Any], item: dict[str, Any]
) -> tuple[dict[str, Any], tuple[Place, ...]]:
    check = {"type": "manual_review"} if items == "cases" else {"kind": "manifest_check", "value": "-"}
    sound = {**shell, items: [{**item, "expectations": [check]}]}

    def fits(part: dict[str, Any]) -> bool:
        return not contract.problems({**sound, **part}, schema)

    def item_fits(part: dict[str, Any]) -> bool:
        return fits({items: [{**item, "expectations": [check], **part}]})

    kept = {**shell, **_sound_keys({k: v for k, v in document.items() if k != items}, fits, shell)}
    found, places = [], list[Place]()
    entries = document.get(items)
    for number, entry in enumerate(entries if isinstance(entries, list) else []):
        expectations = entry.get("expectations") if isinstance(entry, dict) else None
        listed = list(enumerate(expectations)) if isinstance(expectations, list) else []
        sound_ones = [(i, e) for i, e in listed if item_fits({"expectations": [e]})]
        if sound_ones:
            rest = {key: value for key, value in entry.items() if key != "expectations"}
            whole = {**item, "id": f"case-{number + 1}", **_sound_keys(rest, item_fits, item)}
            found.append({**whole, "expectations": [e for _, e in sound_ones]})
            places.append((number, tuple(i for i, _ in sound_ones)))
    return {**kept, items: found}, tuple(places)


def _sound_keys(part: dict[str, Any], fits: Fits, shell: dict[str, Any]) -> dict[str, Any]:
    """Return what of a part keeps the schema: whole values, or of an object the keys that do."""
    kept: dict[str, Any] = {}
    for key, value in part.items():
        if fits({key: value}):
            kept[key] = value
        elif isinstance(value, dict):
            inner = dict(shell.get(key, {}))
            for name, content in value.items():
                if fits({key: {**inner, name: content}}):
                    inner[name] = content
            if fits({key: inner}):
                kept[key] = inner
    return kept
