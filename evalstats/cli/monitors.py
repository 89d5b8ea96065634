"""``evalstats monitor`` and ``evalstats smoke``: what the nights of a suite say, and what a few of its cases see."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from evalstats.cli.options import (
    DEFAULT_DATA,
    DEFAULT_SUITES,
    Data,
    Json,
    StorePath,
    Suites,
    print_json,
    store_path,
)
from evalstats.cli.outputs import check_files
from evalstats.cli.ratchets import SEED, Name, PolicyPath, grounds_of
from evalstats.cli.tables import print_table, say
from evalstats.contract import Visibility
from evalstats.errors import UsageError

if TYPE_CHECKING:
    from evalstats.gate.ratcheting import Grounds
    from evalstats.governance.main_line import Watch
    from evalstats.governance.smoke import Subset
    from evalstats.governance.watching import Watched
    from evalstats.store import Store

AsOf = Annotated[str | None, typer.Option("--as-of", help="Look only at runs up to this date or time (UTC).")]


def monitor(
    suite: Annotated[str, typer.Argument(help="Name of the suite in the store.", metavar="SUITE")],
    ref: Annotated[
        list[str] | None,
        typer.Option(help="Git branch whose runs are watched, * for any [default: main, or none recorded]."),
    ] = None,
    since: Annotated[str | None, typer.Option(help="Begin at this date: a change that was accepted.")] = None,
    as_of: AsOf = None,
    exclude: Annotated[list[str] | None, typer.Option(help="Leave out this run or group.")] = None,
    by_run: Annotated[bool, typer.Option("--by-run", help="Chart runs, not nights.")] = False,
    shown: Annotated[int, typer.Option("--nights", min=1, help="How many nights to list.")] = 28,
    seed: Annotated[int, typer.Option(min=0, help="Seed of the simulated limits.")] = SEED,
    data: Data = DEFAULT_DATA,
    store: StorePath = None,
    as_json: Json = False,
) -> int:
    """Chart the nights of a suite and tell what changed.

    Exit code: 0 in control, or an alarm that the next night must confirm; 1 a confirmed alarm;
    3 nothing could be charted.

    Example: evalstats monitor solver
    """
    from evalstats.governance.main_line import MAIN_LINE, Watch

    asked = Watch(
        refs=_refs(ref) if ref else MAIN_LINE,
        since=since,
        until=as_of,
        exclude=frozenset(exclude or ()),
        by_night=not by_run,
    )
    found = _watch(store_path(data, store), suite, asked, seed)
    if as_json:
        print_json({**found.as_record(), "seed": seed})
    else:
        _show(found, shown)
    return found.exit_code


def smoke(
    name: Name,
    policy: PolicyPath = None,
    seed: Annotated[int, typer.Option(min=0, help="Seed of the draw; recorded.")] = SEED,
    per_archetype: Annotated[int, typer.Option(min=1, help="Cases of each archetype.")] = 1,
    out: Annotated[
        Path | None, typer.Option(help="Where to keep the subset [default: DATA/smoke/SUITE-SEED.json].")
    ] = None,
    suites: Suites = DEFAULT_SUITES,
    data: Data = DEFAULT_DATA,
    store: StorePath = None,
    as_json: Json = False,
) -> int:
    """Draw a few cases of each archetype, and tell what drop they can see.

    Exit code: 0 they may gate alone; 3 they cannot see the margin.

    Example: evalstats smoke solver --policy evals/solver/policy.json
    """
    from evalstats.gate import ratcheting

    check_files(out)
    stands_on = grounds_of(name, policy, suites, data, store)
    found = ratcheting.smoke_subset(stands_on, seed=seed, per_archetype=per_archetype)
    document = _kept(found, stands_on, out or data / "smoke" / f"{found.suite}-{seed}.json")
    if as_json:
        print_json(document)
    else:
        _show_smoke(found)
    return 0 if found.sees_margin else 3


def existing_store(path: Path) -> Path:
    """Return the path of a store. Raises UsageError when there is none: reading must not make one."""
    if not path.exists():
        raise UsageError("there is no store; run or import something first", path=path)
    return path


def public_in(opened: Store, suite: str) -> None:
    """Raise UsageError when the store says that the suite is a private holdout."""
    if Visibility.PRIVATE_HOLDOUT in set(opened.runs(suite)["visibility"]):
        raise UsageError("is a private holdout, which is not shown here", field=suite)


def _refs(given: list[str]) -> tuple[str | None, ...]:
    return tuple(None if ref == "none" else ref for ref in given) + ((None,) if "*" in given else ())


def _watch(store: Path, suite: str, asked: Watch, seed: int) -> Watched:
    from evalstats import store as warehouse
    from evalstats.estimates import generator
    from evalstats.governance import main_line, watching

    with warehouse.open(existing_store(store), read_only=True) as opened:
        public_in(opened, suite)
        line = main_line.read(opened, suite, asked)
    return watching.watch(line, rng=generator(seed))


def _kept(found: Subset, stands_on: Grounds, path: Path) -> dict[str, Any]:
    """Write the subset whole or not at all, and return the document."""
    from evalstats import contract
    from evalstats import suite as suites
    from evalstats.governance.baselines import write

    document = {
        **found.as_record(),
        "suite_scoring": suites.hashes(stands_on.suite)["scoring"],
        "policy_sha256": stands_on.policy_sha256,
        "statistic": str(stands_on.policy.statistic),
    }
    contract.validate(document, "smoke-subset.v1", path=path)
    write(path, document)
    return document


# --- what is said -----------------------------------------------------------------------------------


def _show(found: Watched, shown: int) -> None:
    from evalstats.governance.watching import SAID

    say(f"{found.suite}: {found.word.replace('_', ' ').upper()}: {SAID[found.word]}")
    for line in _sentences(found):
        say(f"  {line}")
    say()
    arms = sorted({arm for night in found.nights for arm in night.scores}, reverse=True)
    rows = [row for night in found.nights[-shown:] for row in _night(night, arms)]
    print_table(("night", *arms, "what happened"), rows)
    if len(found.nights) > shown:
        say(f"{len(found.nights) - shown} earlier night(s) not listed; see --nights")
    say()
    header = ("watched", "chart", "nights", "centre", "sigma", "limit", "alarm", "confirmed")
    print_table(header, [_chart(chart) for chart in found.charts])


def _sentences(found: Watched) -> Iterator[str]:
    confirmed = [chart for chart in found.charts if chart["confirmed_alarm"]]
    for watched in dict.fromkeys(chart["watched"] for chart in confirmed):
        since, side = min(
            (c["confirmed_alarm"], c["direction"]) for c in confirmed if c["watched"] == watched
        )
        yield f"{watched} has been {side} its limits since {since[:10]}"
    for change in found.identity_changes[-1:]:
        yield f"the charts begin anew on {change.started_at[:10]}: {change}"
    told: dict[str, list[str]] = {}
    for chart in found.charts:
        for caveat in chart["caveats"]:
            names = told.setdefault(caveat, [])
            names += [chart["watched"]] * (chart["watched"] not in names)
    for caveat, names in told.items():
        yield f"{', '.join(names)}: {caveat}"
    alike = {c["watched"]: c["autocorrelation"] for c in found.charts if c["autocorrelation"] is not None}
    if alike:
        yield f"lag-1 autocorrelation: {', '.join(f'{name} {r:+.2f}' for name, r in alike.items())}"
    if found.incidents:
        yield f"{len(found.incidents)} run(s) are incidents and enter no chart"
    yield from found.left_out


def _night(night: Any, arms: list[str]) -> Iterator[tuple[str, ...]]:
    """Yield one row of a night, and one more for each further thing that happened in it."""
    first, *more = night.events or ("",)
    yield night.started_at[:10], *(_number(night.scores.get(arm)) for arm in arms), first
    for event in more:
        yield ("", *("" for _ in arms), event)


def _chart(chart: Mapping[str, Any]) -> tuple[str, ...]:
    return (
        chart["watched"],
        chart["chart"],
        f"{chart['n_history']}+{chart['n_new']}",
        _number(chart["centre"]),
        _number(chart["sigma"]),
        "–" if chart["limit"] is None else f"{chart['limit']:.1f}",
        *("–" if chart[name] is None else chart[name][:10] for name in ("first_alarm", "confirmed_alarm")),
    )


def _number(value: float | None) -> str:
    return "–" if value is None else f"{value:.3f}"


def _show_smoke(found: Subset) -> None:
    may = "may gate alone" if found.sees_margin else "may not gate alone"
    say(f"{found.suite}: {len(found.case_ids)} cases, seed {found.seed}, {may}")
    say(f"  {found.why}")
    if found.larger:
        more = f"{found.larger.per_archetype} cases of each archetype ({found.larger.n_cases} in all)"
        say(
            f"  {more} would see drops from {found.larger.mde:.3f}: --per-archetype {found.larger.per_archetype}"
        )
    print_table(
        ("archetype", "cases"), [(name, ", ".join(cases)) for name, cases in found.archetypes.items()]
    )
    say(f"evalstats run {found.suite} {' '.join(f'--case {case}' for case in found.case_ids)}")
