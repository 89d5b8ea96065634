"""One verdict per judge and expectation of a trial, out of its repeats: what agreement and change are counted on."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from evalstats.errors import UsageError
from evalstats.judging.judge import name_of
from evalstats.trials import Judgement

if TYPE_CHECKING:
    import pandas as pd

UNIT = ["run_id", "case_id", "arm", "trial_index", "expectation"]


def frame(judgements: Iterable[Judgement]) -> pd.DataFrame:
    """Return judgements in memory as the store would give them, with their ``wording``.

    Columns: run_id, case_id, arm, trial_index, expectation, judge, wording, repeat, score.
    """
    import pandas as pd

    rows = [
        (
            j.run_id, j.case_id, str(j.arm), j.trial_index, j.expectation, name_of(j.judge, j.judge_sha256),
            j.wording, j.repeat, None if j.passed is None else float(j.passed),
        )
        for j in judgements
    ]  # fmt: skip
    columns = [*UNIT, "judge", "wording", "repeat", "score"]
    return pd.DataFrame(rows, columns=columns).astype({"score": "float64"})


def majorities(judgements: pd.DataFrame, by: str) -> pd.DataFrame:
    """Return one row per unit and one column per value of ``by``: 1 yes, 0 no or a tie, NaN without a verdict."""
    mean = judgements.groupby([*UNIT, by], sort=True)["score"].mean()
    return (mean > 0.5).astype("float64").where(mean.notna()).unstack(by)


def known_judge(judgements: pd.DataFrame, asked: str) -> str:
    """Return the one judge that ``asked`` names: by model, or as tables name it. Raises UsageError."""
    names = sorted(set(judgements["judge"]))
    found = [name for name in names if name == asked or name.rpartition("@")[0] == asked]
    if len(found) != 1:
        what = f"several judges are called {asked!r}" if found else f"{asked!r} has judged nothing here"
        raise UsageError(f"{what}; known: {', '.join(found or names) or 'none'}", field="JUDGE")
    return str(found[0])
