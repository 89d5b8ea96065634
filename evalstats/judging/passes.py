"""Judging stored transcripts: whatever is missing is asked, each judgement is on disk before the next is counted.

Killed at any moment, a pass loses only what was on its way; the same command asks what is still missing. A repeat that
the endpoint failed is missing, and asked again as another attempt. One that the judge answered in no shape we asked for
is an error for good: asking until the answer suits would choose among answers.
"""

from __future__ import annotations

import asyncio
import contextlib
import fcntl
import os
import secrets
from collections import Counter
from collections.abc import Awaitable, Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, TypeVar

from evalstats import journal, judgements, trials
from evalstats.errors import AdapterError, EvalstatsError, JournalError, UsageError
from evalstats.journal import Journal, owners_only
from evalstats.judging import families
from evalstats.judging.judge import Chance, Judge, Reply, ask
from evalstats.judging.questions import Question
from evalstats.judging.transcripts import Judged
from evalstats.runner.endpoint import Client, Completion, Endpoint, Patience, pace
from evalstats.trials import Judgement, Trial, timestamp

LASTING = frozenset({"unparsable", "no-text", "text-too-long", "context-length"})  # the same if asked again
HOPELESS = frozenset({"authentication", "no-model"})
ENOUGH_FAILED = 5  # judgements, when none was answered: then it is the endpoint, not the text
Job = TypeVar("Job")


@dataclass(frozen=True, slots=True, kw_only=True)
class Access:
    """How an endpoint is asked: where, how many at once, how fast, how patiently."""

    endpoint: Endpoint
    jobs: int = 4
    max_rpm: float | None = None
    patience: Patience = field(default_factory=Patience)


@dataclass(frozen=True, slots=True, kw_only=True)
class Task:
    """One judgement that is still to be made."""

    run: Judged
    trial: Trial
    question: Question
    repeat: int
    attempt: int
    seed: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Pass:
    """What came of one pass: what was asked in it, and all that this judge has now said of these runs."""

    asked: tuple[Judgement, ...]
    judgements: tuple[Judgement, ...]
    warnings: tuple[str, ...]


Wordings = Callable[[Question], Sequence[Question]]


def as_it_stands(question: Question) -> Sequence[Question]:
    """Return a question in its own wording alone."""
    return [question]


def judge_runs(
    runs: Sequence[Judged],
    judge: Judge,
    access: Access,
    *,
    repeats: int = 1,
    wordings: Wordings = as_it_stands,
    on_judgement: Callable[[Judgement, int], None] = lambda judgement, total: None,
) -> Pass:
    """Ask a judge all that it has not been asked about these runs, and record what it says.

    Raises
    ------
    UsageError
        Another process is judging one of the runs, or there is nothing to judge.
    AdapterError
        The endpoint refuses, or answers nothing: what was recorded before is kept.
    JournalError
        The disk refuses, or a journal is damaged.
    """
    if repeats < 1:
        raise UsageError(f"{repeats} repeats; give at least 1", field="--repeats")
    with contextlib.ExitStack() as stack:
        stack.enter_context(owners_only(any(run.suite.is_private for run in runs)))
        for run in runs:
            stack.enter_context(_alone_at(run.folder))
        tasks = missing(runs, judge, repeats, wordings)
        books = {
            run.run_id: stack.enter_context(Journal(run.folder / judgements.JUDGEMENTS))
            for run in runs
            if any(task.run is run for task in tasks)
        }
        crew = _Crew(judge, books, lambda made: on_judgement(made, len(tasks)))
        asyncio.run(crew.work(tasks, access))
    said = [each for run in runs for each in judgements.read_judgements(run.folder)]
    return Pass(
        asked=tuple(crew.made),
        judgements=tuple(j for j in judgements.last_attempts(said) if j.judge_sha256 == judge.sha256),
        warnings=tuple(dict.fromkeys(filter(None, (_kin(run, judge) for run in runs)))),
    )


def _kin(run: Judged, judge: Judge) -> str | None:
    return families.warning(judge.families, families.families(run.model))


def missing(runs: Sequence[Judged], judge: Judge, repeats: int, wordings: Wordings) -> list[Task]:
    """Return the judgements that are still to be made, in an order that mixes runs, cases and repeats.

    So that a judge that drifts meanwhile does not favour what it was shown first.
    """
    tasks: list[Task] = []
    for run in runs:
        said = {each.asked: each for each in judgements.last_attempts(judgements.read_judgements(run.folder))}
        for trial, question in run.items():
            for put in wordings(question):
                tasks += _of(run, trial, put, judge, [said, repeats])
    return sorted(tasks, key=lambda task: (task.seed, task.run.run_id))


def _of(run: Judged, trial: Trial, question: Question, judge: Judge, known: list[Any]) -> Iterator[Task]:
    said, repeats = known
    for repeat in range(1, repeats + 1):
        asked = (trial.key, question.expectation, judge.sha256, question.wording, repeat)
        before: Judgement | None = said.get(asked)
        if before is not None and (before.error_class is None or before.error_class in LASTING):
            continue
        seed = trials.judgement_seed(trial, question.expectation, judge.sha256, question.wording, repeat)
        attempt = 1 if before is None else before.attempt + 1
        yield Task(run=run, trial=trial, question=question, repeat=repeat, attempt=attempt, seed=seed)


@contextlib.contextmanager
def _alone_at(folder: Path) -> Iterator[None]:
    """Keep other processes from judging the run meanwhile."""
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        os.close(descriptor)
        raise UsageError("another process is running or judging this run", path=folder) from None
    except OSError:
        pass  # a file system without locks; nothing else depends on them
    try:
        yield
    finally:
        os.close(descriptor)


class _Crew:
    """Makes the judgements of one pass and records each as it is made."""

    def __init__(self, judge: Judge, books: dict[str, Journal], tell: Callable[[Judgement], None]) -> None:
        self.made: list[Judgement] = []
        self._judge, self._books, self._tell = judge, books, tell
        self._secret = secrets.token_bytes(32)
        self._ended: Counter[bool] = Counter()

    async def work(self, tasks: Sequence[Task], access: Access) -> None:
        """Make all judgements, a few at once; raise the first error."""
        if not tasks:
            return
        limiter = pace(access.max_rpm)
        async with Client(access.endpoint, patience=access.patience, limiter=limiter) as client:
            await in_turn(tasks, lambda task: self._judgement(task, client), access.jobs)

    async def _judgement(self, task: Task, client: Client) -> None:
        text, graded = self._text(task)
        chance = Chance(seed=task.seed, secret=self._secret, attempt=task.attempt)
        started_at = timestamp()
        if text is None:
            reply = Reply(error_class="no-text", reason="what is to be judged was not kept")
        else:
            reply = await ask(client, self._judge, task.question, text, chance)
        self._give_up_if_hopeless(reply)
        made = replace(
            _recorded(task, self._judge, reply, started_at),
            graded_sha256=graded,
            answer_sha256=_kept(task, reply.completion),
        )
        self._books[task.run.run_id].append(made)
        self.made.append(made)
        self._tell(made)

    def _text(self, task: Task) -> tuple[str | None, str | None]:
        try:
            return task.run.text(task.trial, task.question)
        except JournalError:  # the blob is gone or damaged; the others may be whole
            return None, None

    def _give_up_if_hopeless(self, reply: Reply) -> None:
        if reply.error_class in HOPELESS:
            raise AdapterError(f"the judge cannot be asked: {reply.reason}", field=reply.error_class)
        if reply.error_class in LASTING - {"unparsable"}:
            return
        self._ended[reply.completion is not None] += 1
        if not self._ended[True] and self._ended[False] > ENOUGH_FAILED:
            raise AdapterError(f"the judge answers nothing: {reply.reason}", field=reply.error_class)


async def in_turn(jobs: Iterable[Job], work: Callable[[Job], Awaitable[None]], at_once: int) -> None:
    """Do all jobs, so many at once; the first error ends the others and is raised."""
    waiting = iter(jobs)

    async def worker() -> None:
        for job in waiting:
            await work(job)

    try:
        async with asyncio.TaskGroup() as group:
            for _ in range(max(1, at_once)):
                group.create_task(worker())
    except ExceptionGroup as errors:
        known, _ = errors.split(EvalstatsError)
        raise (known or errors).exceptions[0] from None


def _recorded(task: Task, judge: Judge, reply: Reply, started_at: str) -> Judgement:
    said = reply.completion
    facts: dict[str, Any] = {}
    if said is not None:
        names = ("model", "version", "duration_s", "cost", "cost_source")
        facts = {name: getattr(said, name) for name in names}
        facts |= {"tokens_in": said.tokens.sent, "tokens_out": said.tokens.received}
    return Judgement(
        run_id=task.trial.run_id,
        case_id=task.trial.case_id,
        arm=task.trial.arm,
        trial_index=task.trial.trial_index,
        expectation=task.question.expectation,
        judge=judge.model,
        judge_sha256=judge.sha256,
        rubric_sha256=judge.rubric_sha256,
        family=", ".join(sorted(judge.families)) or None,
        wording=task.question.wording,
        repeat=task.repeat,
        attempt=task.attempt,
        passed=reply.verdict.passed if reply.verdict else None,
        mark=reply.verdict.mark if reply.verdict else None,
        error_class=reply.error_class,
        reason=reply.reason,
        seed=task.seed,
        fence=reply.fence,
        started_at=started_at,
        **facts,
    )


def _kept(task: Task, said: Completion | None) -> str | None:
    return None if said is None else task.run.artifacts.put(said.text.encode("utf-8", "replace"))


# --- the judge that counts -------------------------------------------------------------------------


def deploy(runs: Sequence[Judged], judge: Judge, repeats: int, *, anew: bool = False) -> bool:
    """Let this judge decide the trials of these runs, if none does yet, or ``anew``; return whether it does now.

    It is written down before it judges, so that what it says cannot be a reason to choose it.
    """
    for run in runs:
        manifest = journal.read_manifest(run.folder)
        known = manifest.get("judge")
        if known and not anew:
            continue
        subject = families.families(run.model)
        facts = {
            "model": judge.model,
            "sha256": judge.sha256,
            "rubric_sha256": judge.rubric_sha256,
            "form": str(judge.form),
            "temperature": judge.temperature,
            "repeats": repeats,
            "family": sorted(judge.families),
            "subject_family": sorted(subject),
            "same_family": families.same_family(judge.families, subject),
        }
        with owners_only(run.suite.is_private):
            judgements.deploy(run.folder, facts)
    deployed = [journal.read_manifest(run.folder).get("judge", {}) for run in runs]
    return all((d.get("sha256"), d.get("repeats")) == (judge.sha256, repeats) for d in deployed)
