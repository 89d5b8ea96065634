"""Is this change real enough to block? A published report, a policy, and a verdict with its reasons.

A gate reads the *published* artifact, so a report never changes because a policy did, and the decision can
be repeated years later. It never guesses: a mock run, an incomplete or failed run, a short history and a
noise too large for the margin each end in ``cannot_gate``, with the sentence that says so.
"""

from evalstats.gate.ledger import append
from evalstats.gate.verdict import EXIT_CODES, GateResult, decide, judge, read_policy, sentences
from evalstats.report.bundle import read_report

__all__ = ["EXIT_CODES", "GateResult", "append", "decide", "judge", "read_policy", "read_report", "sentences"]
