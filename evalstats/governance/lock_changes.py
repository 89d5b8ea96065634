"""What has changed since a lock was made? Each difference names its layer and, where there is one, its case."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum

from evalstats import suite as suites
from evalstats.errors import UsageError
from evalstats.governance.locks import (
    PRIVATE_LAYERS,
    Digests,
    FrozenCase,
    FrozenSuite,
    Lock,
    is_private,
    today,
)
from evalstats.suite import POLICY_KEYS, SCORING_KEYS, Suite


class Layer(StrEnum):
    """What has changed: the cases asked, what they stand on, or only what is said about them."""

    CASE_SET = "case-set"
    CASE_CONTENT = "case-content"
    FIXTURE = "fixture"
    SCORING = "scoring"
    POLICY = "policy"
    METADATA = "metadata"
    FORMATTING = "formatting"

    @property
    def moves_numbers(self) -> bool:
        """Return whether a score from before the change and one from after it measure different things."""
        return self in (Layer.CASE_SET, Layer.CASE_CONTENT, Layer.FIXTURE, Layer.SCORING)


_LAYERS = dict.fromkeys(SCORING_KEYS, Layer.SCORING) | dict.fromkeys(POLICY_KEYS, Layer.POLICY)


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    """One difference between a lock and the suites of today. ``suite_id`` is None for a private suite."""

    layer: Layer
    suite_id: str | None
    case_id: str | None = None
    fields: tuple[str, ...] = ()
    message: str = "changed"

    def __str__(self) -> str:
        place = "/".join(filter(None, (self.suite_id or "a private suite", self.case_id)))
        named = f": {', '.join(self.fields)}" if self.fields else ""
        return f"{place}: {self.layer.replace('-', ' ')} {self.message}{named}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Verification:
    """What `verify` found: errors, cases outside the lock, and private suites that nobody looked at."""

    findings: tuple[Finding, ...]
    candidates: tuple[tuple[str, str], ...]
    unchecked_private: int


def verify(lock: Lock, present: Sequence[Suite], *, evaluator: bool = False) -> Verification:
    """What has changed since the lock was made? Each finding names the layer and, where there is one, the case.

    A case or suite that the lock does not know is a candidate, which is no error. Private suites are looked at
    for an evaluator only.
    """
    now = today(present)
    findings = [found for s in lock.suites.values() for found in differences(s, now.get(s.id))]
    if evaluator:
        findings += _private_differences(lock, [suites.hashes(s) for s in present if is_private(s)])
    return Verification(
        findings=tuple(findings),
        candidates=tuple(outside(lock, now)),
        unchecked_private=0 if evaluator else len(lock.private),
    )


def check(lock: Lock, suite_id: str, present: Sequence[Suite]) -> None:
    """Raise UsageError, naming layer and case, when the suite would no longer measure what the lock holds."""
    now = today([suite for suite in present if suite.id == suite_id])
    found = [f for f in differences(lock.suite(suite_id), now.get(suite_id)) if f.layer.moves_numbers]
    if found:
        more = f" (and {len(found) - 1} more)" if found[1:] else ""
        raise UsageError(f"{found[0]}{more}; see `evalstats lock verify {lock.name}`", field="lock")


def outside(lock: Lock, now: Mapping[str, FrozenSuite]) -> list[tuple[str, str]]:
    """Return (suite id, case id) of every case that is not in the lock."""
    known = {(suite.id, case_id) for suite in lock.suites.values() for case_id in suite.cases}
    return [(s.id, case_id) for s in now.values() for case_id in s.cases if (s.id, case_id) not in known]


def differences(old: FrozenSuite, new: FrozenSuite | None) -> Iterator[Finding]:
    """Yield what has changed in the locked part of one suite; its new cases are no part of it."""
    if new is None:
        yield Finding(
            layer=Layer.CASE_SET, suite_id=old.id, message="changed: the suite is gone, or cannot be read"
        )
        return
    for layer, fields in _by_layer(_changed(old.fields, new.fields)).items():
        yield Finding(layer=layer, suite_id=old.id, fields=tuple(fields))
    if files := _changed(old.files, new.files):
        yield Finding(layer=Layer.FIXTURE, suite_id=old.id, fields=files)
    for case_id, case in old.cases.items():
        yield from _case_differences(old.id, case, new.cases.get(case_id))
    if old.hashes["raw"] != new.hashes["raw"] and old.hashes["canonical"] == new.hashes["canonical"]:
        yield Finding(layer=Layer.FORMATTING, suite_id=old.id)


def _case_differences(suite_id: str, old: FrozenCase, new: FrozenCase | None) -> Iterator[Finding]:
    if new is None:
        gone = "changed: the case is gone"
        yield Finding(layer=Layer.CASE_SET, suite_id=suite_id, case_id=old.id, message=gone)
        return
    if fields := _changed(old.fields, new.fields):
        yield Finding(layer=Layer.CASE_CONTENT, suite_id=suite_id, case_id=old.id, fields=fields)
    if files := _changed(old.files, new.files):
        yield Finding(layer=Layer.FIXTURE, suite_id=suite_id, case_id=old.id, fields=files)


def _changed(old: Digests, new: Digests) -> tuple[str, ...]:
    return tuple(sorted(key for key in old.keys() | new.keys() if old.get(key, "") != new.get(key, "")))


def _by_layer(fields: Sequence[str]) -> dict[Layer, list[str]]:
    found: dict[Layer, list[str]] = {}
    for field in fields:
        found.setdefault(_LAYERS.get(field, Layer.METADATA), []).append(field)
    return found


def _private_differences(lock: Lock, present: Sequence[Mapping[str, str]]) -> Iterator[Finding]:
    for old in lock.private:
        new = max(present, key=lambda hashes: _likeness(old, hashes), default=old)
        if not present or not _likeness(old, new):
            gone = "changed: it is gone, or changed in every layer"
            yield Finding(layer=Layer.CASE_SET, suite_id=None, message=gone)
        else:
            yield from (Finding(layer=layer, suite_id=None) for layer in _private_layers(old, new))


def _likeness(old: Mapping[str, str], new: Mapping[str, str]) -> int:
    """Return how many digests agree: a private suite is known by what it kept, since the lock has no name."""
    return sum(old[layer] == new[layer] for layer in PRIVATE_LAYERS)


def _private_layers(old: Mapping[str, str], new: Mapping[str, str]) -> list[Layer]:
    same = {layer: old[layer] == new[layer] for layer in PRIVATE_LAYERS}
    if same["canonical"]:
        found = {Layer.FORMATTING: not same["raw"], Layer.FIXTURE: not same["scoring"]}
    else:  # the policy is the one part of the document whose digest the lock leaves out
        only_policy = same["scoring"] and same["metadata"]
        found = {
            Layer.SCORING: not same["scoring"],
            Layer.METADATA: not same["metadata"],
            Layer.POLICY: only_policy,
        }
    return [layer for layer, changed in found.items() if changed]
