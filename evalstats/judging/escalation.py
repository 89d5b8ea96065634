"""What should a person label next? Where the judge is least sure, and much hangs on it."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from evalstats.judging.verdicts import UNIT

if TYPE_CHECKING:
    import pandas as pd

_PRIOR = 0.5  # of a vote, for yes and for no (Krichevsky and Trofimov, 1981, doi:10.1109/TIT.1981.1056331)


def escalation(judgements: pd.DataFrame, labels: pd.DataFrame) -> pd.DataFrame:
    """Return what is not labelled yet, what tells most first; ties in the order of runs, cases and trials.

    Parameters
    ----------
    judgements, labels : pandas.DataFrame
        As the store gives them. All verdicts count, of whatever judge: judges that disagree are unsure too.

    Returns
    -------
    pandas.DataFrame
        run_id, case_id, arm, trial_index, expectation, ``yes`` and ``votes``, ``unsure`` (entropy of the verdict in
        bits: 0 certain, 1 open), ``of_headline`` (share of a headline that hangs on it) and ``gain``, their product.

    Notes
    -----
    The chance of a yes is estimated with half a vote for each side, so that one vote leaves more doubt than five that
    agree, and none leaves all. An expectation that is not required has no gain: no score hangs on it.
    """
    units = judgements.groupby(UNIT, sort=True)
    found = units["score"].agg(yes="sum", votes="count").join(units["of_headline"].first()).reset_index()
    share = (found["yes"] + _PRIOR) / (found["votes"] + 2 * _PRIOR)
    found["unsure"] = -(share * np.log2(share) + (1 - share) * np.log2(1 - share))
    found["gain"] = found["unsure"] * found["of_headline"]
    labelled = labels.loc[labels["label"].notna(), UNIT] if len(labels) else labels.reindex(columns=UNIT)
    known = set(labelled.itertuples(index=False, name=None))
    open_ones = [unit not in known for unit in found[UNIT].itertuples(index=False, name=None)]
    ranked = found[open_ones].sort_values(
        ["gain", *UNIT], ascending=[False, *[True] * len(UNIT)], kind="stable"
    )
    sorted_out: pd.DataFrame = ranked.astype({"yes": "int64"}).reset_index(drop=True)
    return sorted_out
