"""``evalstats compare``: is B better than A? Any logs, runs or arms, without a report and without a store."""

from __future__ import annotations

from collections.abc import Sequence
from math import isnan
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from evalstats.cli.imports import ClusterKey, Columns, Format, Metric, ScoreRange, Suite, options
from evalstats.cli.options import DEFAULT_DATA, Data, Json, StorePath, print_json, store_path
from evalstats.cli.tables import print_table, say
from evalstats.errors import UsageError

if TYPE_CHECKING:
    from evalstats.cli.sources import Source
    from evalstats.estimates.several_sides import Pair
    from evalstats.gate import Policy

SHOWN = 5

Names = Annotated[
    list[str],
    typer.Argument(help="Files or folders (also NAME=PATH), SUITE@ARM, or run ids.", metavar="A B..."),
]
PolicyPath = Annotated[Path | None, typer.Option("--policy", help="Policy whose margin and alpha decide.")]
Margin = Annotated[float | None, typer.Option(help="Smallest difference that matters; also from --policy.")]


def compare(
    names: Names,
    margin: Margin = None,
    policy: PolicyPath = None,
    level: Annotated[float, typer.Option(help="Level of the intervals.")] = 0.95,
    seed: Annotated[int, typer.Option(min=0, help="Seed, where an interval is resampled.")] = 1,
    format: Format = "auto",
    suite: Suite = None,
    cluster_key: ClusterKey = None,
    metric: Metric = None,
    columns: Columns = None,
    score_range: ScoreRange = "0:1",
    data: Data = DEFAULT_DATA,
    store: StorePath = None,
    as_json: Json = False,
) -> int:
    """Is B better than A, on the cases they share?

    The difference is B minus A. With more than two sides, every pair, corrected. A verdict is given only under a
    policy: exit 0 pass or improvement, 1 regression, 3 nothing may be concluded, 4 inconclusive.

    Example: evalstats compare base=logs/a.eval new=logs/b.eval --margin 0.05
    """
    from evalstats.cli import sources

    read = options(
        suite=suite, cluster_key=cluster_key, metric=metric, columns=columns, score_range=score_range
    )
    kind = "table" if columns and format == "auto" else None if format == "auto" else format
    found = sources.gather(names, read, format=kind, store=store_path(data, store))
    if len(found) < 2:
        raise UsageError("needs two sides; this is one", path=names[0])
    rules = _policy(policy)
    asked = margin if rules is None or margin is not None else rules.margin
    result = Result.of(
        found, clustered=cluster_key is not None, level=level, margin=asked, seed=seed, rules=rules
    )
    if as_json:
        print_json(result.as_record())
    else:
        result.show()
    return result.exit_code


def _policy(path: Path | None) -> Policy | None:
    if path is None:
        return None
    from evalstats import gate

    return gate.policy_of(gate.read_policy(path))


class Result:
    """A comparison of two or more sources, ready to be shown."""

    def __init__(self, sources: list[Source], pairs: list[Pair], left_out: list[str]) -> None:
        self.sources, self.pairs, self.left_out = sources, pairs, left_out
        self.level: float = 0.95
        self.margin: float | None = None
        self.rates: list[Any] = []
        self.clustered: list[Any] = []
        self.verdict: Any = None
        self.reasons: list[str] = []

    @classmethod
    def of(
        cls,
        found: list[Source],
        *,
        clustered: bool,
        level: float,
        margin: float | None,
        seed: int,
        rules: Any,
    ) -> Result:
        """Compare the sources, leaving out of all the cases that do not ask the same everywhere."""
        import numpy as np

        from evalstats.cli.sources import asked_differently
        from evalstats.estimates.several_sides import pairwise
        from evalstats.estimates.sides import is_graded, mean_of

        left_out = asked_differently(found)
        for source in found:
            source.cases = {
                case_id: case for case_id, case in source.cases.items() if case_id not in left_out
            }
        sides = [source.side(clustered=clustered) for source in found]
        rng = np.random.default_rng(seed)
        result = cls(found, pairwise(sides, rng=rng, level=level, margin=margin), left_out)
        result.level, result.margin = level, margin
        graded = is_graded(*sides)
        result.rates = [mean_of(side, graded=graded, level=level) for side in sides]
        result._conclude(rules)
        return result

    def _conclude(self, rules: Any) -> None:
        from evalstats.governance import between

        pair = self.pairs[-1] if len(self.pairs) == 1 else None
        if pair is None:
            self.reasons = ["several sides: no verdict, see the pairs"]
            return
        around = self._circumstances()
        if rules is not None:
            self.verdict, self.reasons = between.verdict(
                pair.found, around, alpha=rules.alpha, limit=rules.max_infrastructure_rate
            )
        else:
            self.reasons = between.against(pair.found, around)
        self.reasons += [r for r in between.underpowered(pair.found, self.margin) if r not in self.reasons]

    def _circumstances(self) -> Any:
        from evalstats.governance.between import Circumstances

        a, b = self.sources
        scores = [{k: (c.n_usable, c.score_sum) for k, c in s.cases.items()} for s in (a, b)]
        return Circumstances(
            lost=tuple((s.name, s.n_infrastructure / max(s.n_trials, 1)) for s in (a, b)),
            mocks=tuple(s.name for s in (a, b) if s.is_mock),
            identical=len(scores[0]) > 1 and scores[0] == scores[1],
        )

    @property
    def exit_code(self) -> int:
        """Return 0, 1, 3 or 4; without a policy, 3 where there is nothing to compare and else 0."""
        from evalstats.governance.between import EXIT_CODES

        if self.verdict is None and all(
            isnan(pair.found.estimates["difference"].estimate) for pair in self.pairs
        ):
            return 3
        return EXIT_CODES[self.verdict]

    @property
    def groups(self) -> list[list[str]]:
        """Return the sides that no test tells apart; nothing for a single pair."""
        from evalstats.estimates.several_sides import not_told_apart

        return not_told_apart(self.pairs) if len(self.pairs) > 1 else []

    def notes(self) -> list[str]:
        """Return what a reader must know beside the numbers."""
        notes = [note for source in self.sources for note in source.notes]
        for source in self.sources:
            lost = source.n_trials - source.n_usable
            if lost:
                notes.append(
                    f"{source.name}: {lost} of {source.n_trials} trials have no score and are left out"
                )
            if len(source.runs) > 1:
                notes.append(f"{source.name}: {len(source.runs)} runs are pooled")
            if source.never_varies:
                notes.append(
                    f"{source.name}: no case ever gave two different scores: copies, or deterministic"
                )
        if self.left_out:
            notes.append(
                f"{len(self.left_out)} case(s) ask different things and are left out: {_few(self.left_out)}"
            )
        return list(dict.fromkeys(notes))

    # --- for scripts ------------------------------------------------------------------------------

    def as_record(self) -> dict[str, Any]:
        """Return the comparison as plain data: the fields of Estimate and Test, each with what it is of."""
        estimates = [
            {"side": s.name, "quantity": "mean", **_known(r)}
            for s, r in zip(self.sources, self.rates, strict=True)
        ]
        found = [
            {"side": p.new.name, "minus": p.old.name, "quantity": name, **_known(e)}
            for p in self.pairs
            for name, e in p.found.estimates.items()
        ]
        tests = [
            {"side": p.new.name, "minus": p.old.name, "test": name, **_known(t)}
            for p in self.pairs
            for name, t in p.found.tests.items()
        ]
        alone = [
            {"side": p.new.name, "minus": p.old.name, **a._asdict()}
            for p in self.pairs
            for a in p.found.alone
        ]
        return {
            "sides": [_side(source) for source in self.sources],
            "estimates": found + estimates,
            "tests": tests,
            "attrition": alone,
            "asked_differently": self.left_out,
            "not_told_apart": self.groups,
            "verdict": self.verdict,
            "reasons": self.reasons,
            "notes": self.notes(),
            "exit_code": self.exit_code,
        }

    # --- for people -------------------------------------------------------------------------------

    def show(self) -> None:
        """Print the comparison."""
        rows = [
            (s.name, r.n_cases, r.n_trials, *_bounds(r), r.method)
            for s, r in zip(self.sources, self.rates, strict=True)
        ]
        print_table(("side", "cases", "trials", "mean", f"{self.level:.0%} interval", "method"), rows)
        say()
        for pair in self.pairs:
            self._show_pair(pair)
        for group in self.groups:
            say(f"not told apart: {', '.join(group)}")
        if len(self.pairs) == 1:
            self._show_cases()
        if self.verdict is not None:
            say(str(self.verdict).upper())
        for sentence in [*self.reasons, *self.notes()]:
            say(f"- {sentence}")

    def _show_pair(self, pair: Pair) -> None:
        found = pair.found
        difference, tests = found.estimates["difference"], found.tests
        mean, interval = _bounds(difference, sign=True)
        say(f"{pair.new.name} minus {pair.old.name}: {mean} {interval} ({difference.method})")
        units = f"{difference.n_cases} shared cases"
        if difference.n_clusters is not None:
            units += f" in {difference.n_clusters} clusters"
        seen = found.estimates["detectable"].estimate
        power = "" if isnan(seen) else f"; detectable: {seen:.3f}"
        say(f"  {units}, {len(found.alone)} unmatched; p {_p(tests['difference'])}{power}")
        if "equivalence" in tests:
            told = f"equivalent {_p(tests['equivalence'])}, not worse {_p(tests['non-inferiority'])}"
            say(f"  margin {self.margin:g}: p {told}")
        for caveat in difference.caveats:
            say(f"  {caveat}")

    def _show_cases(self) -> None:
        """Print the cases that moved most: a mean can hide a case that fails every time."""
        a, b = self.sources
        moved = sorted(
            ((b.cases[k], a.cases[k], k) for k in a.cases.keys() & b.cases.keys()),
            key=lambda each: (-abs(_mean(each[0]) - _mean(each[1])), each[2]),
        )
        rows = [
            (k, f"{x.n_passed}/{x.n_usable}", f"{y.n_passed}/{y.n_usable}", _mean(y) - _mean(x))
            for y, x, k in moved[:SHOWN]
            if x.n_usable and y.n_usable and _mean(y) != _mean(x)
        ]
        if rows:
            say()
            print_table(("moved most", a.name, b.name, "difference"), rows)
            say()


def _mean(case: Any) -> float:
    return case.score_sum / case.n_usable if case.n_usable else 0.0


def _side(source: Source) -> dict[str, Any]:
    names = ("name", "suite", "n_trials", "n_usable", "n_infrastructure", "is_mock")
    return {name: getattr(source, name) for name in names} | {
        "n_cases": len(source.cases),
        "runs": sorted(source.runs),
    }


def _known(record: Any) -> dict[str, Any]:
    """Return a record with NULL for what is not known; its caveats say why."""
    return {
        name: None if isinstance(value, float) and isnan(value) else value
        for name, value in record.as_row().items()
    }


def _bounds(estimate: Any, *, sign: bool = False) -> tuple[str, str]:
    form = "+.3f" if sign else ".3f"
    mean = "unknown" if isnan(estimate.estimate) else format(estimate.estimate, form)
    if isnan(estimate.conf_low):
        return mean, "no interval"
    return mean, f"[{estimate.conf_low:{form}}, {estimate.conf_high:{form}}]"


def _p(test: Any) -> str:
    return "unknown" if isnan(test.p_value) else f"{test.p_value:.2g}"


def _few(names: Sequence[str]) -> str:
    return ", ".join(names[:SHOWN]) + (f" and {len(names) - SHOWN} more" if len(names) > SHOWN else "")
