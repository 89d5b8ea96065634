"""Does the verdict hang on the words of the question? The same texts under other words, and under its opposite.

A judge that reads the output says the same to a question in other words, and the opposite to its opposite. One that
says yes to a question and to its opposite is agreeable, not right.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from evalstats import contract
from evalstats.errors import UsageError
from evalstats.estimates.cases import tidy
from evalstats.estimates.records import noted
from evalstats.judging.questions import Question
from evalstats.judging.verdicts import UNIT, majorities
from evalstats.stats.repeated_trials import pass_rate
from evalstats.stats.results import counted
from evalstats.suite import Suite
from evalstats.trials import ORIGINAL

if TYPE_CHECKING:
    import pandas as pd

    from evalstats.stats.results import Estimate

SCHEMA = "judge-rewordings.v1"
INVERTED, REWORDED = "inverted", "reworded"
OPPOSITE = 'Is this question to be answered with no? "{}"'  # where the suite has no better words


@dataclass(frozen=True, slots=True)
class Rewordings:
    """Other words for questions, by the question as the suite has it."""

    known: Mapping[str, Mapping[str, Any]]

    def __call__(self, question: Question) -> Sequence[Question]:
        """Return a question in its own words, in others, and inverted; one for a score only where words are given."""
        entry = self.known.get(question.text, {})
        asked = [question]
        asked += [_put(question, text, REWORDED) for text in dict.fromkeys(entry.get("same", ()))]
        opposite = entry.get("inverted", None if question.wants_score else OPPOSITE.format(question.text))
        asked += [replace(_put(question, opposite, INVERTED), inverted=True)] if opposite else []
        return asked


def _put(question: Question, text: str, kind: str) -> Question:
    """Return a question in other words; its wording is named after them, so that other words are another wording."""
    return replace(
        question, text=text, wording=f"{kind}:{contract.digest(text.encode('utf-8', 'replace'))[:12]}"
    )


def read(suite: Suite, asked: Sequence[Question], path: Path | None) -> Rewordings:
    """Return the rewordings in a file, else those of the suite's judge section.

    Raises DocumentError with all that is wrong with the file, and UsageError for a question that the suite does not
    ask, since nothing would come of it.
    """
    entries = suite.document.get("judge", {}).get("rewordings", [])
    if path is not None:
        document, text = contract.read_json(path)
        contract.validate(document, SCHEMA, path=path, text=text)
        entries = document["rewordings"]
    texts = {question.text for question in asked}
    for index, entry in enumerate(entries):
        if entry["question"] not in texts:
            raise UsageError("is no question of the suite", path=path, field=f"/rewordings/{index}/question")
    return Rewordings({entry["question"]: entry for entry in entries})


def steadiness(judgements: pd.DataFrame, *, level: float = 0.95) -> pd.DataFrame:
    """How often does a judge say the same in other words, and contradict itself when asked the opposite?

    Parameters
    ----------
    judgements : pandas.DataFrame
        Of one judge, from `frame`. The verdict under each wording is the majority of its repeats; a tie is no.
    level : float
        Level of the intervals.

    Returns
    -------
    pandas.DataFrame
        ``measure`` and the fields of `Estimate`: of all pairs of a wording and the original, how often the verdict was
        the ``same, reworded`` and the ``same, inverted``, and how often a question and its opposite both got a yes,
        ``yes to both``, or a no, ``no to both``. Cases are the unit.
    """
    verdicts = majorities(judgements, "wording")
    found: list[tuple[dict[str, Any], Estimate]] = []
    for kind in (REWORDED, INVERTED):
        pairs = _pairs(verdicts, kind)
        if pairs.empty:
            continue
        found.append(
            ({"measure": f"same, {kind}"}, _share(pairs, pairs["other"] == pairs["original"], level))
        )
        if kind == INVERTED:  # here `other` is already about the original question: yes to its opposite is 0
            yes = (pairs["original"] == 1) & (pairs["other"] == 0)
            no = (pairs["original"] == 0) & (pairs["other"] == 1)
            found += [({"measure": "yes to both"}, _share(pairs, yes, level))]
            found += [({"measure": "no to both"}, _share(pairs, no, level))]
    return tidy(found, ["measure"])


def _pairs(verdicts: pd.DataFrame, kind: str) -> pd.DataFrame:
    """Return (unit, wording, other, original) for every pair of which both gave a verdict."""
    import pandas as pd

    wordings = [name for name in verdicts.columns if name.partition(":")[0] == kind]
    if ORIGINAL not in verdicts.columns or not wordings:
        return pd.DataFrame(columns=[*UNIT, "wording", "other", "original"])
    parts = [
        pd.DataFrame({"wording": name, "other": verdicts[name], "original": verdicts[ORIGINAL]})
        for name in wordings
    ]
    return pd.concat(parts).dropna().reset_index()


def _share(pairs: pd.DataFrame, holds: pd.Series[bool], level: float) -> Estimate:
    counts = holds.groupby(pairs["case_id"]).agg(["sum", "size"])
    found = pass_rate(counts["sum"].to_numpy(int), counts["size"].to_numpy(int), level=level)
    words = counted(int(pairs["wording"].nunique()), "wording")
    return noted(replace(found, estimand="share of pairs of verdicts"), f"over {words}")


def by_wording(judgements: pd.DataFrame, words: Mapping[str, str]) -> list[dict[str, Any]]:
    """Return, for each wording, how many verdicts there are beside one in the original words, and how many agree."""
    verdicts = majorities(judgements, "wording")
    rows = []
    for kind in (REWORDED, INVERTED):
        for wording, part in _pairs(verdicts, kind).groupby("wording", sort=True):
            same = int((part["other"] == part["original"]).sum())
            said = {"wording": wording, "words": words.get(str(wording)), "pairs": len(part), "same": same}
            rows.append(said)
    return rows
