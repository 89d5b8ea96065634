"""What lint can say: a closed list of codes, how grave each is, and the way out of it.

Findings name places and never quote what stands there, since a suite may be private.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum


class Severity(StrEnum):
    """How grave a finding is: errors make results wrong, warnings make them weak, notes are worth knowing."""

    ERROR = "error"
    WARNING = "warning"
    NOTE = "note"


class Code(StrEnum):
    """What is wrong."""

    UNREADABLE = "unreadable"
    SCHEMA = "schema"
    UNCHECKABLE = "uncheckable"
    FIXTURE = "fixture"
    NEEDS_NETWORK = "needs-network"
    NEEDS_MODEL = "needs-model"
    VACUOUS = "vacuous"
    BY_CONSTRUCTION = "by-construction"
    CONSTANT = "constant"
    KEY_ONLY = "key-only"
    ARM_IMPOSSIBLE = "arm-impossible"
    NO_HEADROOM = "no-headroom"
    DUPLICATE_CASE = "duplicate-case"
    SINGLE_TRIAL = "single-trial"
    UNSCORED_DIMENSION = "unscored-dimension"
    EMPTY_DIMENSION = "empty-dimension"
    HIDDEN_WEIGHT = "hidden-weight"
    UNUSED_FIELD = "unused-field"
    UNKNOWN_DOMAIN = "unknown-domain"
    UNKNOWN_DIMENSION = "unknown-dimension"
    OTHER_DATA = "other-data"

    @property
    def severity(self) -> Severity:
        """Return how grave it is."""
        return _MEANING[self][0]

    @property
    def way_out(self) -> str:
        """Return what to do about it."""
        return _MEANING[self][1]


_ERROR, _WARNING, _NOTE = Severity
_MEANING = {
    Code.UNREADABLE: (_ERROR, "give a JSON file that is a suite"),
    Code.SCHEMA: (_ERROR, "write what the schema asks; this part was left out of the lint"),
    Code.UNCHECKABLE: (_ERROR, "write what a run can carry out and check"),
    Code.FIXTURE: (_ERROR, "commit the file, or correct its path or sha256"),
    Code.NEEDS_NETWORK: (_ERROR, "move the suite to tier headless or live, or do without the network"),
    Code.NEEDS_MODEL: (_ERROR, "move the suite to tier live, or use a local runtime"),
    Code.VACUOUS: (_WARNING, "ask for what only a good answer has, or set required to false"),
    Code.BY_CONSTRUCTION: (_WARNING, "give it a manifest, or ask for the arguments one by one"),
    Code.CONSTANT: (_WARNING, "drop it or sharpen it: it tells no two answers apart"),
    Code.KEY_ONLY: (_WARNING, "match the key with its value, or use json_path with a value"),
    Code.ARM_IMPOSSIBLE: (_WARNING, "ask for the substance; count citations as a rate of their own"),
    Code.NO_HEADROOM: (_WARNING, "retire the case or make it harder: nothing can be gained on it"),
    Code.DUPLICATE_CASE: (_WARNING, "keep one of them: twice the same case is no new evidence"),
    Code.SINGLE_TRIAL: (_WARNING, "set trials.per_case to 3 or more: one live trial is never authoritative"),
    Code.UNSCORED_DIMENSION: (_WARNING, "add it to scoring.dimensions, or take it off the case"),
    Code.EMPTY_DIMENSION: (_WARNING, "give it a case, or take it out of scoring"),
    Code.HIDDEN_WEIGHT: (_NOTE, "report the lift over cases first; it counts each case alike"),
    Code.UNUSED_FIELD: (_NOTE, "remove it, or move it to metadata"),
    Code.UNKNOWN_DOMAIN: (_NOTE, "use a known word, if one fits"),
    Code.UNKNOWN_DIMENSION: (_NOTE, "use a canonical name, if one fits"),
    Code.OTHER_DATA: (_NOTE, "give results of this very version of the suite"),
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    """One thing a reviewer wants told. ``case`` is the id of the case; None in a private suite."""

    code: Code
    pointer: str
    what: str
    line: int | None = None
    case: str | None = None

    @property
    def severity(self) -> Severity:
        """Return how grave it is."""
        return self.code.severity
