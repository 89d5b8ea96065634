"""How a suite is put together: what counts more than it seems, twice, or not at all; what its tier promises."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from evalstats import contract
from evalstats.contract import CaseKind, Tier
from evalstats.contract import ExpectationType as Type
from evalstats.contract.json_text import escape
from evalstats.governance.lint.findings import Code, Finding
from evalstats.governance.lint.reading import Reading
from evalstats.suite import EXPECTATION_IDS

CANONICAL_DIMENSIONS = (
    "correctness", "process_adherence", "artifact_quality", "runtime_compatibility", "efficiency", "safety",
    "learning_closure",
)  # fmt: skip
KNOWN_DOMAINS = (
    "behavioral", "cli", "docs", "goals", "hook", "lift", "mixed", "process", "quality", "repository",
    "retrieval", "rpi", "runtime", "scenario", "search", "security", "skill",
)  # fmt: skip
MODEL_RUNTIMES = ("claude", "codex", "openai")
INPUTS = {"shell", "argv", "command", "args", "cwd", "stdin", "env", EXPECTATION_IDS}
UNEVEN = (
    1.25  # share of expectations over share of cases, or its inverse, from which a weight is worth a word
)

_VALUE, _TARGET = frozenset({"value"}), frozenset({"target"})
_READ = {
    Type.EXIT_CODE: _VALUE,
    Type.STDOUT_CONTAINS: _VALUE,
    Type.STDERR_CONTAINS: _VALUE,
    Type.STDOUT_CONTAINS_AUTO_DETECT: _VALUE,
    Type.FILE_EXISTS: _TARGET,
    Type.FILE_ABSENT: _TARGET,
    Type.SCORE_AT_LEAST: frozenset({"target", "threshold", "value"}),
    Type.JUDGE: frozenset({"target", "threshold", "value"}),
    Type.RESOURCE_PRESENT: _VALUE,
    Type.NO_RESOURCE: _VALUE,
    Type.CITES_CARD: _VALUE,
    Type.CITES_RECIPE: _VALUE,
    Type.CITES_PATH: _VALUE,
    Type.IMPORT_SYNTAX_MATCH: _VALUE,
}  # all others read target and value
_STREAM_OF = {Type.STDOUT_CONTAINS: "stdout", Type.STDERR_CONTAINS: "stderr"}  # a target that says it again


@dataclass(frozen=True, slots=True, kw_only=True)
class ArchetypeWeight:
    """How much of a suite one archetype is: in cases, and in required expectations."""

    archetype: str
    cases: int
    expectations: int
    share_of_cases: float
    share_of_expectations: float


def weights(reading: Reading) -> tuple[ArchetypeWeight, ...]:
    """Return the weight of each archetype, in the order of the suite; none where the suite has none."""
    cases: dict[str, int] = defaultdict(int)
    expectations: dict[str, int] = defaultdict(int)
    for case in reading.suite.cases:
        if case.archetype is not None:
            cases[case.archetype] += 1
            expectations[case.archetype] += sum(e.required for e in case.expectations)
    all_cases, all_expectations = sum(cases.values()), sum(expectations.values()) or 1
    return tuple(
        ArchetypeWeight(
            archetype=name,
            cases=n,
            expectations=expectations[name],
            share_of_cases=n / all_cases,
            share_of_expectations=expectations[name] / all_expectations,
        )
        for name, n in cases.items()
    )


def hidden_weights(reading: Reading) -> Iterator[Finding]:
    """Yield the archetypes that weigh more, or less, over expectations than over cases."""
    first = {case.archetype: number for number, case in reversed(list(enumerate(reading.suite.cases)))}
    for weight in weights(reading):
        ratio = weight.share_of_expectations / weight.share_of_cases
        if not 1 / UNEVEN <= ratio <= UNEVEN:
            what = (
                f"its archetype holds {weight.share_of_expectations:.0%} of the expectations ({weight.expectations})"
                f" but {weight.share_of_cases:.0%} of the cases ({weight.cases})"
            )
            number = first[weight.archetype]
            yield reading.finding(Code.HIDDEN_WEIGHT, what, "/archetype", case=number)


def duplicates(reading: Reading) -> Iterator[Finding]:
    """Yield the cases that ask and expect exactly what an earlier one does."""
    seen: dict[str, int] = {}
    kept = ("kind", "prompt", "runtime", "fixtures", "expectations")
    for number, case in enumerate(reading.suite.document["cases"]):
        content = {key: case[key] for key in kept if key in case}
        content["inputs"] = {k: v for k, v in case.get("inputs", {}).items() if k != EXPECTATION_IDS}
        first = seen.setdefault(contract.canonical_digest(content), number)
        if first != number:
            what = f"asks and expects exactly what {reading.in_file(f'/cases/{first}')} does"
            yield reading.finding(Code.DUPLICATE_CASE, what, case=number)


def tiers(reading: Reading) -> Iterator[Finding]:
    """Yield what does not go with the tier of the suite."""
    suite = reading.suite
    if suite.tier is Tier.LIVE and suite.trials_per_case == 1:
        yield reading.finding(Code.SINGLE_TRIAL, "a live suite with one trial per case", "/trials/per_case")
    if suite.tier is not Tier.DETERMINISTIC:
        return
    if suite.environment.get("network") == "required":
        what = "a deterministic suite cannot require the network"
        yield reading.finding(Code.NEEDS_NETWORK, what, "/environment/network")
    for number, case in enumerate(suite.cases):
        if case.runtime in MODEL_RUNTIMES:
            what = "a case of a deterministic suite needs a model"
            yield reading.finding(Code.NEEDS_MODEL, what, "/runtime", case=number)


def words(reading: Reading) -> Iterator[Finding]:
    """Yield the free words that nobody else uses, and dimensions that cases and scoring do not share."""
    suite = reading.suite
    if suite.document["domain"] not in KNOWN_DOMAINS:
        what = f"an unknown domain; known: {', '.join(KNOWN_DOMAINS)}"
        yield reading.finding(Code.UNKNOWN_DOMAIN, what, "/domain")
    if reading.knows_dimensions:
        yield from _dimensions(reading)


def _dimensions(reading: Reading) -> Iterator[Finding]:
    suite = reading.suite
    scored = [dimension.name for dimension in suite.dimensions]
    carried = {name for case in suite.cases for name in case.dimensions}
    for number, name in enumerate(scored):
        pointer = f"/scoring/dimensions/{number}/name"
        if name not in CANONICAL_DIMENSIONS:
            yield reading.finding(Code.UNKNOWN_DIMENSION, "not one of the canonical dimensions", pointer)
        if name not in carried:
            what = "no case carries this dimension: its weight and threshold never count"
            yield reading.finding(Code.EMPTY_DIMENSION, what, pointer)
    for number, case in enumerate(suite.cases):
        for index, name in enumerate(case.dimensions):
            if name not in scored:
                what = "scoring does not name this dimension: here it never counts"
                yield reading.finding(Code.UNSCORED_DIMENSION, what, f"/dimensions/{index}", case=number)


def unused(reading: Reading) -> Iterator[Finding]:
    """Yield the fields that nothing reads; of a field that many cases share, the first."""
    document = reading.suite.document
    if "critical_threshold" in document["scoring"]:
        what = "nothing reads it: a critical case that fails fails the run"
        yield reading.finding(Code.UNUSED_FIELD, what, "/scoring/critical_threshold")
    if not any(e.type is Type.JUDGE for case in reading.suite.cases for e in case.expectations):
        for pointer in ("/judge", "/trials/judge_repeats"):
            section, _, key = pointer[1:].partition("/")
            if section in document and (not key or key in document[section]):
                yield reading.finding(Code.UNUSED_FIELD, "no expectation asks a judge", pointer)
    yield from _unused_in_cases(reading)


def _unused_in_cases(reading: Reading) -> Iterator[Finding]:
    places: dict[tuple[str, str], list[tuple[int, str]]] = defaultdict(list)
    for number, case in enumerate(reading.suite.document["cases"]):
        for key, pointer, what in _unread(case):
            places[key, what].append((number, pointer))
    for (_, what), found in places.items():
        number, pointer = found[0]
        times = f" ({len({n for n, _ in found})} cases)" if len(found) > 1 else ""
        yield reading.finding(Code.UNUSED_FIELD, what + times, pointer, case=number)


def _unread(case: dict[str, Any]) -> Iterator[tuple[str, str, str]]:
    """Yield (what is alike, pointer within the case, why) for each field of a case that nothing reads."""
    is_command, inputs = case["kind"] == CaseKind.COMMAND, case.get("inputs", {})
    if is_command and "prompt" in case:
        yield "prompt", "/prompt", "a command case is not given its prompt"
    # A runtime that a case names reads inputs of its own, and it can be anybody's.
    if is_command or (case["kind"] == CaseKind.RUNTIME_PROMPT and "runtime" not in case):
        for key in sorted(inputs.keys() - INPUTS):
            yield f"inputs.{key}", f"/inputs/{escape(key)}", "nothing reads this input"
    for key in sorted(_shadowed(inputs)):
        yield f"shadowed {key}", f"/inputs/{key}", "another command of the case goes before it"
    for index, expectation in enumerate(case["expectations"]):
        kind = Type(expectation["type"])
        unread = {"target", "value", "threshold"} - _READ.get(kind, _TARGET | _VALUE)
        for key in sorted(unread & expectation.keys()):
            if key != "target" or expectation[key] != _STREAM_OF.get(kind):
                yield f"{kind}.{key}", f"/expectations/{index}/{key}", f"{kind} does not read its {key}"


def _shadowed(inputs: dict[str, Any]) -> frozenset[str]:
    """Return the parts of a command that another goes before: shell, then argv, then command with args."""
    given = frozenset({"shell", "argv", "command", "args"} & inputs.keys())
    if "shell" in given:
        return given - {"shell"}
    if "argv" in given:
        return given - {"argv"}
    return given - {"command", "args"} if "command" in given else given
