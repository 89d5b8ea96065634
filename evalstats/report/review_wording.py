"""What the suite review concludes, in words computed from its numbers."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from evalstats.report import material, reviews, tables

if TYPE_CHECKING:
    import pandas as pd

    from evalstats.governance.lint import BlankAnswer
    from evalstats.report.draft import Draft
    from evalstats.report.reviews import Review

_DUST = 1e-9  # a smaller change is floating point
_FLAKY = 0.5  # share of steps between runs from which a case is called flaky here


def title(review: Review) -> str:
    """Return the title of the report."""
    return f"Review of {review.found.suite}" + (f", lock {review.lock}" if review.lock else "")


def question(review: Review) -> str:
    """Return the question of the report."""
    which = f"lock {review.lock}" if review.lock else "its next lock"
    return f"Which cases of {review.found.suite} should {which} keep, retire or admit?"


def say_review(draft: Draft, review: Review, shown: pd.DataFrame) -> None:
    """Put the finding, the headline, the methods, the caveats and the data into the draft."""
    from evalstats import estimates

    draft.finding(finding(review, shown))
    for card in _cards(review, shown):
        draft.headline(*card)
    for name, text in METHODS.items():
        draft.method(name, text)
    draft.caveat(*review.notes, *_caveats(review, shown))
    draft.estimates(_headline(review))
    draft.series(estimates.series(review.found.runs))
    draft.data(**review.found.facts)


def _headline(review: Review) -> pd.DataFrame:
    """Return the mean score of each arm: what the cases add up to."""
    from evalstats import estimates

    return estimates.rate(review.found.runs, level=review.level)


# --- the finding ---------------------------------------------------------------------------------


def finding(review: Review, shown: pd.DataFrame) -> str:
    """Say what is proposed, how many cases tell the arms apart, and which weighs most."""
    return " ".join([*_proposed(review, shown), *_telling(review, shown), *_heavy(review, shown)])


def _proposed(review: Review, shown: pd.DataFrame) -> Iterator[str]:
    counts = reviews.counts(shown)
    which = f"lock {review.lock}" if review.lock else "the whole suite, since no lock was given"
    told = ", ".join(f"{word} {n}" for word, n in counts.items() if n)
    yield f"Of {tables.some(len(shown), 'case')} of {review.found.suite} ({which}) the proposal is: {told}."
    for word in (reviews.RETIRE, reviews.ADMIT):
        named = list(shown.loc[shown["proposal"] == word, "case_id"])
        if named:
            yield f"To {word}: {material.joined(named)}."


def _telling(review: Review, shown: pd.DataFrame) -> Iterator[str]:
    known = shown.dropna(subset=["discrimination"])
    if known.empty:
        yield "How far cases tell the arms apart is not known: there is one arm only."
        return
    apart = int(((known["discrimination_low"] > 0) | (known["discrimination_high"] < 0)).sum())
    flaky = int((shown["flips"] >= _FLAKY).sum())
    said = f"{apart} of {len(known)} tell the arms apart by their own {tables.percent(review.level)} interval"
    yield f"{said}; {flaky} changed their majority in at least half of the steps between runs."


def _heavy(review: Review, shown: pd.DataFrame) -> Iterator[str]:
    known = shown.dropna(subset=["leverage"])
    if known.empty:
        return
    row = tables.rows(known.loc[[known["leverage"].abs().idxmax()]])[0]
    if abs(row["leverage"]) < _DUST:
        yield f"No case moves the {review.headline} when it is left out."
        return
    yield (
        f"{tables.shortened(row['case_id'], 40)} weighs most: without it the {review.headline} moves by"
        f" {tables.points(row['leverage'])}."
    )


def _cards(review: Review, shown: pd.DataFrame) -> Iterator[tuple[str, str, str]]:
    counts = reviews.counts(shown)
    changes = [f"{word} {n}" for word, n in counts.items() if n and word != reviews.KEEP]
    yield (
        "Cases to keep",
        f"{counts[reviews.KEEP]} of {len(shown)}",
        ", ".join(changes) or "no change proposed",
    )
    known = shown.dropna(subset=["discrimination"])
    if known.empty:
        yield ("Tell the arms apart", tables.missing(), "one arm only")
    else:
        apart = int(((known["discrimination_low"] > 0) | (known["discrimination_high"] < 0)).sum())
        yield (
            "Tell the arms apart",
            f"{apart} of {len(known)}",
            f"by their own {tables.percent(review.level)} interval",
        )
    heavy = shown["leverage"].abs().max()
    unknown = tables.is_missing(heavy)
    value = tables.missing() if unknown else tables.points(heavy).lstrip("+")
    yield ("Largest leverage of a case", value, f"on the {review.headline}")
    yield ("Lint findings", *_lint_card(review))


def _lint_card(review: Review) -> tuple[str, str]:
    if review.lint is None:
        return tables.missing(), "no file of the suite was found"
    from evalstats.governance.lint import Severity

    by = {s: sum(f.severity is s for f in review.findings) for s in Severity}
    told = ", ".join(tables.some(n, str(s)) for s, n in by.items() if n)
    return tables.count(len(review.findings)), told or "nothing to say"


def _caveats(review: Review, shown: pd.DataFrame) -> Iterator[str]:
    if not review.lock:
        yield "No lock was given: the whole suite is looked at, and nothing can be admitted."
    if shown["flips"].isna().all():
        yield "One run shows no change between runs: how flaky the cases are is not known."
    if shown["disagreement"].isna().all():
        yield "No judgement was repeated: how far the judge disagrees with itself is not known."


# --- the sections --------------------------------------------------------------------------------


def map_text(review: Review) -> list[str]:
    """Return the paragraphs above the map."""
    if not review.found.is_paired:
        return [f"Runs of this suite have the arm {review.found.arms[0]} alone, so no case can be placed."]
    return [
        "Left is easy, right is hard; high up the treatment helps, below the line it hurts. The dashed edges say how"
        " much there is to gain or to lose on a case so hard. A case in the left corner is saturated, one in the"
        " right corner at the floor: neither can show anything.",
        "The arms of a cross are intervals of this very case, run again. Where they are long, more trials would tell.",
    ]


def proposal_text(review: Review) -> str:
    """Return the paragraph above the proposals."""
    if review.lock:
        return "A case is retired only for what is sure, and admitted after enough runs of this very version of it."
    return "A case is retired only for what is sure. Without a lock there is no case to admit."


def leverage_text(review: Review, shown: pd.DataFrame) -> str:
    """Say how heavy the heaviest cases are."""
    known = shown.dropna(subset=["leverage"])
    if known.empty:
        return "With fewer than two cases that ran in every arm there is no leverage."
    order = known.reindex(known["leverage"].abs().sort_values(ascending=False, kind="stable").index)
    top = [f"{row['case_id']} ({tables.points(row['leverage'])})" for row in tables.rows(order.head(3))]
    return (
        f"Leverage is how far the {review.headline} moves when a case is left out. The heaviest: {', '.join(top)}. A"
        " headline that hangs on one case should be told with that case named."
    )


def lint_text(review: Review) -> str:
    """Say what lint looked at."""
    if review.lint is None:
        return "No file of this suite was found, so nothing was linted."
    blank = review.lint.blank_answer
    earned = "" if blank is None else _blank(blank)
    return f"Lint reads the file and what the runs show of each expectation; it runs no case.{earned}"


def _blank(blank: BlankAnswer) -> str:
    return f" A blank answer would meet {blank.vacuous} of {tables.some(blank.expectations, 'required expectation')}."


METHODS = {
    "Difficulty and discrimination": (
        "Difficulty is the share of trials that fail without the treatment, with Wilson's interval. Discrimination"
        " is the pass rate with it minus the one without, with Newcombe's. Both are of this very case (FIXED):"
        " would it come out so again? They count trials that passed whole; partial scores move the leverage, not"
        " the map."
    ),
    "Room": (
        "Saturated: every trial of both arms passed. Floor: none did, and none earned a part. Separated: the"
        " difference leaves zero out at 95%. Open: anything else. Saturated and floor are sure once the bounds of"
        " both pass rates lie within 0.05 of the edge; until then the trials still needed are counted."
    ),
    "What is proposed": (
        "Retire: surely saturated or at the floor, or twice in the suite. Admit: a case outside the lock with 9"
        " trials over 3 runs of this very version in every arm, hardly one lost, that can show a difference. Keep"
        " and wait: everything else. Proposals are for people to decide on; the lock changes by `lock create`."
    ),
    "Flake and judge": (
        "Verdict flips: the share of steps from one run to the next in which the majority of a case changed, in the"
        " arm where that is larger. Judge disagrees: the share of things judged more than once on which the"
        " verdicts differ. Both are missing, not zero, where nothing was repeated."
    ),
    "What would change the conclusion": (
        "Trials: a case that looks saturated may not be. A new model: what was at the floor may open up, so a"
        " review speaks of the subject that ran. Retiring cases moves the headline by itself; `lock bridge` says by"
        " how much."
    ),
}
