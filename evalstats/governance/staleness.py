"""What changed in a suite since its baseline was promoted?

A stale digest is of use only when it says what is stale. There are three sources of proof, the strongest first:
the digests of the layers, where the baseline recorded them; the old suite file itself, found by its digest in the
git history; and what the baseline recorded of its cases and of the checks it made. Where nothing is proven, the
answer is ``unknown``, never a guess.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from evalstats import contract
from evalstats import suite as suites
from evalstats.contract import ExpectationType as Type
from evalstats.errors import DocumentError
from evalstats.governance.baselines import Baseline
from evalstats.suite import POLICY_KEYS, SCORING_KEYS, Case, Expectation, Suite, lift_suites


class Layer(StrEnum):
    """What of a suite changed; ``schemas/baseline-audit.v1.json`` owns the words."""

    FRESH = "fresh"
    FORMATTING = "formatting"
    METADATA = "metadata"
    POLICY = "policy"
    SCORING = "scoring"
    CASE_SET = "case-set"
    UNKNOWN = "unknown"


@dataclass(frozen=True, slots=True)
class Staleness:
    """How far a suite has moved from its baseline, and how that is known.

    ``layer`` is the most consequential layer that changed, ``changed`` are all that are known to have changed,
    ``evidence`` says what proves it. No value of a suite or of a record stands in it.
    """

    layer: Layer
    changed: tuple[Layer, ...]
    evidence: str

    def __str__(self) -> str:
        return self.layer if self.layer is Layer.FRESH else f"{self.layer} ({self.evidence})"


RAW_ONLY = Staleness(Layer.UNKNOWN, (), "raw digest only")
SAME_FILE = Staleness(Layer.FRESH, (), "the same file")
_DIGESTS = (Layer.SCORING, Layer.POLICY, Layer.METADATA)


def staleness_of(suite: Suite, baseline: Baseline, old: bytes | None = None) -> Staleness:
    """Return what changed in ``suite`` since ``baseline`` was run.

    Parameters
    ----------
    suite : Suite
        The suite as it is now.
    baseline : Baseline
        A run of the suite as it was.
    old : bytes, optional
        The suite file as it was, where it was found in the git history.
    """
    if _has_layers(baseline):
        return _by_digests(suite, baseline)
    if baseline.raw == contract.digest(suite.raw):
        return SAME_FILE
    return (old and _by_document(suite, old)) or _by_record(suite, baseline)


def needs_history(suite: Suite, baseline: Baseline) -> bool:
    """Return whether only the old file could say for certain what changed."""
    return not _has_layers(baseline) and baseline.raw != contract.digest(suite.raw)


def _has_layers(baseline: Baseline) -> bool:
    return baseline.hashes is not None and {"canonical", *_DIGESTS} <= baseline.hashes.keys()


# --- digests that the baseline recorded ------------------------------------------------------------

_BY_DIGESTS = "recorded digests"
_BY_FILES = "recorded digests: the same file, but a fixture or rubric changed"


def _by_digests(suite: Suite, baseline: Baseline) -> Staleness:
    now, then = suites.hashes(suite), baseline.hashes or {}
    changed = [layer for layer in _DIGESTS if now[layer] != then[layer]]
    if Layer.SCORING in changed and set(baseline.case_ids) != {case.id for case in suite.cases}:
        changed[0] = Layer.CASE_SET
    same_file = baseline.raw == now["raw"]
    if changed:
        return Staleness(changed[0], tuple(changed), _BY_FILES if same_file else _BY_DIGESTS)
    if same_file:
        return SAME_FILE
    return Staleness(Layer.FORMATTING, (Layer.FORMATTING,), _BY_DIGESTS)


# --- the old file ----------------------------------------------------------------------------------


def _by_document(suite: Suite, old: bytes) -> Staleness | None:
    """Return how the old file differs from the suite; None where it is no suite document."""
    try:
        document, _ = contract.parse_bytes(old, suite.path)
        if lift_suites.is_lift_suite(document):
            document = lift_suites.converted(document)
        changed = _differences(document, suite.document)
    except (DocumentError, AttributeError, KeyError, TypeError):  # an old file has whatever shape it has
        return None
    return Staleness(changed[0], changed, "git history") if changed else None


def _differences(old: Mapping[str, Any], new: Mapping[str, Any]) -> tuple[Layer, ...]:
    ids_then, ids_now = ([case["id"] for case in document["cases"]] for document in (old, new))
    common = set(ids_then) & set(ids_now)
    parts = [_parts(document, common) for document in (old, new)]
    changed = [layer for layer in _DIGESTS if len({part[layer] for part in parts}) > 1]
    if set(ids_then) != set(ids_now):
        changed.insert(0, Layer.CASE_SET)
    return tuple(changed) or (Layer.FORMATTING,)


def _parts(document: Mapping[str, Any], common: Collection[str]) -> dict[Layer, str]:
    """Return the digest of each layer of a document, over the cases that both have."""
    scoring = {key: document[key] for key in SCORING_KEYS if key in document}
    scoring["cases"] = [case for case in document["cases"] if case["id"] in common]
    policy = {key: document[key] for key in POLICY_KEYS if key in document}
    rest = {key: value for key, value in document.items() if key not in (*SCORING_KEYS, *POLICY_KEYS)}
    return {
        layer: contract.canonical_digest(part)
        for layer, part in zip(_DIGESTS, (scoring, policy, rest), strict=True)
    }


# --- what the baseline recorded of its cases and checks --------------------------------------------


@dataclass(frozen=True, slots=True)
class _Check:
    """One expectation, as far as a recorded sentence repeats it."""

    type: Type
    target: str
    value: str


def _by_record(suite: Suite, baseline: Baseline) -> Staleness:
    cases, checks = _case_changes(suite, baseline), _check_changes(suite, baseline)
    if not (cases or checks):
        return RAW_ONLY
    layers = {Layer.CASE_SET: cases, Layer.SCORING: checks}
    changed = tuple(layer for layer, proof in layers.items() if proof)
    proofs = [proof for proof in layers.values() if proof]
    return Staleness(changed[0], changed, "; ".join(proofs if cases else [*proofs, "case set unchanged"]))


def _case_changes(suite: Suite, baseline: Baseline) -> str:
    """Say how the recorded cases differ from those of the suite; nothing where none were recorded."""
    then, now = set(baseline.case_ids), {case.id for case in suite.cases}
    return (
        f"case results: {len(then - now)} case(s) gone, {len(now - then)} new" if then and then != now else ""
    )


def _check_changes(suite: Suite, baseline: Baseline) -> str:
    changes = [_changes(case, baseline.diagnostics.get(case.id, ())) for case in suite.cases]
    gone, new = (sum(column) for column in zip(*changes, strict=True))
    return f"recorded diagnostics: {gone} check(s) gone, {new} new" if gone or new else ""


def _changes(case: Case, sentences: Collection[str]) -> tuple[int, int]:
    """Return how many recorded checks the case no longer makes, and how many of its checks were not recorded.

    A recorded check that is gone is proof by itself. A check that was not recorded is proof only where every
    sentence could be read and met checks were recorded too: a record of failures leaves out what went well.
    """
    read = [_read(sentence) for sentence in sentences]
    then = Counter(entry[0] for entry in read if entry)
    now = Counter(check for check in map(_check, case.expectations) if check)
    complete = all(read) and any(entry[1] for entry in read if entry)
    return (then - now).total(), (now - then).total() if complete else 0


_QUOTED = r'(?P<value>"(?:[^"\\]|\\.)*")'
_SENTENCES = tuple(
    (re.compile(pattern, re.DOTALL), met)
    for pattern, met in (
        (r"(?P<what>exit_code) matched (?P<value>-?\d+)", True),
        (r"(?P<what>exit_code) = -?\d+, want (?P<value>-?\d+)", False),
        (rf"(?P<what>stdout|stderr|artifact (?P<target>.+?)) contains {_QUOTED}", True),
        (rf"(?P<what>stdout|stderr|artifact (?P<target>.+?)) does not contain {_QUOTED}", False),
        (r"(?P<what>schema_valid) (?P<target>.+) matched", True),
    )
)
_TYPES = {
    "exit_code": Type.EXIT_CODE,
    "stdout": Type.STDOUT_CONTAINS,
    "stderr": Type.STDERR_CONTAINS,
    "artifact": Type.ARTIFACT_CONTAINS,
    "schema_valid": Type.SCHEMA_VALID,
}
_TARGETED = (Type.ARTIFACT_CONTAINS, Type.SCHEMA_VALID)


def _read(sentence: str) -> tuple[_Check, bool] | None:
    """Return the check that a recorded sentence repeats, and whether it was met; None where it repeats none."""
    for pattern, met in _SENTENCES:
        if match := pattern.fullmatch(sentence):
            parts = match.groupdict()
            kind = _TYPES[parts["what"].split(" ", 1)[0]]
            return _Check(kind, parts.get("target") or "", _unquoted(parts.get("value") or "")), met
    return None


_ESCAPE = re.compile(r"\\(?:x([0-9a-f]{2})|u([0-9a-f]{4})|U([0-9a-f]{8})|(.))", re.DOTALL)
_LETTERS = {"a": "\a", "b": "\b", "f": "\f", "n": "\n", "r": "\r", "t": "\t", "v": "\v"}


def _unquoted(text: str) -> str:
    """Return a text that was recorded in quotes, with escapes, as it was."""
    return _ESCAPE.sub(_character, text[1:-1]) if text.startswith('"') else text


def _character(match: re.Match[str]) -> str:
    code = match[1] or match[2] or match[3]
    if code is None:
        return _LETTERS.get(match[4], match[4])
    return chr(int(code, 16)) if int(code, 16) <= 0x10FFFF else match[0]


def _check(expectation: Expectation) -> _Check | None:
    """Return the check that a record would repeat; None for a type whose sentences leave out what was asked."""
    kind, target, value = expectation.type, expectation.target or "", expectation.value
    if kind not in _TYPES.values():
        return None
    if kind is Type.EXIT_CODE:
        return _Check(kind, "", str(value) if re.fullmatch(r"-?\d+", str(value)) else "0")
    if kind is Type.SCHEMA_VALID:
        return _Check(kind, target, "")
    text = target if value is None else value if isinstance(value, str) else json.dumps(value)
    return _Check(kind, target if kind in _TARGETED else "", text)
