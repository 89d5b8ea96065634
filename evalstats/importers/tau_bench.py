"""Results of tau-bench: a list of trials, each with its task, its repeat and its reward."""

from __future__ import annotations

from collections.abc import Iterator

from evalstats.importers.logs import Log
from evalstats.importers.rows import Item, LoggedRun, Options, Row
from evalstats.importers.values import mapping, number, whole

NAME = "tau-bench"
_KEYS = {"task_id", "reward", "trial"}


def sniff(log: Log) -> str | None:
    """Recognise the keys of the first element."""
    return "a list of trials with rewards" if log.is_array and set(log.first) >= _KEYS else None


def read(log: Log, options: Options) -> Iterator[Item]:
    """Yield one row a trial. The list names neither model nor time; its file does, and names the run."""
    run = LoggedRun(suite=log.path.stem, key=("tau-bench", log.path.stem), tool="tau-bench")
    yield run, None
    for locator, trial in log.members(""):
        case, index = mapping(trial).get("task_id"), mapping(trial).get("trial")
        if not isinstance(case, (int, str)) or isinstance(case, bool):
            raise log.error("a trial needs its task_id", field=locator)
        if whole(index) is None:
            raise log.error("a trial counts from 0", field=f"{locator}/trial")
        yield (
            run,
            Row(
                case_id=str(case),
                trial_index=(whole(index) or 0) + 1,
                locator=locator,
                score=number(trial.get("reward")),
                content=mapping(trial.get("info")).get("task"),
                about=trial,
            ),
        )
