"""What the judge commands print."""

from __future__ import annotations

import shutil
import sys
import textwrap
import time
from collections import Counter as Tally
from collections.abc import Iterable, Sequence
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any

from evalstats.cli.options import print_json
from evalstats.cli.results import known
from evalstats.cli.tables import complain, print_table, say

if TYPE_CHECKING:
    import pandas as pd

    from evalstats.judging.judge import Judge
    from evalstats.judging.migration import Migration
    from evalstats.judging.passes import Pass
    from evalstats.trials import Judgement

SECONDS = 10.0
CANNOT = 3
Row = dict[str, Any]


class Counter:
    """Counts judgements on stderr: one line every ten seconds, and one at the end."""

    def __init__(self) -> None:
        self.words: Tally[str] = Tally()
        self.total = 0
        self._began = self._said = time.monotonic()

    def __enter__(self) -> Counter:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self.words:
            self._say()
        if error is not None and self.words:
            complain("what was judged is kept; the same command asks the rest")

    def tell(self, made: Judgement, total: int) -> None:
        """Count one judgement that is safely in the journal."""
        self.words[word(made)] += 1
        self.total = total
        if time.monotonic() - self._said >= SECONDS:
            self._say()

    def _say(self) -> None:
        self._said = time.monotonic()
        parts = ", ".join(f"{n} {said}" for said, n in sorted(self.words.items()))
        took = self._said - self._began
        print(f"{sum(self.words.values())}/{self.total} judgements in {took:.1f} s: {parts}", file=sys.stderr)


def tell(text: str) -> None:
    """Print a sentence below a headline, indented, on as many lines as it takes."""
    width = max(40, shutil.get_terminal_size((80, 24)).columns)
    for line in textwrap.wrap(text, width, initial_indent="  ", subsequent_indent="  ") or [""]:
        say(line)


def word(made: Judgement) -> str:
    """Return what a judgement is counted as."""
    return "error" if made.passed is None else "yes" if made.passed else "no"


def show_pass(made: Pass, judge: Judge, repeats: int, *, decides: bool, as_json: bool) -> int:
    """Show what a judge has said of a run, and how far its repeats agree; return the exit code."""
    from evalstats.trials import ORIGINAL

    said = [each for each in made.judgements if each.wording == ORIGINAL]
    tally, errors = Tally(map(word, said)), Tally(j.error_class for j in said if j.error_class)
    given = {(j.trial_key, j.expectation) for j in said if j.passed is not None}
    without = len({(j.trial_key, j.expectation) for j in said} - given)
    document = {
        "judge": judge.name,
        "judge_sha256": judge.sha256,
        "rubric_sha256": judge.rubric_sha256,
        "repeats": repeats,
        "decides": decides,
        "asked": len(made.asked),
        **{name: tally[name] for name in ("yes", "no", "error")},
        "errors": dict(sorted(errors.items())),
        "without_verdict": without,
        "cost": _total(j.cost for j in made.asked),
        "warnings": list(made.warnings),
        "noise": _noise(said, repeats),
    }
    if as_json:
        print_json(document)
    else:
        _say_pass(document)
    return CANNOT if without else 0


def _say_pass(document: Row) -> None:
    counts = ", ".join(f"{document[name]} {name}" for name in ("yes", "no", "error"))
    say(f"{document['judge']}: {counts}; {document['asked']} asked now")
    if document["errors"]:
        tell("errors: " + ", ".join(f"{n} {name}" for name, n in document["errors"].items()))
    if document["without_verdict"]:
        tell(f"{document['without_verdict']} text(s) have no verdict and stay unscored")
    beside = (
        "these judgements are measurements beside the judge that decides the scores (--deploy changes it)"
    )
    tell(f"the majority of {document['repeats']} decides the scores" if document["decides"] else beside)
    print_estimates(document["noise"])


def _noise(said: Sequence[Judgement], repeats: int) -> list[Row]:
    """Return how far the judge agrees with itself; nothing where no text was judged twice."""
    if not any(each.repeat > 1 for each in said):
        return []
    from evalstats import estimates
    from evalstats.judging import verdicts

    return rows(estimates.noise_floor(verdicts.frame(said), deployed=repeats))


def _total(costs: Iterable[float | None]) -> float | None:
    found = list(costs)
    priced = [cost for cost in found if cost is not None]
    return sum(priced) if priced and len(priced) == len(found) else None


def rows(frame: pd.DataFrame) -> list[Row]:
    """Return a frame as records, NULL where nothing is known."""
    return [known({str(name): value for name, value in row.items()}) for row in frame.to_dict("records")]


def print_estimates(found: Sequence[Row]) -> None:
    """Print estimates with their intervals, and below what is to be known of them."""
    if not found:
        return
    header = ("measure", "estimate", "low", "high", "cases")
    print_table(
        header, [[r["measure"], r["estimate"], r["conf_low"], r["conf_high"], r["n_cases"]] for r in found]
    )
    for caveat in dict.fromkeys(caveat for row in found for caveat in row["caveats"]):
        tell(str(caveat))


def show_frozen(path: Path, made: Row, *, as_json: bool) -> None:
    """Show what was frozen."""
    if as_json:
        print_json(made)
    else:
        say(f"{path}: {len(made['anchors'])} text(s) frozen, judged {made['repeats']} time(s) each")


def show_check(line: Row, history: Sequence[Row]) -> None:
    """Show one check of a sentinel, and when a change came."""
    moved = f"{line['to_yes']} to yes, {line['to_no']} to no, of {line['n_anchors']} text(s); "
    verdict = {True: "CHANGED", False: "no change found", None: "cannot tell"}[line["changed"]]
    say(f"{line['model']}: {verdict}, p = {line['p_value']:.3g} at level {line['level']:g}")
    tests = f"towards yes or no p = {line['p_shift']:.3g}, text by text p = {line['p_change']:.3g}, before doubling"
    tell(moved + tests)
    if line["without_verdict"]:
        tell(f"{line['without_verdict']} of {line['n_judgements']} judgement(s) gave no verdict")
    if line["changed"]:
        before = line["unchanged_at"] or "it was frozen"
        tell(f"changed after {before} and before {line['changed_by']}")
    print_table(
        ("checked at", "changed", "p", "to yes", "to no", "reported"),
        [
            [
                h["checked_at"],
                _yes_no(h["changed"]),
                h["p_value"],
                h["to_yes"],
                h["to_no"],
                ", ".join(h["reported"]),
            ]
            for h in history[-10:]
        ],
    )


def _yes_no(flag: bool | None) -> str | None:
    return None if flag is None else "yes" if flag else "no"


def show_steadiness(steady: pd.DataFrame, words: Sequence[Row], *, as_json: bool) -> None:
    """Show how far a judge minds the words of a question."""
    if as_json:
        print_json({"measures": rows(steady), "wordings": list(words)})
        return
    print_estimates(rows(steady))
    shown = [[w["pairs"], w["same"], w["wording"].partition(":")[0], w["words"]] for w in words]
    print_table(("pairs", "same", "wording", "words"), shown)


def show_migration(done: Migration, *, as_json: bool) -> None:
    """Show what moves between two judges."""
    test = known(done.test.as_row())
    if as_json:
        table = done.table._asdict()
        counts = {
            "both_yes": table["both"],
            "only_new": table["candidate_only"],
            "only_old": table["baseline_only"],
            "both_no": table["neither"],
        }
        moved = rows(done.moved)
        facts = {"old": done.old, "new": done.new, "counts": counts, "left_out": done.left_out, "test": test}
        print_json({**facts, "estimates": rows(done.estimates), "moved": moved})
        return
    both, only_new, only_old, neither = done.table
    say(f"{done.old} to {done.new}: {both} yes of both, {neither} no of both")
    tell(f"{only_old} yes become no, {only_new} no become yes; {done.test}")
    if done.left_out:
        tell(f"{done.left_out} judged by one of them alone, left out")
    found = rows(done.estimates)
    print_estimates(found)
    tell(f"worth: {found[-1]['estimand']}")
    if len(done.moved):
        shown = done.moved[["case_id", "arm", "trial_index", "expectation", "old", "new"]]
        names = ("case", "arm", "trial", "expectation", "old", "new")
        print_table(names, shown.astype({"old": int, "new": int}).itertuples(index=False))


def show_escalation(ranked: pd.DataFrame, *, as_json: bool) -> None:
    """Show what a person should label next."""
    if as_json:
        print_json(rows(ranked))
        return
    if ranked.empty:
        say("everything that was judged is labelled")
        return
    columns = ["case_id", "arm", "trial_index", "expectation", "yes", "votes", "unsure", "gain"]
    print_table(
        ("case", "arm", "trial", "exp", "yes", "votes", "unsure", "gain"),
        ranked[columns].itertuples(index=False),
    )


def write_to_label(ranked: pd.DataFrame, tree: Path, out: Path) -> None:
    """Write what was chosen as a table to be labelled."""
    from evalstats.journal import write_synced
    from evalstats.judging import labels, transcripts
    from evalstats.judging.verdicts import UNIT

    runs = [run for name in dict.fromkeys(ranked["run_id"]) for run in transcripts.runs(tree, name)]
    units = [tuple(unit) for unit in ranked[UNIT].itertuples(index=False, name=None)]
    out.parent.mkdir(parents=True, exist_ok=True)
    write_synced(out, labels.table(runs, only=units).encode("utf-8", "replace"))
