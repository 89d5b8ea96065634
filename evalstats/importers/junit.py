"""JUnit XML, as pytest writes it: a test is a case, a repeat of it a trial.

A failed assertion is the subject's failure; an error is of the fixture around it, so infrastructure. An expected
failure is skipped. A rerun leaves its earlier, failed attempts as bare elements that look like passes: where a
name stands more often than the suite counts tests, only the last of it counts.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Mapping
from typing import Any

from evalstats.contract import Outcome
from evalstats.importers.logs import MAX_DOCUMENT, Log, number, whole
from evalstats.importers.rows import Declared, Item, LoggedRun, Options, Row

NAME = "junit"
# pytest-repeat: name[1-5] or name[param-1-5]
_REPEAT = re.compile(r"^(?P<base>.*?)\[(?:(?P<parameter>.*)-)?(?P<index>\d+)-(?P<of>\d+)\]$", re.DOTALL)
_MARK = re.compile(rb"<testsuites?[\s>]")


def sniff(log: Log) -> str | None:
    """Recognise the root element."""
    head = log.head.lstrip()
    return "a test report in XML" if head.startswith(b"<") and _MARK.search(head) else None


def read(log: Log, options: Options) -> Iterator[Item]:
    """Yield one row for each test element that counts."""
    for suite in _suites(log):
        name = suite.get("name") or log.path.stem
        run = LoggedRun(
            suite=name,
            key=("junit", name, suite.get("timestamp") or log.sha256, suite.get("hostname") or ""),
            tool="junit",
            created_at=suite.get("timestamp"),
        )
        elements = [element for element in suite if element.tag == "testcase"]
        kept, dropped = _without_reruns(elements, whole(suite.get("tests")))
        if dropped:
            run.warnings.append(f"{dropped} earlier attempts of rerun tests were left out")
        tally: Counter[str] = Counter()
        run.declared = _declarer(suite, tally)
        yield run, None
        numbered: Counter[str] = Counter()
        for place, element in kept:
            row = _row(element, f"testcase {place}", options)
            numbered[row.case_id] += 1
            row.trial_index = row.trial_index or numbered[row.case_id]
            tally[_kind(element)] += 1
            yield run, row


def _suites(log: Log) -> list[Any]:
    from defusedxml import ElementTree
    from defusedxml.common import DefusedXmlException

    if log.size > MAX_DOCUMENT:
        raise log.error(f"is an XML document of more than {MAX_DOCUMENT >> 20} MiB; split it")
    try:
        root = ElementTree.parse(log.path, forbid_dtd=True).getroot()
    except DefusedXmlException:
        raise log.error("declares entities or a document type, which a test report never needs") from None
    except ElementTree.ParseError as error:
        raise log.error(f"is not XML: {error}", line=error.position[0]) from None
    except (ValueError, LookupError, RecursionError) as error:
        raise log.error(f"is not XML: {error}") from None
    found = [root] if root.tag == "testsuite" else [e for e in root.iter("testsuite")]
    return [suite for suite in found if suite.find("testcase") is not None]


def _without_reruns(elements: list[Any], counted: int | None) -> tuple[list[tuple[int, Any]], int]:
    placed = list(enumerate(elements, 1))
    if counted is None or len(elements) <= counted:
        return placed, 0
    last = {_full_name(element): place for place, element in placed}
    kept = [(place, element) for place, element in placed if last[_full_name(element)] == place]
    return kept, len(placed) - len(kept)


def _full_name(element: Any) -> str:
    return f"{element.get('classname') or ''}::{element.get('name') or ''}"


def _kind(element: Any) -> str:
    for child in ("error", "failure", "skipped"):
        if element.find(child) is not None:
            return child
    return "pass"


def _row(element: Any, locator: str, options: Options) -> Row:
    kind = _kind(element)
    properties = _properties(element)
    repeat = _REPEAT.match(element.get("name") or "")
    index = whole(repeat["index"]) if repeat and 1 <= int(repeat["index"]) <= int(repeat["of"]) else None
    case = _full_name(element)
    if repeat and index:
        parameter = "" if repeat["parameter"] is None else f"[{repeat['parameter']}]"
        case = f"{element.get('classname') or ''}::{repeat['base']}{parameter}"
    outcome = {"error": Outcome.INFRASTRUCTURE, "skipped": Outcome.SKIPPED}.get(kind, Outcome.OK)
    score = None if options.metric is None else number(properties.get(options.metric))
    if options.metric is None and outcome is Outcome.OK:
        score = float(kind == "pass")
    return Row(
        case_id=case,
        trial_index=index or 0,
        locator=locator,
        outcome=outcome,
        score=score,
        passed=kind == "pass" if outcome is Outcome.OK else None,
        reason=None if kind == "pass" else _message(element.find(kind), kind),
        scores={name: value for name, text in properties.items() if (value := number(text)) is not None},
        about={"properties": properties, "classname": element.get("classname"), "file": element.get("file")},
        duration_s=number(element.get("time")),
        tokens_out=whole(properties.get("tokens")),
        error_class=_text(element.find(kind).get("type")) if kind in ("error", "skipped") else None,
    )


def _properties(element: Any) -> dict[str, str]:
    """Return the properties; those of a rerun stand behind those of the attempts before, so the last count."""
    found = element.iterfind("properties/property")
    return {str(p.get("name")): str(p.get("value")) for p in found}


def _message(element: Any, kind: str) -> str:
    return str(element.get("message") or kind).split("\n")[0][:200]


def _declarer(suite: Any, tally: Mapping[str, int]) -> Any:
    names = {"failures": "failure", "errors": "error", "skipped": "skipped"}

    def declared() -> list[Declared]:
        found = [(name, number(suite.get(name)), tally[kind]) for name, kind in names.items()]
        found.append(("tests", number(suite.get("tests")), sum(tally.values())))
        return [
            Declared(name=name, declared=value, recomputed=float(count))
            for name, value, count in found
            if value is not None
        ]

    return declared


def _text(value: Any) -> str | None:
    return value if isinstance(value, str) and value else None
