"""Where do judge and people differ? Counts of what each said, and whether the judge favours its own family.

Judgements and labels are frames as `evalstats.estimates.judging` describes them; rates with intervals are there.
"""

from __future__ import annotations

from collections.abc import Mapping

import pandas as pd

from evalstats.estimates.cases import Keys, groups, tidy
from evalstats.estimates.judging import is_yes_no, verdicts_of, with_labels
from evalstats.stats.judge_bias import self_preference
from evalstats.stats.results import Estimate
from evalstats.stats.two_raters import kappa_paradox


def confusion(judgements: pd.DataFrame, labels: pd.DataFrame) -> pd.DataFrame:
    """How often did judge and people say the same, and what does that do to kappa? Counts, by judge and arm.

    Parameters
    ----------
    judgements, labels : pandas.DataFrame
        As for `judge_accuracy`.

    Returns
    -------
    pandas.DataFrame
        ``judge``, ``arm`` (None: all arms), how many labelled verdicts are ``both_yes``, ``only_people``,
        ``only_judge`` and ``both_no``, and `KappaParadox`'s ``prevalence_index`` and ``bias_index`` (above 0 the
        judge says yes more often). No row where verdicts or labels are graded.
    """
    verdicts = with_labels(verdicts_of(judgements), labels)
    rows = []
    for keys, group in groups(verdicts[verdicts["label"].notna()], ["judge"]):
        if is_yes_no(group["verdict"]) and is_yes_no(group["label"]):
            rows.append({**keys, "arm": None, **_counts(group)})
            rows += [{**keys, **arm, **_counts(part)} for arm, part in groups(group, ["arm"])]
    columns = "judge arm both_yes only_people only_judge both_no prevalence_index bias_index".split()
    return pd.DataFrame(rows, columns=columns)


def _counts(group: pd.DataFrame) -> dict[str, float]:
    judge, people = group["verdict"] == 1, group["label"] == 1
    paradox = kappa_paradox(judge.to_numpy(float), people.to_numpy(float))
    return {
        "both_yes": int((judge & people).sum()),
        "only_people": int((~judge & people).sum()),
        "only_judge": int((judge & ~people).sum()),
        "both_no": int((~judge & ~people).sum()),
        "prevalence_index": paradox.prevalence_index,
        "bias_index": paradox.bias_index,
    }


def own_family(
    judgements: pd.DataFrame, labels: pd.DataFrame, *, own: Mapping[str, bool], level: float = 0.95
) -> pd.DataFrame:
    """Does the judge favour its own model family? Its margin over labels there, less that elsewhere, by judge.

    Parameters
    ----------
    judgements, labels : pandas.DataFrame
        As for `judge_accuracy`.
    own : mapping of str to bool
        By run: whether its subject is of the judge's family. Runs that are not named take no part.
    level : float
        Level of the interval.

    Returns
    -------
    pandas.DataFrame
        ``judge`` and the fields of `Estimate`, from `evalstats.stats.self_preference`.
    """
    verdicts = with_labels(verdicts_of(judgements[judgements["run_id"].isin(list(own))]), labels)
    found: list[tuple[Keys, Estimate]] = [
        (
            keys,
            self_preference(
                group["verdict"].to_numpy(),
                group["label"].to_numpy(float),
                own=group["run_id"].map(dict(own)).to_numpy(bool),
                cases=group["case_id"].to_numpy(str),
                level=level,
            ),
        )
        for keys, group in groups(verdicts, ["judge"])
    ]
    return tidy(found, ["judge"])
