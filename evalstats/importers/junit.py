"""JUnit XML, as pytest writes it: a test is a case, a repeat of it a trial.

A failed assertion is the subject's failure; an error is of the fixture around it, so infrastructure. An expected
failure is skipped. A rerun leaves its earlier, failed attempts as bare elements that look like passes: where a
name stands more often than the suite counts tests, only the last of it counts.
"""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any
from xml.etree.ElementTree import TreeBuilder  # only put together here; `defusedxml` reads

from evalstats.contract import Outcome
from evalstats.importers.logs import MAX_DOCUMENT, Log
from evalstats.importers.rows import Declared, Item, LoggedRun, Options, Row
from evalstats.importers.streams import MAX_DEPTH, Malformed
from evalstats.importers.values import number, text, whole

NAME = "junit"
# pytest-repeat: name[1-5] or name[param-1-5]
_REPEAT = re.compile(r"(?P<base>.*?)\[(?:(?P<parameter>.*)-)?(?P<index>\d{1,9})-(?P<of>\d{1,9})\]", re.DOTALL)
_MARK = re.compile(rb"<testsuites?[\s>]")
_ENDINGS = {"error": Outcome.INFRASTRUCTURE, "failure": Outcome.OK, "skipped": Outcome.SKIPPED}
_ELEMENTS = {*_ENDINGS, "testcase", "testsuite", "properties", "property", "system-out", "system-err",
             "rerunFailure", "rerunError", "flakyFailure", "flakyError"}  # fmt: skip
_COUNTS = {"failures": "failure", "errors": "error", "skipped": "skipped"}


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
        tests, dropped = _counted(suite)
        if dropped:
            run.warn(f"{dropped} earlier attempts of rerun tests were left out")
        strange = {str(e.tag) for e in suite.iter() if e is not suite} - _ELEMENTS
        if strange:
            run.warn(f"elements that no test report has: {', '.join(sorted(strange)[:5])}")
        run.declared = _declarer(suite, tests)
        yield run, None
        numbered: Counter[str] = Counter()
        for test in tests:
            row = _row(test, options)
            numbered[row.case_id] += 1
            row.trial_index = row.trial_index or numbered[row.case_id]
            yield run, row


@dataclass(slots=True)
class _Test:
    """One element that counts: where it stands, its case, its repeat (0 where the name tells none), its ending."""

    element: Any
    place: int
    case: str
    repeat: int
    kind: str


class _Bounded(TreeBuilder):
    """Builds a tree of no absurd depth."""

    depth = 0

    def start(self, tag: Any, attrs: Any) -> Any:
        self.depth += 1
        if self.depth > MAX_DEPTH:
            raise Malformed(f"is nested deeper than {MAX_DEPTH}")
        return super().start(tag, attrs)

    def end(self, tag: Any) -> Any:
        self.depth -= 1
        return super().end(tag)


def _suites(log: Log) -> list[Any]:
    from defusedxml import ElementTree
    from defusedxml.common import DefusedXmlException

    if log.size > MAX_DOCUMENT:
        raise log.error(f"is an XML document of more than {MAX_DOCUMENT >> 20} MiB; split it")
    try:
        parser = ElementTree.DefusedXMLParser(target=_Bounded(), forbid_dtd=True, encoding="utf-8")
        root = ElementTree.parse(log.path, parser).getroot()
    except DefusedXmlException:
        raise log.error("declares entities or a document type, which a test report never needs") from None
    except ElementTree.ParseError as error:
        if not _is_utf8(log):
            raise log.not_utf8() from None
        raise log.error(f"is not XML: {error}", line=error.position[0]) from None
    except Malformed as error:
        raise log.error(str(error)) from None
    except (ValueError, LookupError) as error:
        raise log.error(f"is not XML: {error}") from None
    if root.tag not in ("testsuite", "testsuites"):
        raise log.error("is XML, and no test report")
    return [suite for suite in root.iter("testsuite") if suite.find("testcase") is not None]


def _is_utf8(log: Log) -> bool:
    try:
        log.path.read_bytes().decode()
    except UnicodeDecodeError:
        return False
    return True


def _counted(suite: Any) -> tuple[list[_Test], int]:
    """Return the tests that count, and how many elements are earlier attempts of them."""
    elements = [element for element in suite if element.tag == "testcase"]
    names = [f"{e.get('classname') or ''}::{e.get('name') or ''}" for e in elements]
    last = {name: place for place, name in enumerate(names)}
    told = whole(suite.get("tests"))
    reruns = told is not None and len(elements) > told
    repeats = _repeats(names)
    found = [
        _Test(element, place + 1, *repeats.get(names[place], (names[place], 0)), _kind(element))
        for place, element in enumerate(elements)
        if not reruns or last[names[place]] == place
    ]
    return found, len(elements) - len(found)


def _repeats(names: Sequence[str]) -> dict[str, tuple[str, int]]:
    """Return (case, repeat) of each name that is a repeat.

    ``test[1-5]`` may as well be a test of the parameters 1 and 5; it is a repeat when its siblings, from the first
    on, are there too.
    """
    families: dict[tuple[str, str], dict[int, str]] = defaultdict(dict)
    for name in names:
        match = _REPEAT.fullmatch(name)
        if match and 1 <= int(match["index"]) <= int(match["of"]):
            parameter = "" if match["parameter"] is None else f"[{match['parameter']}]"
            families[f"{match['base']}{parameter}", match["of"]][int(match["index"])] = name
    return {
        name: (case, index)
        for (case, of), family in families.items()
        if set(family) == set(range(1, len(family) + 1)) and (len(family) > 1 or of == "1")
        for index, name in family.items()
    }


def _kind(element: Any) -> str:
    return next((child for child in _ENDINGS if element.find(child) is not None), "pass")


def _row(test: _Test, options: Options) -> Row:
    element, kind = test.element, test.kind
    told = element.find(kind)
    properties = {str(p.get("name")): str(p.get("value")) for p in element.iterfind("properties/property")}
    outcome = _ENDINGS.get(kind, Outcome.OK)
    score = float(kind == "pass") if options.metric is None else number(properties.get(options.metric))
    return Row(
        case_id=test.case,
        trial_index=test.repeat,
        locator=f"testcase {test.place}",
        outcome=outcome,
        score=score if outcome is Outcome.OK else None,
        passed=kind == "pass" if outcome is Outcome.OK else None,
        reason=None if told is None else str(told.get("message") or kind).split("\n")[0][:200],
        scores={name: value for name, told in properties.items() if (value := number(told)) is not None},
        about={"properties": properties, "classname": element.get("classname"), "file": element.get("file")},
        duration_s=number(element.get("time")),
        tokens_out=whole(properties.get("tokens")),
        error_class=text(told.get("type")) if told is not None and kind != "failure" else None,
    )


def _declarer(suite: Any, tests: Sequence[_Test]) -> Callable[[], list[Declared]]:
    tally = Counter(test.kind for test in tests)
    counts: Mapping[str, int] = {"tests": len(tests)} | {name: tally[kind] for name, kind in _COUNTS.items()}
    return lambda: [
        Declared(name=name, declared=value, recomputed=float(count))
        for name, count in counts.items()
        if (value := number(suite.get(name))) is not None
    ]
