"""A night for a person, for the page of a CI job (Markdown), and as a test report (JUnit XML)."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from evalstats import gate
from evalstats.contract import GateRule, GateVerdict, Tier
from evalstats.gate import pages
from evalstats.gate.checks import Check
from evalstats.gate.verdict import GateResult
from evalstats.nightly.record import CANNOT, INCONCLUSIVE, REGRESSION, Night, Part

HEADER = ("suite", "counts", "runs", "verdict", "drop", "false block", "sees from", "seconds")
WORDS = {0: "pass", REGRESSION: "regression", CANNOT: "cannot gate", INCONCLUSIVE: "inconclusive"}
_UNKNOWN, _NOT_JUDGED = "–", "not judged"
_BY_HAND = "The date was set by hand: this is a rehearsal, not history."


def sentences(night: Night) -> list[str]:
    """Return the night as lines for a person: the word, and of each suite that did not pass, why."""
    head = f"NIGHT OF {night.date}: {word(night).upper()}"
    lines = [head, *([f"  {_BY_HAND}"] if night.simulated else [])]
    for part in _parts(night):
        lines += [f"  {part.suite}: {reason}" for reason in _reasons(part)]
    return lines


def word(night: Night) -> str:
    """Return how the night ended, as one says it."""
    return WORDS[night.exit_code]


def rows(night: Night) -> list[tuple[str, ...]]:
    """Return one row a suite under ``HEADER``, as text."""
    return [_row(part) for part in _parts(night)]


def summary(night: Night) -> str:
    """Return the night as Markdown for the page of a CI job: all suites at a glance, then each verdict."""
    lines = [f"# Night of {night.date}: {word(night)}", "", *([_BY_HAND, ""] if night.simulated else [])]
    lines += [*pages.table(HEADER, rows(night)), ""]
    for part in _parts(night):
        lines += [f"- {pages.plain(f'{part.suite}: {reason}')}" for reason in _reasons(part)]
    lines += [f"- exit code: {night.exit_code}", ""]
    for part in _parts(night):
        result = _result(part)
        if result is not None:
            lines += [gate.summary(result)]
    return "\n".join(lines)


def junit(night: Night) -> str:
    """Return the night as JUnit XML: one test suite for each suite; what is only advice is skipped."""
    inside = [line for part in _parts(night) for line in _testsuite(part)]
    return "\n".join(['<?xml version="1.0" encoding="UTF-8"?>', "<testsuites>", *inside, "</testsuites>", ""])


# --- one suite -----------------------------------------------------------------------------------


def _parts(night: Night) -> list[Part]:
    return [night.parts[name] for name in sorted(night.parts)]


def _row(part: Part) -> tuple[str, ...]:
    told = part.judged or {}
    forms = (("drop", "+.3f"), ("false_block", ".1%"), ("mde", ".3f"))
    numbers = [_UNKNOWN if told.get(name) is None else format(told[name], form) for name, form in forms]
    counts = "yes" if part.blocks else "advisory"
    seconds = f"{sum(part.seconds.values()):.1f}"
    return (part.suite, counts, str(len(part.runs)), _word(part), *numbers, seconds)


def _word(part: Part) -> str:
    return _NOT_JUDGED if _is_open(part) else WORDS[part.found]


def _is_open(part: Part) -> bool:
    """Return whether nothing is known yet: a step was left out, and nothing failed."""
    return part.judged is None and (part.gated or not part.runs) and not part.found


def _reasons(part: Part) -> Iterator[str]:
    """Yield why a suite did not pass, and whether that counts."""
    if _is_open(part):
        yield f"{_NOT_JUDGED}: a step was left out"
    if part.error is not None:
        yield part.error
    if part.judged is not None and part.found:
        yield from part.judged["reasons"]
    if part.judged is None and part.runs and part.found:
        yield ", ".join(f"run {each['run_id']} ended with {each['status']}" for each in part.runs[-1]["runs"])
    if part.page_error is not None:
        yield f"no page for the morning: {part.page_error}"
    if part.found and not part.blocks:
        why = (
            "a live suite that was not ratcheted" if part.tier == Tier.LIVE else "its ratchet was taken back"
        )
        yield f"advisory: {why}"


def _result(part: Part) -> GateResult | None:
    """Return the verdict that a record holds, as the gate gave it."""
    if part.judged is None:
        return None
    known = {name: part.judged[name] for name in GateResult.__slots__}
    checks = [
        Check(**{**told, "verdict": GateVerdict(told["verdict"]), "reasons": tuple(told["reasons"])})
        for told in part.judged["checks"]
    ]
    words = {"verdict": GateVerdict(known["verdict"]), "rule": GateRule(known["rule"])}
    return GateResult(**{**known, **words, "checks": tuple(checks)})


def _testsuite(part: Part) -> Sequence[str]:
    result = _result(part)
    if result is not None and part.blocks and part.error is None:
        return gate.junit(result).splitlines()[1:]
    kind = {REGRESSION: "failure", CANNOT: "error", INCONCLUSIVE: "skipped"}.get(part.found)
    kind = "skipped" if _is_open(part) or (kind and not part.blocks) else kind
    counts = " ".join(f'{name}="{int(kind == one)}"' for one, name in _COUNTS.items())
    message = pages.attribute("; ".join(_reasons(part)))
    name = pages.attribute(f"night {part.suite}")
    inside = [f"      <{kind} message={message}/>"] if kind else []
    return [
        f'  <testsuite name={name} tests="1" {counts}>',
        f"    <testcase classname={name} name={pages.attribute(part.suite)}>",
        *inside,
        "    </testcase>",
        "  </testsuite>",
    ]


_COUNTS = {"failure": "failures", "error": "errors", "skipped": "skipped"}
