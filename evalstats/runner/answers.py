"""What does a text earn as the answer to a case? Without a run, under our rule or that of the lift suites.

The two differ in one point: a manifest check without a manifest checks nothing. The source of the lift suites
counts it as passed; here it is unscored.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from enum import StrEnum

from evalstats.contract import ExpectationType
from evalstats.runner import expectations
from evalstats.runner.evidence import Evidence
from evalstats.suite import Case, Suite
from evalstats.trials import ExpectationResult


class Rule(StrEnum):
    """By whose rule expectations are counted."""

    OURS = "ours"
    SOURCE = "source"


def check_answer(
    suite: Suite, case: Case, text: str, *, rule: Rule = Rule.OURS
) -> tuple[ExpectationResult, ...]:
    """Return what comes of each expectation of a case if ``text`` is the answer.

    The answer is all there is: it stands on stdout, the exit code is 0, and no file is changed.
    """
    evidence = Evidence(suite=suite, folder=str(suite.folder.resolve()), exit_code=0, stdout=text)
    return by_rule(expectations.check_case(case, evidence), rule)


def by_rule(results: Iterable[ExpectationResult], rule: Rule) -> tuple[ExpectationResult, ...]:
    """Return results, judged by our rule, as another rule counts them."""
    return tuple(replace(r, passed=counted(r.type, r.passed, rule)) for r in results)


def counted(kind: ExpectationType, passed: bool | None, rule: Rule) -> bool | None:
    """Return how a rule counts an expectation: only an undecided manifest check depends on it."""
    is_free = rule is Rule.SOURCE and kind is ExpectationType.MANIFEST_CHECK
    return True if passed is None and is_free else passed
