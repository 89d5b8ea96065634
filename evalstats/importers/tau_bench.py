"""Results of tau-bench: a list of trials, each with its task, its repeat and its reward."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from evalstats.importers.logs import Log, number, whole
from evalstats.importers.rows import Item, LoggedRun, Options, Row

NAME = "tau-bench"
_KEYS = {"task_id", "reward", "trial"}


def sniff(log: Log) -> str | None:
    """Recognise the keys of the first element."""
    if not log.head.lstrip().startswith(b"["):
        return None
    first = log.first_element
    return "a list of trials with rewards" if _KEYS <= set(first or {}) else None


def read(log: Log, options: Options) -> Iterator[Item]:
    """Yield one row a trial; the list names neither model nor time."""
    run = LoggedRun(suite=log.path.stem, key=("tau-bench", log.sha256), tool="tau-bench")
    for index, trial in enumerate(log.items("item")):
        if not isinstance(trial, dict) or not isinstance(trial.get("task_id"), (int, str)):
            raise log.error("a trial needs its task_id", field=f"/{index}")
        number_of = whole(trial.get("trial"))
        if number_of is None:
            raise log.error("a trial counts from 0", field=f"/{index}/trial")
        info: Any = trial.get("info")
        yield (
            run,
            Row(
                case_id=str(trial["task_id"]),
                trial_index=number_of + 1,
                locator=f"/{index}",
                score=number(trial.get("reward")),
                content=info.get("task") if isinstance(info, dict) else None,
                about=trial,
            ),
        )
