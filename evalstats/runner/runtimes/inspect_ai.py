"""Inspect AI as a runtime: ``inspect eval`` into the trial's own folder, its log read by the importer.

Inputs of a case: ``task`` (a file of the suite's folder, or a name), ``sample_id`` (one sample, which is the trial)
and ``args``. What expectations read as stdout is a JSON document with the ``completion`` and all ``scores``: ask for
a score with ``score_at_least`` and the target ``$.scores.NAME``.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from evalstats import journal
from evalstats.contract import Outcome
from evalstats.errors import EvalstatsError
from evalstats.importers import inspect_ai as logs
from evalstats.importers.logs import Log
from evalstats.importers.rows import LoggedRun, Options, Row
from evalstats.runner.prices import Tokens
from evalstats.runner.process import Ended
from evalstats.runner.runtimes import agents
from evalstats.runner.runtimes.agents import ask
from evalstats.runner.runtimes.protocol import Answer, Asked, Room, Runtime, skipped
from evalstats.runner.runtimes.refusals import lost

LOGS = "inspect-logs"
_KEYS = (
    "OPENAI_API_KEY",
    "ANTHROPIC_API_KEY",
    "GOOGLE_API_KEY",
    "GROQ_API_KEY",
    "MISTRAL_API_KEY",
    "HF_TOKEN",
)


class Inspect(Runtime):
    """Runs one sample of an Inspect task a trial."""

    name = "inspect"
    is_live = True
    borrows = (*_KEYS, "OPENAI_BASE_URL", "ANTHROPIC_BASE_URL")

    def faults(self, inputs: Mapping[str, Any]) -> Iterable[tuple[str, str]]:
        """Yield inputs that no task can be started with."""
        if not isinstance(inputs.get("task", ""), str):
            yield "task", "is not a text"
        if not isinstance(inputs.get("sample_id", ""), str | int):
            yield "sample_id", "is neither a text nor a whole number"
        yield from agents.faults(inputs)

    async def answer(self, asked: Asked, room: Room) -> Answer:
        """Return what the log of the sample says."""
        if not asked.inputs.get("task"):
            return skipped("the case names no task of Inspect")
        if asked.model is None:
            return skipped("no model is named: --model")
        place = agents.program(self.name, room.path)
        if place is None:
            return skipped("the program inspect is not on PATH")
        folder = os.path.join(room.home, LOGS)
        ended = await room.run(_argv(asked, folder), env={"INSPECT_DISPLAY": "none"})
        answer = agents.cut_short(ended) or _read(Path(folder), asked, ended)
        return replace(
            answer,
            stderr=ended.stderr,
            exit_code=ended.exit_code,
            duration_s=ended.duration_s,
            leftovers=ended.leftovers,
        )


def _argv(asked: Asked, folder: str) -> list[str]:
    sample = asked.inputs.get("sample_id")
    which = ["--limit", "1"] if sample is None else ["--sample-id", str(sample)]
    options = ["--model", str(asked.model), "--log-dir", folder, "--log-format", "json", "--epochs", "1"]
    seed = ["--seed", str(asked.seed % 2**31)]
    return ["inspect", "eval", asked.inputs["task"], *options, *seed, *which, *agents.arguments(asked)]


def _read(folder: Path, asked: Asked, ended: Ended) -> Answer:
    files = sorted(folder.glob("*.json")) + sorted(folder.glob("*.eval"))
    if not files:
        return lost("no-result", f"inspect left no log and ended with code {ended.exit_code}")
    try:
        rows = [(run, row) for run, row in logs.read(Log(files[-1]), Options()) if row is not None]
    except EvalstatsError as error:
        return lost("no-result", f"the log cannot be read: {error.message}")
    if len(rows) != 1:
        return lost("no-result", f"the log holds {len(rows)} samples; a trial is one: name its sample_id")
    return replace(_of_row(*rows[0]), transcript=files[-1].read_bytes())


def _of_row(run: LoggedRun, row: Row) -> Answer:
    told = {"completion": ask(dict(row.about), "output", "completion"), "scores": dict(row.scores)}
    is_kept = row.outcome in (Outcome.OK, Outcome.TIMEOUT, Outcome.LIMIT)
    return Answer(
        outcome=row.outcome if is_kept else Outcome.INFRASTRUCTURE,
        reason=row.reason if row.outcome is not Outcome.OK else None,
        error_class=row.error_class or (None if is_kept else str(row.outcome)),
        text=journal.encode(told),
        tokens=_tokens(row),
        cost=row.cost,
        cost_source=row.cost_source,
        stop_reason=row.stop_reason,
        model=run.model,
        version=run.tool_version,
    )


def _tokens(row: Row) -> Tokens | None:
    if row.tokens_in is None:
        return None
    return Tokens(sent=row.tokens_in, received=row.tokens_out, cached=row.tokens_cache)
