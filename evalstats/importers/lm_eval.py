"""Samples of lm-evaluation-harness: one run for each filter, for filters are scorings and not trials.

A results file holds aggregates only; it is read for what it declares, and for what its samples do not say. Of
``repeats`` the harness scores one answer: the others are unscored trials, unless ``--rescore`` asks for exact
match to be applied to each, where the filters do nothing else.
"""

from __future__ import annotations

import re
import string
from array import array
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Mapping
from datetime import UTC, datetime
from typing import Any

from evalstats.contract import Outcome
from evalstats.importers.declared import statistic
from evalstats.importers.logs import Log
from evalstats.importers.rows import Declared, Item, LoggedRun, Options, Row
from evalstats.importers.values import items, mapping, number, text

NAME = "lm-eval"
UNSCORED = "a repeat that the harness does not score; see --rescore"
_SAMPLES = re.compile(r"samples_(?P<task>.+)_(?P<date>\d{4}-\d\d-\d\dT[\d-]+(\.\d+)?)\.jsonl")
_Columns = dict[tuple[str, str], "array[float]"]  # (filter, metric) -> the value of each document
_PASSING_ON = {"take_first", "majority_vote"}  # filters that choose among answers and change none


def sniff(log: Log) -> str | None:
    """Recognise samples by the keys of their rows, results by their own."""
    keys = set(log.top_keys)
    if {"results", "versions"} <= keys and not keys & {"eval", "evalId"}:
        return "results: aggregates of a run"
    if {"doc_id", "resps", "filtered_resps", "metrics"} <= keys:
        return "samples: one row per document and filter"
    return None


def read(log: Log, options: Options) -> Iterator[Item]:
    """Yield the rows of a samples file; of a results file, only what it declares and who was asked."""
    return _aggregates(log) if "results" in log.top_keys else _samples(log, options)


def _samples(log: Log, options: Options) -> Iterator[Item]:
    around = _Around(log)
    runs: dict[str, LoggedRun] = {}
    columns: _Columns = defaultdict(lambda: array("d"))
    documents: Counter[str] = Counter()
    cut: list[str] = []
    for line, sample in log.json_lines(cut, allow_truncated=options.allow_truncated):
        name = _checked(log, line, sample)
        if name not in runs:
            runs[name] = around.run(name, options.metric)
            runs[name].declared = around.declarer(name, columns, documents)
        documents[name] += 1
        for metric in sample["metrics"]:
            if (value := number(sample.get(metric))) is not None:
                columns[name, metric].append(value)
        for row in _rows(sample, f"line {line}", around.rescoring(name, options), options.metric):
            yield runs[name], row
    for run in runs.values():
        run.warnings += cut


def _checked(log: Log, line: int, sample: Mapping[str, Any]) -> str:
    """Return the filter of a row that has what a row needs."""
    if not isinstance(sample.get("doc_id"), (int, str)) or isinstance(sample["doc_id"], bool):
        raise log.error("a sample needs a doc_id", line=line, field="/doc_id")
    if not isinstance(sample.get("metrics"), list) or not all(isinstance(m, str) for m in sample["metrics"]):
        raise log.error("must name the metrics of the row", line=line, field="/metrics")
    name = sample.get("filter", "none")
    if not isinstance(name, str):
        raise log.error("must be text", line=line, field="/filter")
    return name


def _rows(
    sample: Mapping[str, Any], locator: str, rescore: _Match | None, metric: str | None
) -> Iterator[Row]:
    missing = next((name for name in sample["metrics"] if name not in sample), None)
    scores = {name: number(sample.get(name)) for name in sample["metrics"]}
    known: dict[str, Any] = {
        "case_id": str(sample["doc_id"]),
        "locator": locator,
        "content": sample.get("doc_hash") or sample.get("doc"),
        "about": sample,
    }
    answers = _answers(sample)
    if rescore is not None:
        for index, answer in enumerate(answers, 1):
            yield Row(trial_index=index, score=rescore.score(answer, sample.get("target")), **known)
        return
    chosen = next(iter(scores), None) if metric is None else metric.partition(",")[0]
    value = scores.get(chosen) if chosen else None
    reason = None if value is not None else f"no number for {chosen or 'any metric'}"
    reason = f"the row names {missing} and does not give it" if missing == chosen and missing else reason
    yield Row(trial_index=1, score=value, reason=reason, scores=scores, **known)
    for index in range(2, len(answers) + 1):
        yield Row(trial_index=index, outcome=Outcome.UNSCORED, reason=UNSCORED, **known)


def _answers(sample: Mapping[str, Any]) -> list[str]:
    """Return the repeated answers of a generation; a multiple choice has likelihoods instead, so none."""
    responses = sample.get("resps")
    first = responses[0] if isinstance(responses, list) and len(responses) == 1 else None
    return first if isinstance(first, list) and all(isinstance(answer, str) for answer in first) else []


class _Match:
    """Exact match as a task's configuration asks for it."""

    def __init__(self, metric: Mapping[str, Any]) -> None:
        self._fold = bool(metric.get("ignore_case"))
        self._bare = bool(metric.get("ignore_punctuation"))

    def score(self, answer: str, target: Any) -> float:
        targets = target if isinstance(target, list) else [target]
        return float(any(self._same(answer) == self._same(str(each)) for each in targets))

    def _same(self, answer: str) -> str:
        answer = answer.casefold() if self._fold else answer
        return answer.translate(str.maketrans("", "", string.punctuation)) if self._bare else answer


class _Around:
    """What stands beside a samples file: its results, with the task's configuration and the aggregates."""

    def __init__(self, log: Log) -> None:
        self.log = log
        named = _SAMPLES.fullmatch(log.path.name)
        self.task = named["task"] if named else log.path.stem.removeprefix("samples_")
        self.results = _results_of(log.beside(f"results_{named['date']}.json")) if named else {}
        self.config = mapping(mapping(self.results.get("configs")).get(self.task))
        self.notes = (
            [] if self.results else ["no results file beside it: the model and the settings are unknown"]
        )

    def run(self, name: str, metric: str | None) -> LoggedRun:
        model = text(self.results.get("model_name")) or text(mapping(self.results.get("config")).get("model"))
        date = number(self.results.get("date"))
        run = LoggedRun(
            suite=self.task if name == "none" else f"{self.task}.{name}",
            key=("lm-eval", self.task, name, model or "", str(date or self.log.identity)),
            model=model,
            tool="lm-evaluation-harness",
            tool_version=text(self.results.get("lm_eval_version")),
            created_at=_moment(date),
            is_mock=model == "dummy",
            scoring={"filter": name, "metric": metric, "config": self.config.get("metric_list")},
            facts={"filter": name, "repeats": self.config.get("repeats")},
            warnings=list(self.notes),
        )
        better = mapping(mapping(self.results.get("higher_is_better")).get(self.task))
        for figure in (name for name, higher in better.items() if higher is False):
            run.warn(f"of {figure} less is better; as a score it would be read the wrong way round")
        return run

    def declarer(
        self, name: str, columns: _Columns, documents: Mapping[str, int]
    ) -> Callable[[], list[Declared]]:
        """Return what compares the results with the rows of one filter."""
        reported = mapping(mapping(self.results.get("results")).get(self.task))
        effective = number(mapping(mapping(self.results.get("n-samples")).get(self.task)).get("effective"))

        def declared() -> list[Declared]:
            told: list[tuple[str, float | None, float | None]] = []
            told.append(("n-samples", effective, float(documents[name])))
            for (of, metric), values in columns.items():
                for label, figure in ((metric, "mean"), (f"{metric}_stderr", "stderr")) if of == name else ():
                    key = f"{label},{name}"
                    told.append((key, number(reported.get(key)), statistic(values, figure)))
            return [
                Declared(name=key, declared=said, recomputed=again)
                for key, said, again in told
                if said is not None and again is not None
            ]

        return declared

    def rescoring(self, name: str, options: Options) -> _Match | None:
        """Return how repeats are scored if that is asked for and known. Raises LogError when it is not known."""
        if not options.rescore:
            return None
        metric = _the_only(self.config.get("metric_list"))
        if metric is None or metric.get("metric") != "exact_match" or metric.get("regexes_to_ignore"):
            raise self.log.error("only plain exact match can be applied again; leave out --rescore")
        filters = [f for f in items(self.config.get("filter_list")) if mapping(f).get("name") == name]
        steps = [step for chain in filters for step in items(chain.get("filter"))]
        if not {mapping(step).get("function") for step in steps} <= _PASSING_ON:
            raise self.log.error(f"the filter {name} changes answers, so they cannot be scored without it")
        return _Match(metric)


def _aggregates(log: Log) -> Iterator[Item]:
    results = _results_of(log)
    names = {
        found["task"]
        for p in log.path.parent.glob("samples_*.jsonl")
        if (found := _SAMPLES.fullmatch(p.name))
    }
    if not names:
        raise log.refused("holds aggregates only; run the harness with --log_samples and import the samples")
    model = text(results.get("model_name")) or "unknown model"
    key = ("lm-eval-results", log.sha256)
    run = LoggedRun(suite=f"results of {model}", key=key, created_at=_moment(results.get("date")))
    groups = mapping(results.get("groups"))  # of tasks that stand here themselves
    for task in results["results"]:
        if task not in names and task not in groups:
            run.warn(f"the samples of {task} do not lie beside it")
    yield run, None


def _results_of(log: Log) -> dict[str, Any]:
    if not log.exists():
        return {}
    found = log.object()
    if not isinstance(found.get("results"), dict):
        raise log.error("must hold results by task", field="/results")
    return found


def _moment(date: Any) -> str | None:
    seconds = number(date)
    try:
        return None if seconds is None else datetime.fromtimestamp(seconds, UTC).isoformat()
    except (OverflowError, OSError, ValueError):
        return None


def _the_only(values: Any) -> Mapping[str, Any] | None:
    return mapping(values[0]) if isinstance(values, list) and len(values) == 1 else None
