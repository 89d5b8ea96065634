"""``evalstats ratchet``: may this suite block, what is missing, and who made it so?"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from evalstats.cli.baselines import tell
from evalstats.cli.evidence import public_suite
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
from evalstats.cli.tables import print_table, say

if TYPE_CHECKING:
    from evalstats.gate.ratcheting import Grounds
    from evalstats.governance.ratchet import Readiness
    from evalstats.governance.ratchet_records import Log

SEED = 20_260_101  # of what is drawn and simulated; a seed like any other, the same for everybody

app = typer.Typer()
Name = Annotated[str, typer.Argument(help="Suite file, folder or name.", metavar="SUITE")]
PolicyPath = Annotated[
    Path | None, typer.Option("--policy", help="The policy file [default: policy.json beside the suite].")
]
Baselines = Annotated[
    Path | None, typer.Option("--baselines", help="Flat folder of baselines [default: beside each suite].")
]
By = Annotated[str, typer.Option("--by", help="Who signs.")]
Rationale = Annotated[str, typer.Option("--rationale", help="Why, in your own words.")]
Reruns = Annotated[
    int,
    typer.Option("--reruns", min=1, help="Runs of a candidate, on nights of their own, that the gate sees."),
]


@app.command()
def check(
    name: Name,
    policy: PolicyPath = None,
    reruns: Reruns = 1,
    suites: Suites = DEFAULT_SUITES,
    baselines: Baselines = None,
    data: Data = DEFAULT_DATA,
    store: StorePath = None,
    as_json: Json = False,
) -> int:
    """Tell whether a suite is ready to block, and what is missing.

    Exit code: 0 READY; 1 NOT_READY or REVOKED.

    Example: evalstats ratchet solver --policy evals/solver/policy.json
    """
    from evalstats.gate import ratcheting

    stands_on = grounds_of(name, policy, suites, data, store)
    found = ratcheting.readiness(stands_on, baselines, seed=SEED, reruns=reruns)
    if as_json:
        print_json(found.as_record())
    else:
        _show(found)
    return 0 if found.state == "READY" else 1


@app.command()
def promote(
    name: Name,
    by: By = "",
    rationale: Rationale = "",
    policy: PolicyPath = None,
    reruns: Reruns = 1,
    suites: Suites = DEFAULT_SUITES,
    baselines: Baselines = None,
    data: Data = DEFAULT_DATA,
    store: StorePath = None,
    as_json: Json = False,
) -> int:
    """Make a suite block, if it is READY, and record who did so and why.

    Exit code: 0 it blocks now; 1 refused.

    Example: evalstats ratchet promote solver --by ada --rationale "steady for four weeks"
    """
    from evalstats.governance.ratchet_records import promote as record

    found = grounds_of(name, policy, suites, data, store)
    return _signed(record, found, _report(found, baselines, reruns), baselines, (by, rationale), as_json)


@app.command()
def revoke(
    name: Name,
    by: By = "",
    rationale: Rationale = "",
    policy: PolicyPath = None,
    suites: Suites = DEFAULT_SUITES,
    baselines: Baselines = None,
    data: Data = DEFAULT_DATA,
    store: StorePath = None,
    as_json: Json = False,
) -> int:
    """Let a suite advise again, and record who did so and why.

    Exit code: 0 it advises now; 1 refused.

    Example: evalstats ratchet revoke solver --by ada --rationale "the judge has become noisy"
    """
    from evalstats.governance.ratchet_records import revoke as record

    found = grounds_of(name, policy, suites, data, store)
    return _signed(record, found, _report(found, baselines), baselines, (by, rationale), as_json)


@app.command()
def log(
    name: Name,
    suites: Suites = DEFAULT_SUITES,
    baselines: Baselines = None,
    as_json: Json = False,
) -> int:
    """Show who made a suite block or advise, and whether the record is whole.

    Exit code: 0 whole; 1 a line or a report was changed or is missing.

    Example: evalstats ratchet log solver
    """
    from evalstats.governance import ratchet_records

    suite = public_suite(name, suites)
    found = ratchet_records.read(suite, baselines)
    if as_json:
        told = {"suite": suite.id, "standing": found.standing, "path": str(found.path)}
        print_json({**told, "records": list(found.entries), "problems": list(found.problems)})
    else:
        _show_log(suite.id, found)
    return int(bool(found.problems))


# --- what is done -----------------------------------------------------------------------------------


def grounds_of(name: str, policy: Path | None, suites: Path, data: Path, store: Path | None) -> Grounds:
    """Return what the gate of a public suite would stand on."""
    from evalstats.gate.ratcheting import grounds

    return grounds(public_suite(name, suites), policy, store_path(data, store), data / "gates")


def _report(found: Grounds, baselines: Path | None, reruns: int = 1) -> dict[str, Any]:
    from evalstats.gate.ratcheting import readiness

    return readiness(found, baselines, seed=SEED, reruns=reruns).as_record()


def _signed(
    record: Callable[..., dict[str, Any]],
    found: Grounds,
    report: dict[str, Any],
    baselines: Path | None,
    words: tuple[str, str],
    as_json: bool,
) -> int:
    """Add a record, if nothing speaks against it, and say what it means; return the exit code."""
    from evalstats.governance.ratchet_records import PROMOTE, RatchetRefused, Signature

    signature = Signature(by=words[0], rationale=words[1])
    try:
        entry = record(found.suite, report, found.policy_sha256, signature, baselines)
    except RatchetRefused as refused:
        tell(refused.lines(), refused.as_record(), as_json)
        return refused.exit_code
    stands = "blocks from now on" if entry["action"] == PROMOTE else "only advises from now on"
    said = f"{found.suite.id} {stands}: signed by {entry['by']}, report {entry['report_sha256'][:12]}"
    tell([said], entry, as_json)
    return 0


# --- what is said -----------------------------------------------------------------------------------


def _show(found: Readiness) -> None:
    asked = found.asked
    say(
        f"{found.state}: {asked.suite} ({asked.standing} now); {asked.statistic}, margin {asked.rule.margin:g}"
    )
    for reason in found.reasons:
        say(f"  missing: {reason}")
    for line in (*_more(found), *_noise(found), *_canaries(found)):
        say(f"  {line}")
    for note in (*found.notes, *found.past.left_out):
        say(f"  note: {note}")
    if found.curve:
        say()
        rows = [[f"{at[n]:.1%}".rjust(7) for n in ("block", "block_at_bound")] for at in found.curve]
        drops = [f"{at['drop']:.4f}".rjust(9) for at in found.curve]
        bound = f"blocks, if sigma is {found.noise.spread_bound:.4f}"
        print_table(("true drop", "blocks", bound), [[d, *r] for d, r in zip(drops, rows, strict=True)])


def _more(found: Readiness) -> Iterator[str]:
    if found.state == "READY":
        return
    if found.more_runs is None:
        yield "no number of further runs is enough as it stands; see what is missing"
    elif found.more_runs or found.more_days:
        unit = "clean run" if found.asked.by_canaries else found.asked.unit
        yield f"needs {found.more_runs} more {unit}(s) if nothing changes, over {found.more_days} more day(s)"


def _noise(found: Readiness) -> Iterator[str]:
    noise, runs, rule = found.noise, found.past.runs, found.asked.rule
    if runs:
        yield f"{len(runs)} run(s), {noise.n_units} independent, {runs[0].day} to {runs[-1].day}"
    if noise.spread is None or noise.spread_bound is None or found.asked.by_canaries:
        return
    yield f"sigma {noise.spread:.4f}, at most {noise.spread_bound:.4f} ({noise.level:.0%} confidence in sigma)"
    if noise.largest_ready is not None:
        yield f"READY needs a sigma of {noise.largest_ready:.4f} or less with so many runs"
    if noise.detectable is not None:
        seen = f"a drop of {noise.detectable:.4f} is seen {rule.power:.0%} of the time"
        yield f"{seen}; blocked above {noise.block_above:.4f}"


def _canaries(found: Readiness) -> Iterator[str]:
    seen = found.canaries
    if seen is None or not seen.n_runs:
        return
    high = seen.flake_high() or 1.0
    bound = f"at most {high:.1%} of runs fail one (a bound at 95%, not an estimate)"
    yield f"{len(seen.cases)} canaries: {seen.n_clean} of {seen.n_runs} runs clean; {bound}"


def _show_log(suite: str, found: Log) -> None:
    say(f"{suite} is {found.standing}")
    rows = [
        (e["at"][:10], e["action"], e["by"], e["state"], e["report_sha256"][:12], e["rationale"])
        for e in found.entries
    ]
    if rows:
        print_table(("at", "action", "by", "state", "report", "rationale"), rows)
    for problem in found.problems:
        say(f"{found.path}: {problem}")
