"""Forty nights of a real suite, its gate at work, and two hundred replays of the same design.

    python -m benchmarks.nightly_replay [--page docs/nightly-replay.md] [--nights 40] [--replays 200]

The nights are real: `evalstats nightly` runs the solver, publishes a report and judges it, on dates of our choosing.
On one of them the registry version changes, on a later one somebody breaks the skill. Trials, margin and the size of
the break are fixed in `nightly_design`, before anything runs; the replays have the seeds 1, 2, 3 and so on, and all
of them count.
Exit status 1: something did not come out as the design promised.
"""

from __future__ import annotations

import argparse
import contextlib
import io
import json
import os
import platform
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from datetime import UTC, date, datetime, timedelta
from math import sqrt
from pathlib import Path
from statistics import fmean
from typing import Any

import numpy as np

from benchmarks.nightly_design import (
    BREAK_NIGHT,
    BROKEN,
    DECLARED_DROP,
    FIRST,
    IDENTITY_NIGHT,
    NIGHTS,
    NOISY_TRIALS,
    PILOT,
    POLICY,
    TRIALS,
    Design,
    Replay,
    lay_out,
    new_registry,
    pilot,
    replay,
)
from evalstats import estimates, report, stats, store
from evalstats.cli import run_command

# --- the nights --------------------------------------------------------------------------------------


def live(root: Path, folder: Path, nights: int) -> Iterator[dict[str, Any]]:
    """Make the nights one by one, with what happens before each, and yield what came of it."""
    for number in range(1, nights + 1):
        if number == IDENTITY_NIGHT:
            new_registry(folder)
        if number == BREAK_NIGHT:
            (folder / "skill.json").write_text(json.dumps(BROKEN), "utf-8")
        day = (FIRST + timedelta(days=number - 1)).isoformat()
        places = ["--suites", str(root / "evals"), "--data", str(root / "data"), "--progress", "none"]
        asked = ["nightly", "solver", "--as-of", day, "--trials", str(TRIALS), "--json", *places]
        with contextlib.redirect_stdout(io.StringIO()) as said, contextlib.redirect_stderr(io.StringIO()):
            code = run_command(asked)
        if not said.getvalue():
            raise SystemExit(f"night {number} ended with {code} and without a word")
        part = json.loads(said.getvalue())["suites"]["solver"]
        published = report.read_report(root / "data" / "reports" / part["report"])
        score = published["series"][-1]["score"]
        yield {"night": number, "day": day, "code": code, "score": score, "judged": part["judged"]}


def dated(root: Path) -> list[str]:
    """Return the days on which the level of the suite changed, as seen from the last night."""
    with store.open(root / "data" / "evalstats.duckdb", read_only=True) as opened:
        series = estimates.series(opened.case_runs("solver"))
    return [str(at.date()) for at in estimates.change_points(series)["changed_at"]]


# --- the page ----------------------------------------------------------------------------------------


def design_text(design: Design) -> str:
    """Return the arithmetic of the design, as it stood before the first night."""
    look, promised = design.at(8), design.promised()
    at = {point.drop: point for point in promised.curve}
    cases = len(design.whole)
    margin, alpha = POLICY["margin"], POLICY["alpha"]
    head = f"""Fixed before the first night: {cases} cases, {TRIALS} trials each, margin {margin:.2f}, error rate
{alpha:.2f} over at most {POLICY["reruns"]} looks, and a break of about {DECLARED_DROP:.2f}. The pilot, {PILOT} trials
a case with seeds that no night has, says:"""
    rows = [
        ("mean score", f"{design.centre:.3f} whole, {design.centre - design.drop:.3f} broken"),
        ("true drop", f"{design.drop:.3f}"),
        ("variance of a trial within its case", f"{design.within:.4f}"),
        ("scatter of a night", f"sqrt({design.within:.4f} / ({cases} x {TRIALS})) = {design.run_sd:.4f}"),
        ("standard error against 8 nights", f"{design.run_sd:.4f} x sqrt(1 + 1/8) = {look.std_error:.4f}"),
        ("blocked above", f"{look.block_above:.4f}"),
        ("smallest drop seen with power .80 (MDE)", f"{look.detectable:.4f}, below the margin of {margin:.2f}"),
        ("promised: unchanged suite blocked", f"{at[0.0].block:.2%} over all looks, at most {alpha:.0%}"),
        ("promised: drop of one margin blocked", f"{at[margin].block:.1%}, at least {POLICY['power']:.0%}"),
        ("promised: planted drop blocked", f"{at[DECLARED_DROP].block:.1%}"),
    ]  # fmt: skip
    return "\n".join([head, "", "| what | value |", "|---|---|", *(f"| {a} | {b} |" for a, b in rows)])


def nights_text(nights: Sequence[Mapping[str, Any]], changes: Sequence[str]) -> str:
    """Return the table of the real nights and what was seen."""
    lines = [
        "| night | date | score | verdict | drop | history | exit |",
        "|---:|---|---:|---|---:|---:|---:|",
    ]
    for told in nights:
        judged = told["judged"]
        drop = "–" if judged["drop"] is None else f"{judged['drop']:+.3f}"
        word = judged["verdict"].replace("_", " ")
        history = len(judged["history"])
        cells = (told["night"], told["day"], f"{told['score']:.3f}", word, drop, history, told["code"])
        lines.append(f"| {' | '.join(map(str, cells))} |")
    return "\n".join(lines) + f"\n\nChange points, dated from the last night: {', '.join(changes) or 'none'}."


def replays_text(found: Sequence[Replay], noisy: Sequence[Replay], design: Design) -> str:
    """Return the false blocks and the delay of all replays, next to what was promised, as designed and with noise."""
    noisier, n = _noisy(design), len(found)
    head = f"""{n} replays, seeds 1 to {n} in order. Each has forty nights with scores drawn from those of the pilot,
every night judged by the gate with the looks that `nightly` would take."""
    bare = f"""In this design the margin decides what is blocked, and the noise hardly has a say. So once more with
{NOISY_TRIALS} trial a case, the same seeds and policy, where the noise decides: a night scatters by
{noisier.run_sd:.4f}, and some nights are too noisy to be judged."""
    return "\n\n".join([head, _told(found, design), bare, _told(noisy, noisier)])


def _told(found: Sequence[Replay], design: Design) -> str:
    at = {point.drop: point for point in design.promised().curve}
    judged, blocked = sum(r.judged for r in found), sum(r.blocked for r in found)
    ever = sum(r.blocked > 0 for r in found)
    most = stats.clopper_pearson(ever, len(found)).conf_high
    delays = [r.delay for r in found if r.delay is not None]
    same, near = (
        [d is not None and abs(d) <= n for d in ds].count(True) / len(found)
        for n, ds in ((0, [r.delay for r in found]), (1, [r.dated for r in found]))
    )
    alpha = f"{at[0.0].block:.2%} a candidate, at most {POLICY['alpha']:.0%}"
    rows = [
        ("unchanged nights blocked", f"{blocked} of {judged} ({blocked / judged:.2%})", alpha),
        ("replays with any such night", f"{ever} of {len(found)}, at most {most:.1%} (95%)", "–"),
        ("what the gate itself printed, on average", f"{fmean(r.said for r in found):.2%} a look", "–"),
        ("break blocked on the same night", f"{same:.1%}", f"{at[DECLARED_DROP].block:.1%} over all looks"),
        ("nights until it was blocked", f"mean {fmean(delays):.2f}, at most {max(delays)}" if delays else "never", "0"),
        ("never blocked", str(len(found) - len(delays)), "0"),
        ("change point within 1 night", f"{near:.1%}", "–"),
    ]  # fmt: skip
    return "\n".join(
        ["| what | replays | promised |", "|---|---|---|", *(f"| {a} | {b} | {c} |" for a, b, c in rows)]
    )


def _noisy(design: Design) -> Design:
    return replace(design, trials=NOISY_TRIALS)


def faults(nights: Sequence[Mapping[str, Any]], changes: Sequence[str], found: Sequence[Replay]) -> list[str]:
    """Return what did not come out as the design promised."""
    by_night = {told["night"]: told["judged"] for told in nights}
    wrong = []
    if IDENTITY_NIGHT in by_night:
        cut = by_night[IDENTITY_NIGHT]
        if cut["verdict"] != "cannot_gate" or not any(
            "registry_version" in reason for reason in cut["reasons"]
        ):
            wrong.append("the new registry did not restart the history")
    if BREAK_NIGHT in by_night:
        broken = (FIRST + timedelta(days=BREAK_NIGHT - 1)).isoformat()
        if by_night[BREAK_NIGHT]["verdict"] != "regression":
            wrong.append("the break was not blocked")
        if not any(abs((date.fromisoformat(day) - date.fromisoformat(broken)).days) <= 1 for day in changes):
            wrong.append("no change point dates the break within one night")
    rates = [r.blocked / r.judged for r in found if r.judged]
    error = float(np.std(rates, ddof=1)) / sqrt(len(rates)) if len(rates) > 1 else 1.0
    if rates and fmean(rates) - 3 * error > POLICY["alpha"]:
        wrong.append("the replays block more unchanged nights than the policy allows")
    if any(r.delay is None for r in found):
        wrong.append("a replay never blocks the break")
    return wrong


def page(parts: Mapping[str, str], seconds: Mapping[str, float]) -> str:
    """Return the whole page."""
    day, cores, load = datetime.now(UTC).date().isoformat(), os.cpu_count(), os.getloadavg()[2]
    took = ", ".join(f"{name} {value:.0f} s" for name, value in seconds.items())
    head = f"""# Forty nights

Generated by `python -m benchmarks.nightly_replay`, which `make slow` runs: {day}, Python {platform.python_version()},
{platform.machine()} with {cores} cores under a load of {load:.0f} ({took}).

Every night below is one call of `evalstats nightly solver --as-of DATE`: real trials of the bundled solver, a published
report, a verdict. Only the calendar is simulated, and the runs say so. On night {IDENTITY_NIGHT} the registry version
changes. On night {BREAK_NIGHT} the solver's skill is broken."""
    return "\n\n".join([head, *(f"## {title}\n\n{text}" for title, text in parts.items())]) + "\n"


def main() -> int:
    """Run the nights and the replays, and write the page."""
    asked = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    asked.add_argument("--page", type=Path, help="write the page here")
    asked.add_argument("--nights", type=int, default=NIGHTS)
    asked.add_argument("--replays", type=int, default=200)
    given = asked.parse_args()
    seconds, nights = {}, []
    with tempfile.TemporaryDirectory(prefix="nightly-replay-") as place:
        root = Path(place)
        folder = lay_out(root)
        began = time.monotonic()
        design = pilot(folder)
        seconds["pilot"] = time.monotonic() - began
        parts = {"The design": design_text(design)}
        print(parts["The design"], flush=True)
        began = time.monotonic()
        for told in live(root, folder, given.nights):
            nights.append(told)
            print(f"night {told['night']}: {told['score']:.3f} {told['judged']['verdict']}", flush=True)
        seconds["nights"] = time.monotonic() - began
        changes = dated(root)
    parts["The nights"] = nights_text(nights, changes)
    began = time.monotonic()
    found, noisy = ([replay(d, n) for n in range(1, given.replays + 1)] for d in (design, _noisy(design)))
    seconds["replays"] = time.monotonic() - began
    parts["The replays"] = replays_text(found, noisy, design)
    wrong = faults(nights, changes, found)
    parts["As promised?"] = "\n".join(f"- **{fault}**" for fault in wrong) or "Yes, in every point above."
    text = page(parts, seconds)
    if given.page:
        given.page.write_text(text, "utf-8")
    print(text)
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
