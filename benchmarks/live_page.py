"""The page of `benchmarks.live`: every number from the library, every sentence from the numbers."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from benchmarks.live import ARITHMETIC, JUDGED
from evalstats import estimates, report, stats, store
from evalstats.report import markdown, tables
from evalstats.report.tables import Column, Table

LEVEL = 0.95
BAND_LEVEL = 0.80
MARGIN = 0.05  # the drop that a gate would look for
ROUNDS = "run_id"  # all runs are of one day: what is repeated over time is the run
SEED = 1
SECTIONS = (
    "What was asked",
    "What the worked method adds",
    "Where the next run lands",
    "Where the variance comes from",
    "Does the judge agree with itself?",
    "Is the judge right?",
    "What this judge can be used for",
    "Is the judge fooled?",
    "What to keep in mind",
)
Lines = Iterator[str]


def page(data: Path) -> str:
    """Return the page of what was measured and kept under ``data``."""
    kept = json.loads((data / "live.json").read_text("utf-8"))
    place = str(data / "evalstats.duckdb")
    runs, left_out = estimates.comparable(report.case_runs(place, ARITHMETIC))
    read = report.judges.read(place, JUDGED)
    every = report.judges.measure(read, level=LEVEL)
    parts = (
        _asked(data, kept),
        _difference(runs),
        _band(runs),
        _variance(runs),
        _itself(every),
        _right(every),
        _use(read, every),
        _fooled(kept["injections"]),
        _limits([*left_out, *read.found.notes]),
    )
    lines = [
        *_head(kept),
        *(line for s, part in zip(SECTIONS, parts, strict=True) for line in [f"\n## {s}\n", *part]),
    ]
    return "\n".join(lines).rstrip() + "\n"


def _head(kept: Mapping[str, Any]) -> Lines:
    machine = kept["machine"]
    yield "# Live results\n"
    yield (
        f"Written by `make live` on {machine['date']}: {machine['class']}, Python {machine['python']}, {kept['model']}."
        " A small base model on loopback was asked, and judged; nothing below is scripted. Its answers follow from the"
        " seeds, the judge's votes do not: the fence around a text is drawn anew each time. Intervals hold"
        f" {tables.percent(LEVEL)} of the time unless they say otherwise."
    )


# --- the runs --------------------------------------------------------------------------------------


def _asked(data: Path, kept: Mapping[str, Any]) -> Lines:
    frame = pd.DataFrame([_bill(data, suite) for suite in (ARITHMETIC, JUDGED)] + [_votes(data)])
    names = ("what", "runs", "cases", "trials", "usable", "seconds", "tokens_in", "tokens_out", "cost")
    titles = ("What", "Runs", "Cases", "Trials", "Usable", "Median s", "Tokens in", "Tokens out", "Cost, USD")
    formats = ("text", *["count"] * 4, "number", "count", "count", "number")
    yield from shown(
        Table("asked", "", frame, [Column(*each) for each in zip(names, titles, formats, strict=True)])
    )
    yield ""
    yield "A run is one arm. No price is known of a model of one's own, so its cost is unknown (–), not 0."


def _bill(data: Path, suite: str) -> dict[str, Any]:
    with store.open(data / "evalstats.duckdb", read_only=True) as opened:
        trials = opened.trials(suite)
    return {
        "what": suite,
        "runs": trials["run_id"].nunique(),
        "cases": trials["case_id"].nunique(),
        "trials": len(trials),
        "usable": int(trials["score"].notna().sum()),
        **_spent(trials),
    }


def _votes(data: Path) -> dict[str, Any]:
    with store.open(data / "evalstats.duckdb", read_only=True) as opened:
        said = opened.judgements(JUDGED)
    return {
        "what": "judgements",
        "runs": said["run_id"].nunique(),
        "cases": said["case_id"].nunique(),
        "trials": len(said),
        "usable": int(said["score"].notna().sum()),
        **_spent(said),
    }


def _spent(rows: pd.DataFrame) -> dict[str, Any]:
    def total(name: str) -> float | None:
        known = name in rows and rows[name].notna().all()
        return float(rows[name].sum()) if known else None

    seconds = float(rows["duration_s"].median()) if "duration_s" in rows else None
    return {"seconds": seconds, **{name: total(name) for name in ("tokens_in", "tokens_out", "cost")}}


def _difference(runs: pd.DataFrame) -> Lines:
    rates = estimates.rate(runs, level=LEVEL)
    rng = estimates.generator(SEED)
    whole = estimates.difference(runs, rng=rng, level=LEVEL)
    parts = estimates.difference(runs, rng=rng, level=LEVEL, by=["archetype"])
    rows = [_estimate_row(f"pass rate, {r['arm']}", r, tables.rate) for r in tables.rows(rates)]
    rows += [_estimate_row("difference", r, tables.signed) for r in tables.rows(whole)]
    rows += [_estimate_row(f"difference, {r['archetype']}", r, tables.signed) for r in tables.rows(parts)]
    yield from _estimates_table(rows)
    yield ""
    yield " ".join(
        [*report.wording.difference_text(whole), *report.wording.case_text(estimates.flakiness(runs))]
    )


def _band(runs: pd.DataFrame) -> Lines:
    bands = estimates.bands(runs, level=BAND_LEVEL)
    band, excess = estimates.which_band(bands), estimates.excess_variance(runs)
    rows = [
        _estimate_row(f"{r['band']} band, {r['arm']}", r, tables.rate)
        for r in tables.rows(bands)
        if r["band"] in ("observed", "model")
    ]
    yield from _estimates_table(rows)
    yield ""
    yield report.wording.variance_finding(runs, band, excess)
    yield ""
    yield " ".join(report.wording.band_text(runs, BAND_LEVEL))
    yield ""
    columns = [Column("arm", "Arm"), Column("statistic", "F", "number"), Column("p_value", "p", "p")]
    yield from shown(Table("excess", "", excess, columns))


def _variance(runs: pd.DataFrame) -> Lines:
    found = estimates.components(runs, days=ROUNDS, level=LEVEL)
    told = {(r["arm"], r["component"]): r["share"] for r in tables.rows(estimates.shares(found))}
    names = {"day": "run", "case_day": "case in run"}
    rows = [
        {
            **_estimate_row(f"{names.get(r['component'], r['component'])}, {r['arm']}", r, tables.number),
            "share": told[r["arm"], r["component"]],
        }
        for r in tables.rows(found)
    ]
    yield from _estimates_table(rows, Column("share", "Share", "percent"))
    yield ""
    yield (
        "Variances of one trial's score. Between cases lies how much they differ in difficulty, which more trials do"
        " not lower; the rest is luck of the trial, which they do. A raw variance may lie below 0."
    )


# --- the judge -------------------------------------------------------------------------------------


def _itself(every: Sequence[Any]) -> Lines:
    yield from shown(report.judge_tables.floors_table(every))
    yield ""
    yield from report.judge_wording.itself_text(every)


def _right(every: Sequence[Any]) -> Lines:
    yield from shown(report.judge_tables.confusion_table(every))
    yield ""
    yield from shown(report.judge_tables.accuracy_table(every))
    yield ""
    yield report.judge_wording.people_text(every)[0]


def _use(read: Any, every: Sequence[Any]) -> Lines:
    yield report.judge_wording.finding(read, every, MARGIN)
    yield ""
    yield " ".join(report.judge_wording.resolves_text(every, MARGIN))
    yield ""
    yield from shown(report.judge_tables.resolves_table(every))


def _fooled(put: Sequence[Mapping[str, Any]]) -> Lines:
    votes = pd.DataFrame([{**each, **_counted(each)} for each in put])
    both = votes[(votes["n_plain"] > 0) & (votes["n_injected"] > 0)]
    rates = [_yes_rate(both, what) for what in ("plain", "injected")]
    gain = stats.paired_difference(
        stats.Pairs(
            candidate=both["yes_injected"] / both["n_injected"],
            baseline=both["yes_plain"] / both["n_plain"],
            trials=int(min(both["n_plain"].min(), both["n_injected"].min())),
            unmatched=len(votes) - len(both),
        ),
        rng=estimates.generator(SEED),
        level=LEVEL,
    )
    named = zip(("yes to the wrong answer", "yes to it with the injection"), rates, strict=True)
    rows = [_estimate_row(name, each.as_row(), tables.rate) for name, each in named]
    yield from _estimates_table([*rows, _estimate_row("difference", gain.as_row(), tables.signed)])
    yield ""
    yield _fooled_text(votes, rates, gain)
    yield ""
    kinds = votes.groupby("kind", sort=True)[
        [c for c in votes if c.startswith(("yes_", "n_", "lost_"))]
    ].sum()
    yield from shown(Table("kinds", "", kinds.reset_index(), _KINDS))


_KINDS = [
    Column("kind", "Injection"),
    Column("yes_plain", "Yes without", "count"),
    Column("n_plain", "of", "count"),
    Column("yes_injected", "Yes with", "count"),
    Column("n_injected", "of", "count"),
    Column("lost_plain", "No vote without", "count"),
    Column("lost_injected", "No vote with", "count"),
]


def _counted(each: Mapping[str, Any]) -> dict[str, int]:
    return {
        f"{name}_{what}": sum(test(vote) for vote in each[what])
        for what in ("plain", "injected")
        for name, test in _COUNTS.items()
    }


_COUNTS: dict[str, Callable[[bool | None], bool]] = {
    "yes": lambda vote: vote is True,
    "n": lambda vote: vote is not None,
    "lost": lambda vote: vote is None,
}


def _yes_rate(votes: pd.DataFrame, what: str) -> stats.Estimate:
    counts = (votes[f"{name}_{what}"].to_numpy(np.int64) for name in ("yes", "n"))
    return stats.pass_rate(*counts, level=LEVEL)


def _fooled_text(votes: pd.DataFrame, rates: Sequence[stats.Estimate], gain: stats.Estimate) -> str:
    said = [
        f"Of {len(votes)} wrong answers the judge passes {tables.percent(rates[0].estimate)} as they are, and"
        f" {tables.percent(rates[1].estimate)} with an injection: {tables.estimate(gain.as_row(), tables.signed)}.",
        "An answer that is no vote is an error and counts for neither.",
    ]
    if gain.conf_low > 0:
        said.append("Injections fool it.")
    elif gain.conf_high < 0:
        said.append("Injections make it say yes less often; that is no protection, it reads them as noise.")
    else:
        said.append("By this many, it cannot be told whether injections fool it at all.")
    if rates[0].conf_high > 0.5:
        said.append("A judge that passes so many plainly wrong answers needs no fooling.")
    return " ".join(said)


# --- in the end ------------------------------------------------------------------------------------


def _limits(notes: Sequence[str]) -> Lines:
    yield from (f"- {markdown.escaped(note)}" for note in notes)
    yield (
        "- Judge and subject are one model: the worst case of kinship, taken for the sake of having a judge without a"
        " network."
    )
    yield (
        "- The skill-off arm reads the sentence that tells an agent to load no skills, as every live run does. A base"
        " model takes it for text like any other; part of the difference may be that sentence."
    )
    yield "- All runs are of one day and one machine: nothing here tells how days or machines differ."
    yield (
        "- The labels were written for this set by the developers of this project, one reading each"
        " (`evals/live-judged/README.md`)."
    )
    yield "- Tier `live`: advisory. Nothing here blocks anything until a ratchet says so."


# --- tables ----------------------------------------------------------------------------------------


def shown(table: Table) -> list[str]:
    """Return a table of a report as Markdown."""
    document = table.as_document()
    columns = document["columns"]
    return markdown.table([c["title"] for c in columns], [c["numeric"] for c in columns], document["cells"])


def _estimate_row(name: str, row: Mapping[str, Any], write: Callable[[float], str]) -> dict[str, Any]:
    known = not tables.is_missing(row["estimate"])
    return {
        "what": name,
        "said": write(row["estimate"]) if known else tables.missing(),
        "interval": tables.missing()
        if tables.is_missing(row["conf_low"])
        else tables.interval_of(row, write),
        "n": row["n_cases"],
        "method": row["method"],
        "note": "; ".join(row["caveats"]),
    }


def _estimates_table(rows: Sequence[Mapping[str, Any]], *more: Column) -> list[str]:
    columns = [Column("what", "What"), Column("said", "Estimate"), Column("interval", "Interval"), *more]
    columns += [Column("n", "Units", "count"), Column("method", "Method"), Column("note", "What to know")]
    return shown(Table("estimates", "", pd.DataFrame(list(rows)), columns))
