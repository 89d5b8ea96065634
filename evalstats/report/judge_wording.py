"""What the judge notebook concludes, in words computed from its numbers."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from evalstats.report import tables
from evalstats.report.judge_tables import red_text
from evalstats.report.judges import goes_red, lift_without_flips

if TYPE_CHECKING:
    from evalstats.report.draft import Draft
    from evalstats.report.judges import Judged, Measured

ONE_SIDED = 0.5  # a prevalence index from which kappa says more of prevalence than of agreement
_REPEAT = "`evalstats judge RUN --repeats 3 --model MODEL` judges stored transcripts again"


def say_judges(draft: Draft, read: Judged, every: Sequence[Measured], margin: float) -> None:
    """Put the finding, the headline, the methods, the caveats, the numbers and the data into the draft."""
    draft.finding(finding(read, every, margin))
    for card in _cards(every, margin):
        draft.headline(*card)
    for title, text in METHODS.items():
        draft.method(title, text)
    draft.caveat(*read.found.notes, *_warnings(every))
    for one in every:
        draft.estimates(one.floors, one.accuracy)
    draft.data(**read.found.facts)


def finding(read: Judged, every: Sequence[Measured], margin: float) -> str:
    """Say what the judge cannot tell from its own noise, and how often a gate on it would be wrong."""
    if not every:
        return f"No trial of {read.found.suite} has been judged by a model, so nothing is known of a judge. {_REPEAT}."
    one = every[0]
    floor, red = one.known("difference floor"), goes_red(one, margin)
    if floor is None or red is None:
        again = f" {_REPEAT}." if one.n_repeats < 2 else ""
        return f"The noise of {one.model} is not known ({_why(one)}).{again} {_right(one)}"
    said = [
        f"A difference of two runs below {tables.number(floor)} may be {one.model} alone. With nothing changed, a run"
        f" judged anew drops by more than {margin:g} in {tables.percent(red)} of reruns."
    ]
    flips = one.known("flips")
    if flips is not None:
        said.append(
            f"Asked twice about the same text, it changes its mind {tables.percent(flips)} of the time."
        )
    if read.checks and read.checks[-1]["changed"]:
        said.append(sentinel_text(read))
    return " ".join([*said, _right(one)])


def _why(one: Measured) -> str:
    row = one.floor("noise")
    return tables.reason_of(row) if row is not None else "no transcript was judged twice"


def _right(one: Measured) -> str:
    if not one.n_labels:
        return "Whether it is right is not known: there are no labels of people."
    rows = {row["measure"]: row for row in tables.rows(one.accuracy) if tables.is_missing(row["arm"])}
    yes, no = rows.get("true positive rate"), rows.get("true negative rate")
    if yes is None or no is None or tables.is_missing(yes["estimate"]) or tables.is_missing(no["estimate"]):
        return f"Whether it is right is not known ({tables.reason_of(yes or no or {})})."
    return (
        f"It says yes to {tables.percent(yes['estimate'])} of what people pass and no to"
        f" {tables.percent(no['estimate'])} of what they fail."
    )


def _cards(every: Sequence[Measured], margin: float) -> Iterator[tuple[str, str, str]]:
    if not every:
        yield ("Judgements", tables.missing(), "no trial was judged by a model")
        return
    one = every[0]
    floor, red, flips = one.known("difference floor"), goes_red(one, margin), one.floor("flips")
    told = tables.missing() if floor is None else tables.number(floor)
    yield (
        "Floor of a difference",
        told,
        "95% of differences by the judge alone lie below" if floor is not None else _why(one),
    )
    share = tables.missing() if red is None else tables.percent(red)
    yield (f"Red at {margin:g}, nothing changed", share, "of reruns, by the judge alone")
    if flips is not None:
        yield ("Flips between two judgements", *_value(flips))
    alpha = one.floor("alpha")
    if alpha is not None:
        yield ("Krippendorff's alpha", *_value(alpha))


def _value(row: Mapping[str, Any]) -> tuple[str, str]:
    if tables.is_missing(row["estimate"]):
        return tables.missing(), tables.reason_of(row)
    chance = f"{tables.percent(row['level'])} interval {tables.interval_of(row)}"
    return tables.rate(row["estimate"]), chance


def _warnings(every: Sequence[Measured]) -> Iterator[str]:
    for one in every:
        if not one.family_known:
            yield f"The family of {one.model} is not known; declare it as judge.family of the suite."
        if one.same_family:
            yield (
                f"{one.model} and the subject are of one family ({one.same_family}): a judge may favour its own, and"
                " without labels of both families that cannot be told."
            )


# --- the sections ----------------------------------------------------------------------------------


def itself_text(every: Sequence[Measured]) -> list[str]:
    """Say how far the judge agrees with itself."""
    if not every:
        return [f"Nothing was judged. {_REPEAT}."]
    said = [
        f"{one.judge}: {tables.some(one.n_judgements, 'judgement')} of {tables.some(one.n_verdicts, 'text')}, each"
        f" asked for up to {tables.some(one.n_repeats, 'time')}."
        for one in every
    ]
    return [" ".join(said), *(_stopping(one) for one in every)]


def _stopping(one: Measured) -> str:
    if one.repeats is None:
        return f"How often {one.model} should be asked is not known: {_why(one)}."
    likely, safe = one.repeats.likely, one.repeats.safe
    if likely is None:
        return f"No number of repeats is known to bring the share of {one.model} below a tenth: {one.repeats.reason}."
    certain = (
        f"{safe} to be sure" if safe is not None else f"to be sure, no number is known ({one.repeats.reason})"
    )
    return (
        f"To bring its share of the noise of a rerun below a tenth, {one.model} must be asked {likely} times about"
        f" each text; {certain}. That lowers noise, not bias."
    )


def people_text(every: Sequence[Measured]) -> list[str]:
    """Say whether the judge is right, or how that could be known."""
    labelled = [one for one in every if one.n_labels]
    if not labelled:
        return [
            "Nobody has labelled these texts, so whether the judge is right is not known, nor whether it favours an arm"
            " or its own family. `evalstats labels export` writes them as a table to fill in, `labels import` reads it;"
            " `judge escalate` says which are worth a person's time."
        ]
    return [_beside_people(one) for one in labelled]


def _beside_people(one: Measured) -> str:
    biases = [row for row in tables.rows(one.accuracy) if row["measure"] == "bias"]
    told = [f"People labelled {tables.some(one.n_labels, 'text')} of {one.judge}.", _right(one)]
    told += _paradox(one)
    told += [_leans(row, "the treated arm", "an arm") for row in biases]
    return " ".join([*told, _preference(one)])


def _paradox(one: Measured) -> Iterator[str]:
    """Say why kappa is low where that is because one verdict is rare, not because judge and people disagree."""
    whole = {
        row["measure"]: row["estimate"] for row in tables.rows(one.accuracy) if tables.is_missing(row["arm"])
    }
    counts = next((row for row in tables.rows(one.confusion) if tables.is_missing(row["arm"])), None)
    kappa, pabak = whole.get("kappa"), whole.get("pabak")
    if counts is None or pabak is None or abs(counts["prevalence_index"]) < ONE_SIDED:
        return
    kept = (
        "kappa cannot be worked out" if tables.is_missing(kappa) else f"kappa is {tables.rate(kappa or 0.0)}"
    )
    yield (
        f"The verdicts are one-sided (prevalence index {tables.signed(counts['prevalence_index'])}, bias index"
        f" {tables.signed(counts['bias_index'])}), which lowers kappa however well the two agree: {kept}, PABAK"
        f" {tables.rate(pabak)}."
    )


def _preference(one: Measured) -> str:
    if one.preference is None:
        return (
            "Whether it favours its own family is not known: that takes labelled answers of a model of its family"
            " and of another."
        )
    return _leans(one.preference, "its own family", "its own family")


def _leans(row: Mapping[str, Any], side: str, what: str) -> str:
    if tables.is_missing(row["estimate"]):
        return f"Whether it favours {what} is not known: {tables.reason_of(row)}."
    told = f"Towards {side} it leans by {tables.signed(row['estimate'])} {tables.interval_of(row, tables.signed)}"
    seen = "" if tables.is_missing(row["conf_low"]) else tables.reason_of(row)
    return f"{told}{f' ({seen})' if seen else ''}."


def resolves_text(every: Sequence[Measured], margin: float) -> list[str]:
    """Say what this judge can resolve, and what it cannot."""
    if not every:
        return ["Without judgements nothing can be said of what a judge resolves."]
    said = []
    for one in every:
        floor = one.known("difference floor")
        if floor is None:
            said.append(f"{one.judge}: not known; {_why(one)}.")
        else:
            able = "can" if margin > floor else "cannot"
            said.append(
                f"{one.judge} {able} tell a difference of {margin:g} from its own noise, which reaches"
                f" {tables.number(floor)} between two runs of this size. A gate with that margin would go red with"
                f" nothing changed {red_text(one, margin)} of the time. Judged four times as often, that noise halves."
            )
            said += _shrunk(one)
    return said


def _shrunk(one: Measured) -> Iterator[str]:
    """Say what flips do to a lift: errors at random pull both arms together."""
    lifts = lift_without_flips(one)
    if lifts is not None:
        yield (
            f"Flips pull a lift towards zero: if those of {one.model} are errors at random, the lift of"
            f" {tables.signed(lifts[0])} that it shows is one of {tables.signed(lifts[1])}."
        )


def words_text(every: Sequence[Measured]) -> str:
    """Say whether verdicts hang on the words of the question."""
    if all(one.steady.empty for one in every):
        return (
            "No question was put in other words, so it is not known whether the verdicts hang on the wording:"
            " `evalstats judge rubric-check` asks."
        )
    said = []
    for one in every:
        rows = {row["measure"]: row for row in tables.rows(one.steady)}
        same, both = rows.get("same, reworded"), rows.get("yes to both")
        if same is not None:
            said.append(
                f"In other words {one.model} says the same {tables.estimate(same, tables.percent)} of the time."
            )
        if both is not None:
            said.append(
                f"It says yes to a question and to its opposite {tables.estimate(both, tables.percent)} of the time."
            )
    return " ".join(said)


def sentinel_text(read: Judged) -> str:
    """Say whether the judge is still the one that was anchored."""
    if not read.checks:
        return (
            "No sentinel was named, so a judge that changed under us would be read as a change of the subject:"
            " `evalstats judge sentinel` freezes texts and asks them again; give its file as the parameter sentinel."
        )
    last = read.checks[-1]
    when = str(last["checked_at"])[:10]
    if last["changed"] is None:
        return f"The last check, on {when}, says nothing: too many judgements were lost."
    if not last["changed"]:
        return f"Of {tables.some(len(read.checks), 'check')} the last, on {when}, found no change: {_would_find(last)}."
    since = str(last["unchanged_at"])[:10] if last["unchanged_at"] else "its anchoring"
    return f"The judge has changed: between {since} and {str(last['changed_by'])[:10]}."


def _would_find(check: Mapping[str, Any]) -> str:
    """Say which change a check that found none would have found."""
    from evalstats.judging.exact import fewest_turned

    texts, least = check["n_anchors"], fewest_turned(check["n_anchors"], check["repeats"], check["level"])
    p = f"p is {tables.p_value(check['p_value'])} at level {check['level']:g}"
    if least is None:
        return f"{p}, but with {tables.some(texts, 'text')} it could have found none"
    return f"{p}, and {least} of its {tables.some(texts, 'text')} turned round for good would have shown"


METHODS = {
    "Noise and floors": (
        "The noise of a judge is the variance of repeated judgements of the same text (FIXED: these texts). The floor"
        " is what 95% of the differences of two runs of this size stay below if the judge alone makes them. It holds"
        " for as many judgements of a text as a run averages."
    ),
    "Agreement": (
        "A flip is a pair of judgements of one text that disagree. Krippendorff's alpha and Fleiss' kappa set agreement"
        " against chance; where nearly all verdicts are alike they fall although the judge hardly flips, which is why"
        " PABAK stands beside them."
    ),
    "Against people": (
        "True positive and negative rates are of labelled texts alone. The pass rate behind the verdicts is"
        " prediction-powered where labels are a random part of these cases, and corrected by Rogan and Gladen with"
        " both sources of error elsewhere."
    ),
}
