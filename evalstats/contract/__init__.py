"""The words of evalstats and the documents that use them.

``schemas/*.json`` own every enumeration and shape; the enumerations below spell them for people and
type checkers, the SQL schema spells them for DuckDB, and one test holds the three equal.

Documents are read once, at the door: :func:`read_json` refuses what JSON does not promise
(duplicate keys, NaN, absurd depth), and :func:`validate` reports all problems of a document at once,
each with its JSON pointer and line, never with the offending value (it may be private).
"""

from evalstats.contract.discretion import discreet, discreet_pointer, is_private, may_be_private
from evalstats.contract.documents import (
    canonical,
    canonical_digest,
    digest,
    packaged,
    problems,
    readable,
    schema,
    validate,
)
from evalstats.contract.json_text import (
    MAX_DEPTH,
    MAX_INTEGER,
    parse_bytes,
    parse_json,
    pointer_lines,
    read_bytes,
    read_json,
    with_lines,
)
from evalstats.contract.words import (
    IDENTITY,
    SUPPRESSION,
    Arm,
    Axis,
    CaseKind,
    DegradedReason,
    ExpectationType,
    GateRule,
    GateStatistic,
    GateVerdict,
    Isolation,
    Outcome,
    Status,
    Tier,
    Verdict,
    Visibility,
)

__all__ = [
    "IDENTITY",
    "MAX_DEPTH",
    "MAX_INTEGER",
    "SUPPRESSION",
    "Arm",
    "Axis",
    "CaseKind",
    "DegradedReason",
    "ExpectationType",
    "GateRule",
    "GateStatistic",
    "GateVerdict",
    "Isolation",
    "Outcome",
    "Status",
    "Tier",
    "Verdict",
    "Visibility",
    "canonical",
    "canonical_digest",
    "digest",
    "discreet",
    "discreet_pointer",
    "is_private",
    "may_be_private",
    "packaged",
    "parse_bytes",
    "parse_json",
    "pointer_lines",
    "problems",
    "read_bytes",
    "read_json",
    "readable",
    "schema",
    "validate",
    "with_lines",
]
