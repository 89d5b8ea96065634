"""How much of what we see is the judge, and is it right? From judgements and human labels.

Judgements are a frame with one row per verdict: ``run_id, case_id, arm, trial_index, expectation, judge,
repeat`` and ``score``, the verdict as 0 or 1 (or a share between); missing where the judge gave none. Labels
are a frame with one row per human verdict: ``case_id, arm, trial_index, expectation, label``, and ``run_id``
where judgements are of several runs.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd

from evalstats.errors import UsageError
from evalstats.estimates.cases import SKILL_ARMS, Keys, groups, require, tidy
from evalstats.estimates.records import noted
from evalstats.stats.accuracy import Confusion, rogan_gladen
from evalstats.stats.agreement import fleiss_kappa, flip_rate, krippendorff_alpha
from evalstats.stats.judge_bias import bias_by_arm
from evalstats.stats.judges import judge_noise, judge_share
from evalstats.stats.noise_floors import difference_floor, lift_floor
from evalstats.stats.prediction_powered import Judged, ppi_mean
from evalstats.stats.repeated_trials import pass_rate
from evalstats.stats.results import Estimate, counted, undefined
from evalstats.stats.two_raters import kappa_paradox

TRIAL = ["run_id", "case_id", "arm", "trial_index"]
UNIT = [*TRIAL, "expectation"]
SAME_CASE = "several labels of a case are taken as independent"
SAME_CASE_UNITS = (
    "several expectations or trials of a case are taken as independent: the interval is too narrow"
)
ALL_LABELLED = "every text of this arm has a label: none is left to correct for"
GRADED = "graded verdicts or labels: passes and failures cannot be counted"


def noise_floor(
    judgements: pd.DataFrame,
    *,
    deployed: int = 1,
    level: float = 0.95,
    arms: tuple[str, str] = SKILL_ARMS,
) -> pd.DataFrame:
    """Which differences may be the judge alone? Its noise on the same transcripts (FIXED), by judge.

    Parameters
    ----------
    judgements : pandas.DataFrame
        As described above; noise needs two repeats of a transcript.
    deployed : int
        Judgements of a transcript that a run averages, which need not be those made here.
    level : float
        Level of the intervals.
    arms : tuple of two str
        With the skill, and without: for the floor of lift.

    Returns
    -------
    pandas.DataFrame
        ``judge``, ``measure`` and the fields of `Estimate`: ``noise`` (standard deviation of one judgement of
        a trial's score), ``difference floor`` and ``lift floor`` (95% of differences of two runs by the judge
        alone lie below), ``share`` (of the variance of a rerun that is the judge's), and, of verdicts on
        single expectations, ``flips`` and ``kappa`` (Fleiss), where they are yes or no, and ``alpha``
        (Krippendorff).
    """
    found: list[tuple[Keys, Estimate]] = []
    for keys, group in groups(_known(judgements), ["judge"]):
        measures = _floors(_trial_scores(group), deployed, level, arms) | _agreement(group, level)
        lost = int((judgements["judge"] == keys["judge"]).sum()) - len(group)
        note = f"{counted(lost, 'judgement')} without a verdict left out" if lost else ""
        found += [({**keys, "measure": name}, noted(record, note)) for name, record in measures.items()]
    return tidy(found, ["judge", "measure"])


def _trial_scores(group: pd.DataFrame) -> pd.DataFrame:
    """Return the score of each trial by each repeat; those lacking a verdict that others gave do not compare."""
    scores = group.groupby([*TRIAL, "repeat"], sort=True)["score"].agg(["mean", "size"])
    whole = scores["size"] == scores.groupby(TRIAL)["size"].transform("max")
    return scores.loc[whole, "mean"].reset_index(name="score")


def _floors(trials: pd.DataFrame, deployed: int, level: float, arms: tuple[str, str]) -> dict[str, Estimate]:
    scores, transcripts = trials["score"].to_numpy(), trials.groupby(TRIAL).ngroup().to_numpy()
    noise = judge_noise(scores, transcripts=transcripts, level=level)
    per_run = trials.drop_duplicates(TRIAL).groupby(["run_id", "arm"]).size()
    judgements = int(per_run.min()) * deployed
    cases = trials.groupby(["arm", "case_id"]).ngroup().to_numpy()
    found = {"noise": noise, "difference floor": difference_floor(noise, judgements=judgements)}
    fails = 1 - trials.groupby(["arm", "case_id"])["score"].mean().groupby("arm").mean()
    if set(arms) <= set(fails.index):
        with_skill, base = (float(fails[arm]) for arm in arms)
        found["lift floor"] = lift_floor(noise, fail_with=with_skill, fail_base=base, judgements=judgements)
    found["share"] = judge_share(scores, cases=cases, transcripts=transcripts, repeats=deployed, level=level)
    return found


def _agreement(group: pd.DataFrame, level: float) -> dict[str, Estimate]:
    """Return how far repeats agree on single expectations; a unit is one expectation of one trial."""
    units = group.groupby(UNIT)
    unit, repeat = units.ngroup().to_numpy(), units.cumcount().to_numpy()  # whatever the repeats are called
    ratings = np.full((unit.max() + 1, repeat.max() + 1), np.nan)
    ratings[unit, repeat] = group["score"]
    if not is_yes_no(group["score"]):  # every pair of graded scores differs a little
        graded = {"flips": _uncounted("flip rate", level), "kappa": _uncounted("Fleiss' kappa", level)}
        return graded | {"alpha": krippendorff_alpha(ratings, metric="interval", level=level)}
    found = {
        "flips": flip_rate(ratings, level=level),
        "kappa": fleiss_kappa(ratings, level=level),
        "alpha": krippendorff_alpha(ratings, level=level),
    }
    note = SAME_CASE_UNITS if group["case_id"].nunique() < len(ratings) else ""
    return {name: noted(record, note) for name, record in found.items()}


def judge_accuracy(
    judgements: pd.DataFrame,
    labels: pd.DataFrame,
    *,
    level: float = 0.95,
    arms: tuple[str, str] = SKILL_ARMS,
) -> pd.DataFrame:
    """Is the judge right, alike in both arms, and what is the pass rate behind its verdicts? By judge.

    Parameters
    ----------
    judgements, labels : pandas.DataFrame
        As described above. The verdict on an expectation is the majority of its repeats; a tie fails.
    level : float
        Level of the intervals.
    arms : tuple of two str
        The candidate and what it is compared with: for the bias.

    Returns
    -------
    pandas.DataFrame
        ``judge``, ``arm`` (None: all arms), ``measure`` and the fields of `Estimate`: ``true positive rate``,
        ``true negative rate``, ``kappa`` and ``pabak`` against the labels; ``bias`` towards the candidate;
        and for each arm the true pass rate, ``prediction-powered`` (labels are a random part of these cases)
        and ``corrected`` (of trials without labels, by Rogan and Gladen). Refused with too few labels.
    """
    verdicts = with_labels(verdicts_of(judgements), labels)
    unused = len(labels) - int(verdicts.drop_duplicates(UNIT)["label"].notna().sum())
    note = f"{counted(unused, 'label')} without a verdict" if unused else ""
    found: list[tuple[Keys, Estimate]] = []
    for keys, group in groups(verdicts, ["judge"]):
        labelled = group[group["label"].notna()]
        confusion, whole = _against(labelled, level)
        whole["bias"] = bias_by_arm(
            group["verdict"].to_numpy(),
            group["label"].to_numpy(float),
            candidate=(group["arm"] == arms[0]).to_numpy(),
            cases=group["case_id"].to_numpy(str),
            level=level,
        )
        found += [({**keys, "arm": None, "measure": name}, noted(x, note)) for name, x in whole.items()]
        for named, part in groups(group, ["arm"]):
            rates = {"prediction-powered": _prediction_powered(part, level)}
            rates["corrected"] = _corrected(part, confusion, level)
            found += [({**keys, **named, "measure": name}, x) for name, x in rates.items()]
    return tidy(found, ["judge", "arm", "measure"])


def _known(judgements: pd.DataFrame) -> pd.DataFrame:
    """Return the judgements that gave a verdict, each only once."""
    require(judgements, [*UNIT, "judge", "repeat", "score"], "judgements")
    if judgements.duplicated([*UNIT, "judge", "repeat"]).any():
        raise UsageError("two judgements have one key; number them in the column", field="repeat")
    known = judgements[judgements["score"].notna()]
    return known.assign(score=known["score"].astype("float64"))


def verdicts_of(judgements: pd.DataFrame) -> pd.DataFrame:
    """Return one verdict per judge, trial and expectation: the majority, or the mean of graded ones."""
    known = _known(judgements)
    mean = known.groupby(["judge", *UNIT], sort=True)["score"].mean().reset_index(name="verdict")
    if is_yes_no(known["score"]):
        mean["verdict"] = (mean["verdict"] > 0.5).astype("float64")
    return mean


def with_labels(verdicts: pd.DataFrame, labels: pd.DataFrame) -> pd.DataFrame:
    """Return verdicts with the ``label`` of each, missing where nobody gave one."""
    require(labels, [*(name for name in UNIT if name != "run_id"), "label"], "labels")
    on = [name for name in UNIT if name in labels.columns]
    if labels.duplicated(on).any():
        raise UsageError("two labels for one verdict; settle them first", field="label")
    if verdicts.duplicated(["judge", *on]).any():
        raise UsageError("judgements are of several runs; labels must say of which", field="run_id")
    return verdicts.merge(labels[[*on, "label"]], on=on, how="left")


def _against(labelled: pd.DataFrame, level: float) -> tuple[Confusion | None, dict[str, Estimate]]:
    """Return the confusion, if it can be counted, and what it says."""
    verdicts, labels = labelled["verdict"].to_numpy(), labelled["label"].to_numpy(float)
    if not (is_yes_no(labelled["verdict"]) and is_yes_no(labelled["label"])):
        return None, {name: _uncounted(name, level) for name in ("true positive rate", "true negative rate")}
    confusion = Confusion.of(verdicts, labels=labels, level=level)
    agreement = kappa_paradox(verdicts, labels, level=level)
    found = {"true positive rate": confusion.tpr, "true negative rate": confusion.tnr}
    found |= {"kappa": agreement.kappa, "pabak": agreement.pabak}
    same_case = SAME_CASE if labelled["case_id"].nunique() < len(labelled) else ""
    return confusion, {name: noted(record, same_case) for name, record in found.items()}


def _prediction_powered(part: pd.DataFrame, level: float) -> Estimate:
    """Return the mean label over the cases of one arm: labels where there are any, moved verdicts elsewhere."""
    labelled = part[part["label"].notna()].groupby("case_id")[["label", "verdict"]].mean()
    others = part[~part["case_id"].isin(labelled.index)].groupby("case_id")["verdict"].mean()
    judged = Judged(
        labels=labelled["label"].to_numpy(float),
        verdicts=labelled["verdict"].to_numpy(float),
        unlabelled=others.to_numpy(float),
    )
    return ppi_mean(judged, level=level)


def _corrected(part: pd.DataFrame, confusion: Confusion | None, level: float) -> Estimate:
    """Return the pass rate of the trials without labels, corrected for how the judge errs on the others."""
    if confusion is None:
        return _uncounted("true pass rate", level)
    counts = part[part["label"].isna()].groupby("case_id")["verdict"].agg(["sum", "size"])
    if counts.empty:
        return _unknown(ALL_LABELLED, "true pass rate", level)
    return rogan_gladen(pass_rate(counts["sum"], counts["size"], level=level), confusion)


def _uncounted(estimand: str, level: float) -> Estimate:
    return _unknown(GRADED, estimand, level)


def _unknown(why: str, estimand: str, level: float) -> Estimate:
    known: dict[str, Any] = {"population": "SUPER", "level": level, "n_cases": 0, "n_trials": 0}
    return undefined(why, estimand=estimand, method="none", **known)


def is_yes_no(values: pd.Series[Any]) -> bool:
    """Return whether all verdicts or labels are yes or no, none of them a share."""
    return bool(values.isin([0, 1]).all())
