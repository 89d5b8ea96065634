"""Progress of a run on stderr: a bar for a person, one plain line at a time for a log."""

from __future__ import annotations

import json
import sys
import time
from collections import Counter
from enum import StrEnum
from types import TracebackType
from typing import Any

from evalstats.cli.tables import complain
from evalstats.runner.events import Draining, Event, FewerJobs, Killing, Started, TrialFinished
from evalstats.trials import Trial

PLAIN_SECONDS = 10.0


class Style(StrEnum):
    """How progress is shown."""

    AUTO = "auto"
    RICH = "rich"
    PLAIN = "plain"
    NONE = "none"
    JSONL = "jsonl"


class Progress:
    """Counts finished trials and says so; used as a context manager around a run."""

    def __init__(self, total: int, style: Style, *, terminal: bool, private: bool = False) -> None:
        self.total = total
        self.style = (Style.RICH if terminal else Style.PLAIN) if style is Style.AUTO else style
        self.private = private
        self.done: Counter[str] = Counter()
        self._started = self._said = time.monotonic()
        self._bar: Any = None

    def __enter__(self) -> Progress:
        if self.style is Style.RICH:
            self._bar = _rich_bar()
            self._bar.start()
            self._task = self._bar.add_task("trials", total=self.total)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._bar is not None:
            self._bar.stop()
        if self.style in (Style.PLAIN, Style.RICH) and (self.done or error is None):
            self._say()

    def tell(self, event: Event) -> None:
        """Show one event of the run."""
        if isinstance(event, TrialFinished):
            self._finished(event.trial)
        elif isinstance(event, Draining):
            complain(f"stopping: {event.running} running trial(s) will finish; Ctrl-C again kills them")
        elif isinstance(event, Killing):
            complain(f"killing {event.running} running trial(s); they run again on resume")
        elif isinstance(event, FewerJobs):
            complain(f"{event.jobs} of {event.asked} jobs: the limit of open files allows no more")
        elif isinstance(event, Started) and event.orphans:
            complain(f"ended {event.orphans} process(es) that a dead run had left")

    def _finished(self, trial: Trial) -> None:
        """Count one trial that is safely in the journal."""
        self.done[str(trial.status)] += 1
        if self._bar is not None:
            self._bar.advance(self._task)
        elif self.style is Style.JSONL:
            case = None if self.private else trial.case_id
            line = {"key": trial.key, "case": case, "arm": trial.arm, "status": trial.status}
            print(json.dumps(line), file=sys.stderr, flush=True)
        elif self.style is Style.PLAIN and time.monotonic() - self._said >= PLAIN_SECONDS:
            self._say()

    def _say(self) -> None:
        self._said = time.monotonic()
        done = sum(self.done.values())
        parts = ", ".join(f"{n} {status}" for status, n in sorted(self.done.items()))
        print(
            f"{done}/{self.total} trials in {self._said - self._started:.1f} s: {parts or 'none'}",
            file=sys.stderr,
        )


def _rich_bar() -> Any:
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, TextColumn, TimeRemainingColumn
    from rich.progress import Progress as RichProgress

    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
    return RichProgress(*columns, console=Console(stderr=True), transient=True)
