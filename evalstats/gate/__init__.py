"""Is this change real enough to block? A published report, a policy, and a verdict with its reasons.

A gate reads the *published* artifact, so a report never changes because a policy did, and the decision can
be repeated years later. It never guesses: a mock run, an incomplete or failed run, a short history and a
noise too large for the margin each end in ``cannot_gate``, with the sentence that says so.

=========================  =======================================================================
:func:`judge`              files in, verdict out: a verified report version and a policy
:func:`judge_scorecard`    the aggregate of a DeltaScorecard against a minimum
:func:`decide`             the same for documents in memory; :class:`Asked` says which run, by which rule
:func:`calibrate`          how often does each rule block the unchanged nights of this very suite?
:func:`simulate`           how often would the rule block, at each true drop, with this suite's noise?
:mod:`ratcheting`          may the suite block at all? On the very runs that its gate would take
:data:`RULES`              the table of rules
=========================  =======================================================================

Inside: ``policies`` states the defaults, ``series`` makes one number a run and the accepted history, ``rules`` is
the table, ``guards`` is what a policy asks beside its rule, ``pages`` writes for people and CI, ``ledger`` keeps.
"""

from evalstats.gate import ratcheting
from evalstats.gate.calibration import Calibration, calibrate
from evalstats.gate.curves import Components
from evalstats.gate.judging import judge, judge_scorecard, read
from evalstats.gate.ledger import append, blocked
from evalstats.gate.pages import junit, sentences, summary
from evalstats.gate.policies import Policy, policy_of, read_policy
from evalstats.gate.rules import RULES
from evalstats.gate.simulation import Simulation, components, simulate
from evalstats.gate.verdict import EXIT_CODES, Asked, GateResult, decide
from evalstats.report.bundle import read_report

__all__ = [
    "EXIT_CODES",
    "RULES",
    "Asked",
    "Calibration",
    "Components",
    "GateResult",
    "Policy",
    "Simulation",
    "append",
    "blocked",
    "calibrate",
    "components",
    "decide",
    "judge",
    "judge_scorecard",
    "junit",
    "policy_of",
    "ratcheting",
    "read",
    "read_policy",
    "read_report",
    "sentences",
    "simulate",
    "summary",
]
