"""``evalstats judge``: verdicts on stored transcripts, and whether the judge can be trusted."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from evalstats.cli import judge_results
from evalstats.cli.judge_choices import (
    BaseUrl,
    Choice,
    Form,
    Jobs,
    Level,
    MaxRpm,
    Model,
    Output,
    Prices,
    Repeats,
    Rubric,
    Run,
    Runs,
    SuiteName,
    Temperature,
    Where,
    asked,
    checked,
    found,
    frozen_texts,
    judged,
    passed,
)
from evalstats.cli.options import DEFAULT_DATA, Data, Json, Role, StorePath, print_json

CHANGED, CANNOT = 1, 3
app = typer.Typer()


@app.command("run")
def judge_run(
    run: Run,
    model: Model = None,
    base_url: BaseUrl = None,
    repeats: Repeats = None,
    form: Form = None,
    temperature: Temperature = None,
    rubric: Rubric = None,
    deploy: Annotated[
        bool, typer.Option("--deploy", help="From now on this judge decides the scores.")
    ] = False,
    jobs: Jobs = 4,
    max_rpm: MaxRpm = None,
    prices: Prices = None,
    role: Role = None,
    data: Data = DEFAULT_DATA,
    store: StorePath = None,
    as_json: Json = False,
) -> int:
    """Judge the stored transcripts of a run; whatever was judged before is not asked again.

    The first judge of a run decides its scores; others, and more repeats, are measurements beside it. An answer that
    is not of the shape asked for is an error, never a vote. A key, if one is needed, is read from
    EVALSTATS_JUDGE_KEY. Exit 3 when a text has no verdict at all.

    Example: evalstats judge my-run --model some-model --base-url http://127.0.0.1:8080/v1 --repeats 3
    """
    chosen = Choice(model, form, temperature, rubric, repeats)
    where = Where(base_url, jobs, max_rpm, prices)
    return judged(run, chosen, where, Output(data, role, store, as_json), deploy=deploy)


@app.command()
def sentinel(
    name: Annotated[str, typer.Argument(help="Name of the sentinel.")],
    freeze: Annotated[
        str | None, typer.Option("--freeze", metavar="RUN", help="Make it, from texts of this run.")
    ] = None,
    anchors: Annotated[
        int, typer.Option("--anchors", min=1, max=10_000, help="Texts to freeze, at most.")
    ] = 30,
    model: Model = None,
    base_url: BaseUrl = None,
    repeats: Repeats = None,
    form: Form = None,
    temperature: Temperature = None,
    rubric: Rubric = None,
    level: Annotated[
        float, typer.Option("--level", help="Share of unchanged judges accused by one check.")
    ] = 0.01,
    jobs: Jobs = 4,
    max_rpm: MaxRpm = None,
    data: Data = DEFAULT_DATA,
    as_json: Json = False,
) -> int:
    """Ask frozen texts again, to catch a judge that changed.

    Run it on a schedule: each check is added to a history, which dates a change. Freeze with 3 repeats or more: one
    alone cannot tell a change both ways from noise. Exit 1 when the judge changed, 3 when too few verdicts came.

    Example: evalstats judge sentinel nightly --base-url http://127.0.0.1:8080/v1
    """
    from evalstats.judging import sentinel as sentinels

    level = checked(level, "--level")
    path = sentinels.place(data, name)
    where = Where(base_url, jobs, max_rpm, None)
    if freeze is not None:
        frozen = frozen_texts(
            path, found(data, freeze), Choice(model, form, temperature, rubric, repeats), where, anchors
        )
        judge_results.show_frozen(path, frozen, as_json=as_json)
        return 0
    access = where.access(sentinels.read(path)[0].model)
    line = sentinels.check(path, access, level=level, repeats=repeats)
    if as_json:
        print_json({**line, "history": sentinels.history(path)})
    else:
        judge_results.show_check(line, sentinels.history(path))
    return CANNOT if line["changed"] is None else CHANGED if line["changed"] else 0


@app.command("rubric-check")
def rubric_check(
    run: Run,
    rewordings: Annotated[
        Path | None,
        typer.Option("--rewordings", help="Other words for the questions [default: the suite's]."),
    ] = None,
    model: Model = None,
    base_url: BaseUrl = None,
    repeats: Repeats = None,
    form: Form = None,
    temperature: Temperature = None,
    rubric: Rubric = None,
    level: Level = 0.95,
    jobs: Jobs = 4,
    max_rpm: MaxRpm = None,
    data: Data = DEFAULT_DATA,
    as_json: Json = False,
) -> int:
    """Ask the same in other words, and the opposite.

    Verdicts under other wordings never enter a score. Exit 3 when no pair of verdicts came of it.

    Example: evalstats judge rubric-check my-run --rewordings rewordings.json --base-url http://127.0.0.1:8080/v1
    """
    from evalstats.judging import rewordings as words
    from evalstats.judging import transcripts, verdicts
    from evalstats.judging.questions import questions

    runs, level = found(data, run), checked(level, "--level")
    the_judge, times = Choice(model, form, temperature, rubric, repeats).judge(runs)
    suite = transcripts.one_suite(runs)
    wordings = words.read(suite, questions(suite), rewordings)
    where = Where(base_url, jobs, max_rpm, None)
    made = passed(runs, the_judge, where.access(the_judge.model), times, wordings)
    table = verdicts.frame(made.judgements)
    steady = words.steadiness(table, level=level)
    texts = {put.wording: put.text for question in questions(suite) for put in wordings(question)}
    judge_results.show_steadiness(steady, words.by_wording(table, texts), as_json=as_json)
    return CANNOT if steady.empty else 0


@app.command()
def migrate(
    old: Annotated[
        str, typer.Argument(help="The judge that was: a model, or as tables name it.", metavar="A")
    ],
    new: Annotated[str, typer.Argument(help="The judge that is to be.", metavar="B")],
    suite: SuiteName = None,
    run: Runs = None,
    pass_mark: Annotated[float, typer.Option("--pass-mark", min=0, max=1, help="A pass rate on A.")] = 0.8,
    seed: Annotated[int, typer.Option("--seed", min=0, help="Seed of the resampling.")] = 1,
    level: Level = 0.95,
    data: Data = DEFAULT_DATA,
    store: StorePath = None,
    as_json: Json = False,
) -> int:
    """Say what moves from judge A to judge B, and what a pass mark on A is worth on B.

    Both must have judged the same transcripts: `judge RUN --model B` first.

    Example: evalstats judge migrate old-model new-model --suite solver --pass-mark 0.8
    """
    from evalstats.estimates import generator
    from evalstats.judging.migration import migrate as moved

    judgements, _ = asked(Output(data, None, store, as_json), suite, run)
    level = checked(level, "--level")
    done = moved(judgements, old, new, pass_mark=pass_mark, rng=generator(seed), level=level)
    judge_results.show_migration(done, as_json=as_json)
    return 0


@app.command()
def escalate(
    suite: SuiteName = None,
    run: Runs = None,
    most: Annotated[int, typer.Option("--most", "-n", min=1, help="List at most so many.")] = 20,
    out: Annotated[Path | None, typer.Option("--out", help="Write them as a table to be labelled.")] = None,
    data: Data = DEFAULT_DATA,
    store: StorePath = None,
    as_json: Json = False,
) -> int:
    """List what a person should label next.

    First what the judge is least sure of and most of the headline hangs on. With --out, as CSV for `labels import`.

    Example: evalstats judge escalate --suite solver --out to-label.csv
    """
    from evalstats.judging.escalation import escalation

    output = Output(data, None, store, as_json)
    ranked = escalation(*asked(output, suite, run)).head(most)
    if out is not None:
        judge_results.write_to_label(ranked, output.tree, out)
    judge_results.show_escalation(ranked, as_json=as_json)
    return 0
