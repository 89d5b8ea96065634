"""What a lift report says: what prompts earned without and with a skill, in the two shapes that are in use.

The first holds every expectation of every prompt in both arms. The second, for a dashboard, holds rates by
archetype and some prompts with their expectations in one arm; the passes of the other are rebuilt from its rate.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import Any

from evalstats import contract
from evalstats.contract import ExpectationType
from evalstats.errors import DocumentError, Problem

ROUNDING = 0.005  # of the dashboard's rates, which have two decimals
_PLACEHOLDERS = {"runner-default-model", "<model-name>"}
ARM_KEYS = ("baseline", "with_skill")
_CITED = ("cited_cards", "cited_recipes")


class Shape(StrEnum):
    """Which of the two shapes a report has; the value is the id of its schema."""

    PROMPTS = "lift-report.v1"
    DASHBOARD = "lift-dashboard.v1"


@dataclass(frozen=True, slots=True, kw_only=True)
class LiftExpectation:
    """One expectation in one arm. ``passed`` is None for a manifest check that had no manifest."""

    id: str
    kind: ExpectationType
    passed: bool | None
    detail: str


@dataclass(frozen=True, slots=True, kw_only=True)
class LiftPrompt:
    """One prompt in one arm: how many of ``total`` expectations it met by the source's rule, and which.

    ``expectations`` is empty where the report tells only the rate.
    """

    id: str
    archetype: str
    met: int
    total: int
    expectations: tuple[LiftExpectation, ...] = ()
    tool_calls: int | None = None
    cited_cards: tuple[str, ...] | None = None
    cited_recipes: tuple[str, ...] | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Figures:
    """Rates of both arms and the lift, as a report states them."""

    baseline: float | None
    with_skill: float | None
    lift: float | None


@dataclass(frozen=True, slots=True, kw_only=True)
class LiftReport:
    """A lift report as it was read. ``baseline`` and ``with_skill`` are the prompts it lists in each arm.

    ``declared`` and ``archetypes`` are its own figures; ``prompts_of`` says how many prompts each archetype has,
    where the report does. ``n_prompts`` is how many prompts it says it is about.
    """

    path: Path
    shape: Shape
    n_prompts: int | None
    baseline: tuple[LiftPrompt, ...]
    with_skill: tuple[LiftPrompt, ...]
    declared: Figures
    archetypes: dict[str, Figures]
    prompts_of: dict[str, int]
    generated_at: str | None = None
    model: str | None = None
    registry_version: str | None = None
    cli_version: str | None = None


def read_report(path: Path) -> LiftReport:
    """Read a lift report of either shape. Raises DocumentError with all its problems, each with its line."""
    document, text = contract.read_json(path)
    report, found = report_of(document, path)
    if report is None or found:
        raise DocumentError(path, contract.with_lines(found, text))
    return report


def shape_of(keys: Sequence[str]) -> Shape | None:
    """Return the shape of a document with these top keys; None for another document."""
    given = set(keys)
    if "summary" in given and given & set(ARM_KEYS):
        return Shape.PROMPTS
    return Shape.DASHBOARD if {"lift", "archetypes", "prompts"} <= given else None


def report_of(document: Any, path: Path) -> tuple[LiftReport | None, list[Problem]]:
    """Return the report that a document is, and the problems that forbid to use it."""
    shape = shape_of(list(document) if isinstance(document, dict) else [])
    if shape is None:
        return None, [Problem("", "is no lift report: no summary with arms, and no archetypes with prompts")]
    found = contract.problems(document, shape) or _twice(document, shape)
    if not found:
        return (_of_prompts if shape is Shape.PROMPTS else _of_dashboard)(document, path, found), found
    return None, found


def _twice(document: dict[str, Any], shape: Shape) -> list[Problem]:
    """Return a problem for each prompt, and each of its expectations, that stands twice."""
    found = []
    for key in ARM_KEYS if shape is Shape.PROMPTS else ("prompts",):
        seen = set[str]()
        for index, prompt in enumerate(document.get(key) or []):
            ids = [e["id"] for e in prompt["expectations"]]
            if prompt["id"] in seen or len(ids) > len(set(ids)):
                found.append(Problem(f"/{key}/{index}", "an id stands twice; rename one"))
            seen.add(prompt["id"])
    return found


# --- every expectation of every prompt ------------------------------------------------------------


def _of_prompts(document: dict[str, Any], path: Path, found: list[Problem]) -> LiftReport:
    summary, arms = document["summary"], {key: document.get(key) or [] for key in ARM_KEYS}
    return LiftReport(
        path=path,
        shape=Shape.PROMPTS,
        n_prompts=document.get("eval_count"),
        baseline=tuple(map(_prompt, arms["baseline"])),
        with_skill=tuple(map(_prompt, arms["with_skill"])),
        declared=_figures(summary, "{}_pct"),
        archetypes={n: _figures(f, "{}_pct") for n, f in summary.get("per_archetype", {}).items()},
        prompts_of={},
        generated_at=document.get("generated_at"),
        model=_model(document),
    )


def _figures(section: dict[str, Any], pattern: str) -> Figures:
    names = ("baseline", "with_skill", "lift")
    return Figures(**{name: section.get(pattern.format(name)) for name in names})


def _model(document: dict[str, Any]) -> str | None:
    model = document.get("model")
    return None if model in _PLACEHOLDERS else model


def _prompt(entry: dict[str, Any]) -> LiftPrompt:
    expectations = tuple(map(_expectation, entry["expectations"]))
    return LiftPrompt(
        id=entry["id"],
        archetype=entry["archetype"],
        met=sum(e["passed"] is True for e in entry["expectations"]),
        total=len(expectations),
        expectations=expectations,
    )


def _expectation(entry: dict[str, Any]) -> LiftExpectation:
    kind, detail = ExpectationType(entry["kind"]), entry.get("detail", entry.get("reason", ""))
    unchecked = kind is ExpectationType.MANIFEST_CHECK and "no manifest" in detail.lower()
    return LiftExpectation(
        id=entry["id"], kind=kind, passed=None if unchecked else entry["passed"], detail=detail
    )


# --- rates by archetype, and some prompts ---------------------------------------------------------


def _of_dashboard(document: dict[str, Any], path: Path, found: list[Problem]) -> LiftReport:
    listed: dict[str, list[LiftPrompt]] = {key: [] for key in ARM_KEYS}
    for index, entry in enumerate(document["prompts"]):
        told = "with_skill" if entry.get("with_skill") else "baseline"  # whose expectations are listed
        for key in ARM_KEYS:
            side = entry.get(key)
            if side and side["pass_rate"] is not None:
                prompt = _sided(entry, side, told=key == told)
                listed[key].append(prompt)
                if abs(prompt.met - side["pass_rate"] * prompt.total) > ROUNDING * prompt.total + 1e-9:
                    what = f"is not the rate of a whole number of {prompt.total} expectations"
                    found.append(Problem(f"/prompts/{index}/{key}/pass_rate", what))
    return LiftReport(
        path=path,
        shape=Shape.DASHBOARD,
        n_prompts=document["prompt_count"],
        baseline=tuple(listed["baseline"]),
        with_skill=tuple(listed["with_skill"]),
        declared=_figures(_with_rates(document), "{}"),
        archetypes={a["archetype"]: _figures(_with_rates(a), "{}") for a in document["archetypes"]},
        prompts_of={a["archetype"]: a["prompt_count"] for a in document["archetypes"]},
        generated_at=document.get("date"),
        model=_model(document),
        registry_version=document.get("registry_version", document.get("bundle_version")),
        cli_version=document.get("cli_version"),
    )


def _with_rates(section: dict[str, Any]) -> dict[str, Any]:
    return {key.removesuffix("_pass_rate"): value for key, value in section.items()}


def _sided(entry: dict[str, Any], side: dict[str, Any], *, told: bool) -> LiftPrompt:
    """Return one arm of a prompt; where its expectations are not told, their number is that of the other arm."""
    whole, rate = _prompt(entry), side["pass_rate"]
    cited = {key: tuple(side[key]) if isinstance(side.get(key), list) else None for key in _CITED}
    return LiftPrompt(
        id=whole.id,
        archetype=whole.archetype,
        met=whole.met if told else round(rate * whole.total),
        total=whole.total,
        expectations=whole.expectations if told else (),
        tool_calls=side.get("tool_calls"),
        **cited,
    )
