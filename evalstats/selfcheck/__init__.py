"""Does this installation compute what it should? Outside numbers, worked out again on this machine.

    from evalstats import selfcheck

    certificate = selfcheck.certify()       # selfcheck.v1; `passed` is the answer

The numbers are those that books, tables and other software print (`numbers`); none is our own earlier output. What
cannot be tried here is counted as not run, never as passed.
"""

from evalstats.selfcheck.certificate import Finding, certify

__all__ = ["Finding", "certify"]
