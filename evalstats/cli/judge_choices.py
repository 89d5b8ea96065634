"""What the judge commands share: which judge is meant, where it is asked, what it has said so far."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from evalstats.cli import judge_results
from evalstats.cli.options import data_tree, private_store, store_path
from evalstats.cli.tables import complain
from evalstats.errors import EvalstatsError, JournalError, StoreError, UsageError

if TYPE_CHECKING:
    import pandas as pd

    from evalstats.judging.judge import Judge
    from evalstats.judging.passes import Access, Pass, Wordings
    from evalstats.judging.transcripts import Judged
    from evalstats.runner import Plan, Result
    from evalstats.suite import Suite

ENOUGH_VOTES = 3  # of one text: fewer cannot tell a change that goes both ways from noise
URL, KEY = "EVALSTATS_JUDGE_URL", "EVALSTATS_JUDGE_KEY"

Run = Annotated[str, typer.Argument(help="A run, or the group of both arms of a run.", metavar="RUN")]
Model = Annotated[str | None, typer.Option("--model", help="The judge [default: judge.model of the suite].")]
BaseUrl = Annotated[
    str | None,
    typer.Option("--base-url", envvar=URL, help="OpenAI-compatible endpoint, such as http://host/v1."),
]
Repeats = Annotated[
    int | None,
    typer.Option("--repeats", min=1, max=1000, help="Judgements of each text [default: the suite's, or 1]."),
]
Form = Annotated[
    str | None, typer.Option("--form", help="chat, or completions for a base model [default: chat].")
]
Temperature = Annotated[
    float | None,
    typer.Option("--temperature", min=0, max=2, help="Sampling temperature [default: the endpoint's]."),
]
Rubric = Annotated[Path | None, typer.Option("--rubric", help="Rubric to judge by [default: the suite's].")]
Jobs = Annotated[int, typer.Option("--jobs", "-j", min=1, help="Judgements at once.")]
MaxRpm = Annotated[float | None, typer.Option("--max-rpm", help="At most so many requests a minute.")]
Prices = Annotated[Path | None, typer.Option("--prices", help="Price table, so that costs are known.")]
Level = Annotated[float, typer.Option("--level", help="Level of the intervals, between 0 and 1.")]
SuiteName = Annotated[
    str | None, typer.Option("--suite", help="The suite [default: the only one in the store].")
]
Runs = Annotated[list[str] | None, typer.Option("--run", help="Only this run; may be repeated.")]


@dataclass(frozen=True, slots=True)
class Output:
    """Which data is read, in which role, and how results are shown."""

    data: Path
    role: str | None
    store: Path | None
    as_json: bool

    @property
    def tree(self) -> Path:
        """Return the folder of the data that the role may see."""
        return data_tree(self.data, self.role)

    @property
    def database(self) -> Path:
        """Return the store that the role may see."""
        pick = store_path if self.role is None else private_store
        return pick(self.tree, self.store)


@dataclass(frozen=True, slots=True)
class Choice:
    """Which judge is asked for; None leaves it to the suite."""

    model: str | None = None
    form: str | None = None
    temperature: float | None = None
    rubric: Path | None = None
    repeats: int | None = None

    def judge(self, runs: Sequence[Judged]) -> tuple[Judge, int]:
        """Return the judge and its repeats. Raises UsageError where neither caller nor suite names a model."""
        from evalstats.judging import transcripts

        return self.of_suite(transcripts.one_suite(runs))

    def of_suite(self, suite: Suite) -> tuple[Judge, int]:
        """Return the judge and its repeats, of a suite that may not have run yet."""
        from evalstats.judging import transcripts
        from evalstats.judging.judge import Judge
        from evalstats.judging.questions import Form as Forms

        section = suite.document.get("judge", {})
        model, form = self.model or section.get("model"), self.form or section.get("form", "chat")
        if not model:
            raise UsageError("no judge is named, here or in the suite", field="--model")
        if form not in list(Forms):
            raise UsageError(f"unknown form {form!r}; known: {', '.join(Forms)}", field="--form")
        text, digest = transcripts.rubric(suite, self.rubric)
        own = section.get("temperature")
        made = Judge(
            model=model,
            rubric=text,
            rubric_sha256=digest,
            declared_family=section.get("family") if model == section.get("model", model) else None,
            form=Forms(form),
            temperature=own if self.temperature is None else self.temperature,
        )
        default = suite.document.get("trials", {}).get("judge_repeats", section.get("repeats", 1))
        return made, int(default if self.repeats is None else self.repeats)


@dataclass(frozen=True, slots=True)
class Where:
    """Where a judge is asked, and how fast."""

    base_url: str | None
    jobs: int = 4
    max_rpm: float | None = None
    prices: Path | None = None

    def access(self, model: str) -> Access:
        """Return the access to a model. Raises UsageError without an address."""
        from evalstats.judging.passes import Access
        from evalstats.runner import prices
        from evalstats.runner.endpoint import Endpoint

        if not self.base_url:
            raise UsageError(f"give the address of the judge, here or in {URL}", field="--base-url")
        if self.max_rpm is not None and not 0 < self.max_rpm < float("inf"):
            raise UsageError("must be a number above 0", field="--max-rpm")
        price = None if self.prices is None else prices.read(self.prices).of(model)
        key = os.environ.get(KEY) or None
        place = Endpoint(url=self.base_url, model=model, api_key=key, price=price)
        return Access(endpoint=place, jobs=self.jobs, max_rpm=self.max_rpm)


def judged(name: str, chosen: Choice, where: Where, output: Output, *, deploy: bool) -> int:
    """Judge a run or a group, score it anew, bring it into the store and show what came of it."""
    from evalstats.judging import passes, records

    runs = found(output.tree, name)
    the_judge, repeats = chosen.judge(runs)
    access = where.access(the_judge.model)
    decides = passes.deploy(runs, the_judge, repeats, anew=deploy)
    made = passed(runs, the_judge, access, repeats)
    for run in runs:
        records.rescore(run)
    ingest(output)
    return judge_results.show_pass(made, the_judge, repeats, decides=decides, as_json=output.as_json)


@dataclass(frozen=True, slots=True)
class AfterRun:
    """What `run` is told about judging what it ran: nothing, or how often, by whom and where."""

    repeats: int | None
    model: str | None
    base_url: str | None

    @property
    def wanted(self) -> bool:
        """Return whether the run is to be judged at once."""
        return self.repeats is not None or self.model is not None

    def check(self, plan: Plan) -> None:
        """Refuse, before anything runs, what could not be judged afterwards."""
        from evalstats.judging.questions import questions

        if self.wanted:
            questions(plan.suite)
            the_judge, _ = Choice(model=self.model, repeats=self.repeats).of_suite(plan.suite)
            Where(self.base_url).access(the_judge.model)

    def judged(self, finished: Result, plan: Plan, tree: Path) -> tuple[Result, int]:
        """Return a run as it stands with the votes of its judge, and 3 if it could not be judged."""
        from evalstats.judging import passes, records
        from evalstats.judging.questions import asks_a_judge

        if not asks_a_judge(plan.suite):
            return finished, 0
        code, runs = 0, found(tree, plan.group_id)
        if self.wanted and not finished.stopped_by:
            try:
                the_judge, repeats = Choice(model=self.model, repeats=self.repeats).judge(runs)
                passes.deploy(runs, the_judge, repeats)
                passed(runs, the_judge, Where(self.base_url).access(the_judge.model), repeats)
            except EvalstatsError as error:
                complain(f"not judged: {error}; go on with: evalstats judge {plan.group_id}")
                code = error.exit_code
        if not any(run.is_judged() for run in runs):
            return finished, code
        standing = [records.rescore(run) for run in runs]
        kept = tuple(record for record, _ in standing if record is not None)
        return replace(finished, records=kept, trials=tuple(t for _, own in standing for t in own)), code


def found(tree: Path, name: str) -> list[Judged]:
    """Return the runs called so."""
    from evalstats.judging import transcripts

    return transcripts.runs(tree, name)


def passed(
    runs: Sequence[Judged], the_judge: Judge, access: Access, repeats: int, wordings: Wordings | None = None
) -> Pass:
    """Make one pass and say on stderr what a reader must know."""
    from evalstats.judging import passes

    with judge_results.Counter() as counter:
        made = passes.judge_runs(
            runs,
            the_judge,
            access,
            repeats=repeats,
            wordings=wordings or passes.as_it_stands,
            on_judgement=counter.tell,
        )
    for warning in made.warnings:
        complain(warning)
    return made


def frozen_texts(
    path: Path, runs: Sequence[Judged], chosen: Choice, where: Where, most: int
) -> dict[str, Any]:
    """Freeze texts of these runs with what the judge says of them now, three times unless asked otherwise."""
    from evalstats.judging import sentinel

    the_judge, _ = chosen.judge(runs)
    times = ENOUGH_VOTES if chosen.repeats is None else chosen.repeats
    access = where.access(the_judge.model)
    return sentinel.freeze(runs, the_judge, access, path=path, most=most, repeats=times)


def asked(output: Output, suite: str | None, runs: list[str] | None) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Return the judgements and the labels in the store, of one suite."""
    from evalstats import store as warehouse

    with warehouse.open(output.database, read_only=True, private=output.role is not None) as opened:
        known = opened.suites()
        if suite is None and len(known) != 1:
            raise UsageError(f"name a suite; known: {', '.join(known) or 'none'}", field="--suite")
        which = suite or known[0]
        judgements = opened.judgements(which, runs)
        if judgements.empty:
            raise UsageError(
                f"nothing of suite {which} was judged; `evalstats judge RUN` does it", field="--suite"
            )
        return judgements, opened.labels(which, runs)


def ingest(output: Output) -> None:
    """Load the journals; a locked store, or a bad journal of another run, undoes no judgement."""
    from evalstats import store as warehouse

    try:
        warehouse.ingest(output.database, output.tree / "runs", private=output.role is not None)
    except (StoreError, JournalError) as error:
        complain(f"not ingested: {error}; run `evalstats ingest` later")


def checked(share: float, option: str) -> float:
    """Return a share strictly between 0 and 1. Raises UsageError."""
    if not 0 < share < 1:
        raise UsageError(f"must lie between 0 and 1; got {share:g}", field=option)
    return share
