"""What may the world know of a run of a private suite? Counts, rates and words of closed lists; nothing else.

What is published is built from :class:`Aggregate`, which has no field for free text, not cut out of a record.
Numbers that tell of fewer than five cases are withheld, and with them those that would give them away.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from datetime import UTC, date, datetime
from pathlib import Path
from typing import Any

from evalstats import contract, journal
from evalstats.contract import Arm, Status, Tier, Verdict
from evalstats.errors import EvalstatsError, UsageError
from evalstats.governance import holdout_register
from evalstats.governance.baselines import Baseline
from evalstats.governance.captures import EVALUATOR, Places, of_run
from evalstats.governance.comparing import compare
from evalstats.governance.holdout_register import FEWEST, Publication, Register
from evalstats.governance.quantities import Rules
from evalstats.trials import run_seed

SCHEMA = "holdout-aggregate.v1"
FEWEST_JUDGED = 10  # cases behind a verdict: with fewer, "no regression" would tell how each of them ended
_BANDS = (20, 10, 5, 4, 2, 1)  # into how many equal bands the rates from 0 to 1 are parted
_SHORTEST_NAME = 3
Cell = int | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Changes:
    """How counted cases changed since the publication before; all None where other cases are counted now."""

    published_on: date
    same_cases: bool
    verdict: Verdict | None
    regressed: Cell
    improved: Cell
    still_passing: Cell
    still_failing: Cell


@dataclass(frozen=True, slots=True, kw_only=True)
class Aggregate:
    """All that is told of one run. None is withheld; ``pass_percent_band`` is (from, to)."""

    alias: str
    published_on: date
    ran_on: date
    arm: Arm
    tier: Tier
    is_mock: bool
    trials_per_case: int | None
    cases: int
    passed: Cell
    failed: Cell
    left_out: Cell
    pass_percent: int | None
    pass_percent_band: tuple[int, int]
    previous: Changes | None

    def as_document(self) -> dict[str, Any]:
        """Return the aggregate as JSON (schema ``holdout-aggregate.v1``)."""
        low, high = self.pass_percent_band
        facts = {
            **asdict(self),
            "published_on": self.published_on.isoformat(),
            "ran_on": self.ran_on.isoformat(),
            "pass_percent_band": {"from": low, "to": high},
        }
        if self.previous is not None:
            facts["previous"]["published_on"] = self.previous.published_on.isoformat()
        document = {"schema": SCHEMA, **facts}
        contract.validate(document, SCHEMA, path="aggregate")
        return document


def publish(run_id: str, alias: str, data: Path) -> dict[str, Any]:
    """Return what may be published of a private run, and record that it was. Twice gives the same again.

    Raises
    ------
    UsageError
        No such private run, an alias that is none or says what is private, too few cases, or a publication that
        would, held against earlier ones, tell of single cases.
    JournalError
        The register of publications is broken, or its key is gone.
    """
    tree = journal.private_tree(data)
    run = Places(data=data, suites=Path(), role=EVALUATOR).run(run_id)
    folder = tree / "runs" / run_id
    if not run.is_private or not folder.is_dir():
        raise UsageError("is no run of a private suite; a public one has reports", path=folder)
    _check_alias(alias, folder)
    with holdout_register.opened(tree) as register:
        publication = _publication(run, alias, register)
        before = register.same(publication)
        if before is not None:
            return before
        register.check(publication)
        if len(publication.cases) < FEWEST:
            raise UsageError(f"fewer than {FEWEST} cases passed or failed, so nothing can be told of them")
        document = _aggregate(run, publication, register, tree).as_document()
        register.add(publication, document)
        return document


def withheld(cells: Sequence[int]) -> tuple[Cell, ...]:
    """Return the cells of a table whose margins are known, or None for all of them.

    With its margins, from this publication and the one before, any one cell of such a table would give the
    others; so one that is small takes all of them with it.
    """
    return tuple(cells) if min(cells) >= FEWEST else (None,) * len(cells)


def percent_band(passed: int, cases: int) -> tuple[int, int]:
    """Return the band, in percent, that a share lies in: wide enough that at least five counts share it."""
    parts = next(parts for parts in _BANDS if parts * FEWEST <= cases)
    lowest = min(passed * parts // cases, parts - 1)
    return 100 * lowest // parts, 100 * (lowest + 1) // parts


# --- the parts -------------------------------------------------------------------------------------


def _publication(run: Baseline, alias: str, register: Register) -> Publication:
    counted = {Status.PASS: True, Status.FAIL: False}
    return Publication(
        alias=alias,
        suite=register.keyed("suite", run.suite_id),
        run=run.sha256,
        run_id=run.run_id,
        cases={
            register.keyed("case", run.suite_id, case["id"], str(case.get("case_hash"))): counted[status]
            for case in run.record["case_results"]
            if (status := Status(case["status"])) in counted
        },
    )


def _aggregate(run: Baseline, publication: Publication, register: Register, tree: Path) -> Aggregate:
    record, n, n_passed = run.record, len(publication.cases), sum(publication.cases.values())
    passed, failed = withheld((n_passed, n - n_passed))
    left_out = len(record["case_results"]) - n
    last = register.last(publication, record["arm"])
    return Aggregate(
        alias=publication.alias,
        published_on=datetime.now(UTC).date(),
        ran_on=date.fromisoformat(record["started_at"][:10]),
        arm=Arm(record["arm"]),
        tier=Tier(record["suite"]["tier"]),
        is_mock=bool(record["is_mock"]),
        trials_per_case=_trials_per_case(record),
        cases=n,
        passed=passed,
        failed=failed,
        left_out=left_out if left_out >= FEWEST else None,
        pass_percent=None if passed is None else round(100 * n_passed / n),
        pass_percent_band=percent_band(n_passed, n),
        previous=None if last is None else _changes(run, publication, last, tree),
    )


def _trials_per_case(record: Mapping[str, Any]) -> int | None:
    """Return how many trials each case had; None where they had different numbers, which would tell them apart."""
    counts = {case.get("trials") for case in record["case_results"]}
    return counts.pop() if len(counts) == 1 else None


def _changes(run: Baseline, publication: Publication, last: Mapping[str, Any], tree: Path) -> Changes:
    now, then = publication.cases, last["cases"]
    same = now.keys() == then.keys()
    pairs = [(then[key], now[key]) for key in now] if same else []
    kinds = ((True, False), (False, True), (True, True), (False, False))
    cells = withheld([pairs.count(kind) for kind in kinds])
    return Changes(
        published_on=date.fromisoformat(last["published"]["published_on"]),
        same_cases=same,
        verdict=_verdict(run, tree / "runs" / last["run_id"]) if len(pairs) >= FEWEST_JUDGED else None,
        regressed=cells[0],
        improved=cells[1],
        still_passing=cells[2],
        still_failing=cells[3],
    )


def _verdict(run: Baseline, folder: Path) -> Verdict | None:
    """Return what a comparison with the run published before concludes; None where that run is gone."""
    from evalstats.estimates import generator

    try:
        rules = Rules.of(contract.read_json(folder / "suite.json")[0])
        return compare(run, of_run(folder), rules, rng=generator(run_seed(run.run_id))).verdict
    except EvalstatsError:
        return None


# --- the alias -------------------------------------------------------------------------------------


def _check_alias(alias: str, folder: Path) -> None:
    """Raise UsageError for an alias of the wrong form, or one that is or holds a name from the private suite."""
    form = contract.schema(SCHEMA)["$defs"]["alias"]
    if not (re.fullmatch(form["pattern"], alias) and form["minLength"] <= len(alias) <= form["maxLength"]):
        asked = (
            f"{form['minLength']} to {form['maxLength']} small letters and digits, parted by single dashes"
        )
        raise UsageError(f"an alias is {asked}", field="--alias")
    suite, _ = contract.read_json(folder / "suite.json")
    names = [suite["id"], *(case["id"] for case in suite["cases"])]
    names += Path(journal.read_manifest(folder)["places"]["suite"]).parts
    within = {name for name in map(_plain, names) if len(name) >= _SHORTEST_NAME and name in alias}
    if within or alias in set(map(_plain, _texts(suite))):
        raise UsageError("the alias says what is private: it holds a name from the suite", field="--alias")


def _plain(text: str) -> str:
    return re.sub(r"[^a-z0-9]+", "-", text.casefold()).strip("-")


def _texts(node: Any) -> Iterator[str]:
    if isinstance(node, str):
        yield node
    below: Iterable[Any] = (*node.keys(), *node.values()) if isinstance(node, dict) else ()
    for part in node if isinstance(node, list) else below:
        yield from _texts(part)
