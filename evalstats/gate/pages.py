"""A verdict for a person, for a CI job page (Markdown) and for a test report (JUnit XML)."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from html import escape
from xml.sax.saxutils import quoteattr

from evalstats.contract import GateVerdict
from evalstats.gate.checks import Check
from evalstats.gate.verdict import GateResult

HEADER = ("check", "verdict", "drop", "false block", "power", "sees from", "runs needed")
_UNKNOWN = "–"
# Each of these may begin markup; the backslash among them, or it would free the character after it.
_MARKUP = str.maketrans({c: f"\\{c}" for c in "\\`*_[~#|$"})
_JUNIT = {
    GateVerdict.REGRESSION: "failure",
    GateVerdict.CANNOT_GATE: "error",
    GateVerdict.INCONCLUSIVE: "skipped",
}


def sentences(result: GateResult) -> list[str]:
    """Return the verdict as lines for a person: the word, the reasons, and how often it would be wrong."""
    lines = [f"{word(result.verdict).upper()}: {_subject(result)}"]
    lines += [f"  {reason}" for reason in result.reasons]
    if result.false_block is not None and result.power is not None and result.mde is not None:
        errors = f"blocks an unchanged suite {result.false_block:.1%} of the time, a drop of one margin"
        lines.append(f"  this look {errors} {result.power:.0%}; it sees drops from {result.mde:.3f} reliably")
    return lines


def word(verdict: GateVerdict) -> str:
    """Return a verdict as one says it."""
    return verdict.replace("_", " ")


def rows(result: GateResult) -> list[tuple[str, ...]]:
    """Return one row a check under ``HEADER``, as text."""
    return [(check.name, word(check.verdict), *_numbers(check)) for check in result.checks]


def _numbers(check: Check) -> tuple[str, ...]:
    told = zip(
        (check.drop, check.false_block, check.power, check.mde), ("+.3f", ".1%", ".0%", ".3f"), strict=True
    )
    numbers = [_UNKNOWN if value is None else format(value, form) for value, form in told]
    return (*numbers, _UNKNOWN if check.runs_needed is None else str(check.runs_needed))


def _subject(result: GateResult) -> str:
    margin = "" if result.margin is None else f", margin {result.margin:g}"
    return f"{result.suite}, {result.statistic}{margin}, {result.rule}"


def summary(result: GateResult) -> str:
    """Return the verdict as Markdown for the page of a CI job: the finding, each check, what it stands on."""
    lines = [f"## Gate: {word(result.verdict)}", "", plain(_subject(result)), ""]
    lines += [f"- {plain(reason)}" for reason in result.reasons]
    lines += ["", *table(HEADER, rows(result)), ""]
    stands = {"candidate": result.candidate, "history": result.history}
    lines += [f"- {what}: {plain(_span(groups))}" for what, groups in stands.items() if groups]
    if result.report is not None:
        lines.append(f"- report: {plain(result.report)}")
    lines.append(f"- exit code: {result.exit_code}")
    return "\n".join(lines) + "\n"


def table(header: Sequence[str], cells: Iterable[Sequence[str]]) -> list[str]:
    """Return the lines of a Markdown table."""
    every = [header, ["---"] * len(header), *cells]
    return [f"| {' | '.join(map(plain, line))} |" for line in every]


def _span(groups: Sequence[str]) -> str:
    return groups[0] if len(groups) == 1 else f"{len(groups)} runs, {groups[0]} to {groups[-1]}"


def plain(text: str) -> str:
    """Return text that Markdown shows as it is, on one line, and that no browser takes for markup."""
    printable = "".join(c if c.isprintable() else " " for c in text)
    return escape(printable, quote=False).translate(_MARKUP)


def junit(result: GateResult) -> str:
    """Return the checks as JUnit XML: a regression is a failure, what cannot be judged an error, no answer skipped."""
    said = [check.verdict for check in result.checks]
    counts = {f"{_JUNIT[v]}s".replace("skippeds", "skipped"): said.count(v) for v in _JUNIT}
    told = " ".join(f'{name}="{number}"' for name, number in counts.items())
    lines = [
        '<?xml version="1.0" encoding="UTF-8"?>',
        f'<testsuite name={attribute(f"gate {result.suite}")} tests="{len(said)}" {told}>',
        *(line for check in result.checks for line in _testcase(result, check)),
        "</testsuite>",
    ]
    return "\n".join(lines) + "\n"


def _testcase(result: GateResult, check: Check) -> list[str]:
    opening = f"  <testcase classname={attribute(f'gate.{result.suite}')} name={attribute(check.name)}"
    if check.verdict is GateVerdict.PASS:
        return [f"{opening}/>"]
    inside = f"    <{_JUNIT[check.verdict]} message={attribute('; '.join(check.reasons))}/>"
    return [f"{opening}>", inside, "  </testcase>"]


def attribute(text: str) -> str:
    """Return a quoted attribute without the characters that XML does not know."""
    return quoteattr("".join(c if c.isprintable() and not 0xD800 <= ord(c) < 0xE000 else " " for c in text))
