"""``evalstats gate``: a published report, a policy, a verdict; and how often that verdict would be wrong."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from evalstats.cli.options import DEFAULT_DATA, Data, Json, Reports, print_json, reports_path
from evalstats.cli.outputs import check_files, write_files
from evalstats.cli.tables import print_table, say
from evalstats.contract import GateRule
from evalstats.errors import UsageError

if TYPE_CHECKING:
    from evalstats.gate import Calibration, GateResult, Simulation

app = typer.Typer()
Report = Annotated[str, typer.Argument(help="A report version: a path, or NOTEBOOK/SUBJECT[/VERSION].")]
Policy = Annotated[Path, typer.Option("--policy", help="The policy file (policy.v1).")]
Seed = Annotated[int, typer.Option("--seed", min=0, help="Seed of what is simulated; recorded.")]
Rule = Annotated[GateRule | None, typer.Option("--rule", help="Another rule than that of the policy.")]
TODAY = 20_260_101  # a seed like any other, the same for everybody


@app.command()
def decide(
    report: Annotated[
        str, typer.Argument(help="A report version (a path, or NOTEBOOK/SUBJECT[/VERSION]), or a scorecard.")
    ],
    policy: Annotated[Path | None, typer.Option("--policy", help="The policy file (policy.v1).")] = None,
    reruns: Annotated[int, typer.Option(min=1, help="How many of the last runs are the candidate.")] = 1,
    candidate: Annotated[str | None, typer.Option(help="The run that is judged; else the newest.")] = None,
    legacy: Annotated[bool, typer.Option("--legacy", help="Judge by the prescribed lift rule.")] = False,
    smoke: Annotated[bool, typer.Option("--smoke", help="The candidate ran some of the cases.")] = False,
    minimum_delta: Annotated[
        float | None, typer.Option(help="What the aggregate of a scorecard must reach.")
    ] = None,
    as_of: Annotated[str | None, typer.Option(help="Judge as on this date or time (UTC).")] = None,
    summary: Annotated[Path | None, typer.Option(help="Add the verdict to this Markdown file.")] = None,
    junit: Annotated[Path | None, typer.Option(help="Write the checks to this JUnit XML file.")] = None,
    data: Data = DEFAULT_DATA,
    reports: Reports = None,
    as_json: Json = False,
) -> int:
    """Judge the last run of a report against its history, or a scorecard.

    Exit code: 0 pass, 1 regression, 3 cannot gate, 4 inconclusive.

    Example: evalstats gate variance_bands/solver --policy evals/solver/policy.json
    """
    from evalstats import gate
    from evalstats.governance.main_line import through

    check_files(summary, junit)
    if _is_scorecard(report):
        _for_reports({"--reruns": reruns > 1, "--candidate": candidate is not None, "--legacy": legacy,
                      "--smoke": smoke, "--as-of": as_of is not None})  # fmt: skip
        result = gate.judge_scorecard(Path(report), policy, minimum_delta)
    else:
        rule, until = GateRule.LEGACY if legacy else None, None if as_of is None else through(as_of)
        asked = gate.Asked(reruns=reruns, candidate=candidate, smoke=smoke, rule=rule, as_of=until)
        needed = _needed(policy, minimum_delta)
        result = gate.judge(reports_path(data, reports), report, needed, asked, ledger=data / "gates")
    gate.append(result, data / "gates")
    write_files(summary, gate.summary(result), junit, gate.junit(result))
    _show(result, as_json)
    return result.exit_code


@app.command()
def calibrate(
    report: Report,
    policy: Policy,
    rule: Annotated[list[GateRule] | None, typer.Option("--rule", help="Only these rules.")] = None,
    seed: Seed = TODAY,
    data: Data = DEFAULT_DATA,
    reports: Reports = None,
    as_json: Json = False,
) -> int:
    """Tell how often each rule blocks the unchanged nights of this suite.

    Exit code: 0 the rule keeps what it declares, 1 it does not, 3 nothing tells.

    Example: evalstats gate calibrate variance_bands/solver --policy evals/solver/policy.json
    """
    from evalstats import gate

    _, document, _ = gate.read(reports_path(data, reports), report)
    found = gate.calibrate(document, gate.read_policy(policy), seed=seed, rules=rule)
    if as_json:
        print_json(found.as_record())
    else:
        _show_calibration(found)
    return found.exit_code


@app.command()
def simulate(
    policy: Policy,
    report: Annotated[str | None, typer.Argument(help="Take the noise from this report version.")] = None,
    rule: Rule = None,
    sigma: Annotated[float | None, typer.Option(help="Noise of a run, in place of the report's.")] = None,
    runs: Annotated[int, typer.Option(min=2, help="Runs of history, with --sigma.")] = 28,
    reps: Annotated[int, typer.Option(min=100, help="Suites that are drawn.")] = 4_000,
    seed: Seed = TODAY,
    data: Data = DEFAULT_DATA,
    reports: Reports = None,
    as_json: Json = False,
) -> None:
    """Tell how often the rule would block, pass or stay open, at each true drop.

    Example: evalstats gate simulate variance_bands/solver --policy evals/solver/policy.json
    """
    from evalstats import gate

    rules = gate.read_policy(policy)
    noise = _noise(
        gate, report and gate.read(reports_path(data, reports), report)[1], rules, rule, (sigma, runs)
    )
    found = gate.simulate(noise, rules, seed=seed, rule=rule, reps=reps)
    if as_json:
        print_json(found.as_record())
    else:
        _show_simulation(found)


# --- what was asked ---------------------------------------------------------------------------------


def _is_scorecard(reference: str) -> bool:
    path = Path(reference)
    return path.is_file() and path.name != "report.json"


def _for_reports(given: dict[str, bool]) -> None:
    for option in (name for name, is_given in given.items() if is_given):
        raise UsageError("asks for a run of a report; a scorecard has but one comparison", field=option)


def _needed(policy: Path | None, minimum_delta: float | None) -> Path:
    if minimum_delta is not None:
        raise UsageError(
            "is for a DeltaScorecard file; a report has minimum_delta in its policy", field="--minimum-delta"
        )
    if policy is None:
        raise UsageError("a report is judged by a policy; say which", field="--policy")
    return policy


def _noise(
    gate: Any, report: Any, policy: dict[str, Any], rule: GateRule | None, given: tuple[float | None, int]
) -> Any:
    sigma, runs = given
    if sigma is not None:
        if not 0 < sigma < 1:
            raise UsageError("the noise of a run lies between 0 and 1", field="--sigma")
        return gate.Components(centre=None, run_sd=sigma, nights=runs)
    if report is None:
        raise UsageError("give a report, or the noise of a run with --sigma")
    return gate.components(report, policy, rule)


# --- what is said -----------------------------------------------------------------------------------


def _show(result: GateResult, as_json: bool) -> None:
    from evalstats.gate import pages

    if as_json:
        print_json(result.as_record())
        return
    for line in pages.sentences(result):
        say(line)
    if len(result.checks) > 1:
        print_table(pages.HEADER, pages.rows(result))


def _show_calibration(found: Calibration) -> None:
    rows = [
        (
            f.rule,
            f.way,
            f.nights,
            _percent(f.flip_rate),
            _percent(f.conf_low),
            _percent(f.conf_high),
            _word(f.blessed),
        )
        for f in found.flips
    ]
    print_table(("rule", "way", "nights", "blocked", "from", "to", "kept?"), rows)
    for flips in (f for f in found.flips if f.rule is found.rule):
        say(f"{flips.rule}, {flips.way}: {flips.reason}")


def _word(blessed: bool | None) -> str:
    return {None: "unknown", True: "not refuted", False: "no"}[blessed]


def _show_simulation(found: Simulation) -> None:
    noise = found.components
    told = [
        "cannot be told apart" if part is None else f"{part:.4f}" for part in (noise.trial_sd, noise.night_sd)
    ]
    say(f"{found.suite}, {found.rule}, margin {found.margin:g}, alpha {found.alpha:g}")
    say(
        f"  a run scatters by {noise.run_sd:.4f} over {noise.nights} units; trials {told[0]}, nights {told[1]}"
    )
    rows = [
        (f"{at.drop:.3f}", _percent(at.block), _percent(at.passed), _percent(at.inconclusive))
        for at in found.curve
    ]
    print_table(("true drop", "blocks", "passes", "inconclusive"), _right(rows))
    say(f"  {found.reps} suites, seed {found.seed}")


def _percent(share: float | None) -> str:
    return "–" if share is None else f"{share:.1%}"


def _right(rows: Sequence[Sequence[str]]) -> list[list[str]]:
    """Return cells set to the right under headers of their own width."""
    return [[cell.rjust(7) for cell in row] for row in rows]
