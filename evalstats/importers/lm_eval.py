"""Samples of lm-evaluation-harness: one run for each filter, for filters are scorings and not trials.

A results file holds aggregates only; it is read for what it declares, and for what its samples do not say. Of
``repeats`` the harness scores one answer: the others are unscored trials, unless ``--rescore`` asks for exact
match to be applied to each, where the filters do nothing else.
"""

from __future__ import annotations

import re
import string
from collections import defaultdict
from collections.abc import Iterator, Mapping
from typing import Any

from evalstats.contract import Outcome
from evalstats.importers.declared import Tally
from evalstats.importers.logs import Log, number
from evalstats.importers.rows import Declared, Item, LoggedRun, Options, Row

NAME = "lm-eval"
UNSCORED = "a repeat that the harness does not score; see --rescore"
_SAMPLES = re.compile(r"samples_(?P<task>.+)_(?P<date>\d{4}-\d\d-\d\dT[\d-]+(\.\d+)?)\.jsonl")
_PASSING_ON = {"take_first", "majority_vote"}  # filters that choose among answers and change none


def sniff(log: Log) -> str | None:
    """Recognise samples by the keys of their rows, results by their own."""
    if {"results", "versions"} <= set(log.top_keys) and {"configs", "config"} & set(log.top_keys):
        return "results: aggregates of a run"
    first = log.first_object or {}
    if {"doc_id", "resps", "filtered_resps", "metrics"} <= set(first):
        return "samples: one row per document and filter"
    return None


def read(log: Log, options: Options) -> Iterator[Item]:
    """Yield the rows of a samples file; of a results file, only what it declares and who was asked."""
    if "results" in log.top_keys:
        yield from _aggregates(log)
        return
    around = _Around(log)
    runs: dict[str, LoggedRun] = {}
    tallies: dict[tuple[str, str], Tally] = defaultdict(Tally)
    cut: list[str] = []
    for line, sample in log.json_lines(cut, allow_truncated=options.allow_truncated):
        name = _checked(log, line, sample)
        if name not in runs:
            runs[name] = around.run(name, tallies, options.metric)
            runs[name].warnings += cut
        for row in _rows(sample, f"line {line}", around.rescoring(name, options), options.metric):
            if row.trial_index == 1:
                for metric, value in row.scores.items():
                    tallies[name, metric].add(row.case_id, value)
            yield runs[name], row
    for run in runs.values():
        run.warnings += [note for note in cut if note not in run.warnings]


def _checked(log: Log, line: int, sample: Any) -> str:
    """Return the filter of a row that has what a row needs."""
    if not isinstance(sample, dict) or not isinstance(sample.get("doc_id"), (int, str)):
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

    def _same(self, text: str) -> str:
        text = text.casefold() if self._fold else text
        return text.translate(str.maketrans("", "", string.punctuation)) if self._bare else text


class _Around:
    """What stands beside a samples file: its results, with the task's configuration and the aggregates."""

    def __init__(self, log: Log) -> None:
        self.log = log
        named = _SAMPLES.fullmatch(log.path.name)
        self.task = named["task"] if named else log.path.stem.removeprefix("samples_")
        self.results = _results_of(log.beside(f"results_{named['date']}.json")) if named else {}
        self.config = _mapping(_mapping(self.results.get("configs")).get(self.task))
        self.notes = (
            [] if self.results else ["no results file beside it: the model and the settings are unknown"]
        )

    def run(self, name: str, tallies: Mapping[tuple[str, str], Tally], metric: str | None) -> LoggedRun:
        model = _text(self.results.get("model_name")) or _text(
            _mapping(self.results.get("config")).get("model")
        )
        date = number(self.results.get("date"))
        return LoggedRun(
            suite=self.task if name == "none" else f"{self.task}.{name}",
            key=("lm-eval", self.task, name, model or "", str(date or self.log.sha256)),
            model=model,
            tool="lm-evaluation-harness",
            tool_version=_text(self.results.get("lm_eval_version")),
            created_at=_moment(date),
            is_mock=model == "dummy",
            scoring={"filter": name, "metric": metric, "config": self.config.get("metric_list")},
            facts={"filter": name, "repeats": self.config.get("repeats")},
            warnings=list(self.notes),
            declared=lambda: self._declared(name, tallies),
        )

    def _declared(self, name: str, tallies: Mapping[tuple[str, str], Tally]) -> list[Declared]:
        reported = _mapping(_mapping(self.results.get("results")).get(self.task))
        found = []
        for (filter_name, metric), tally in tallies.items():
            for label, statistic in ((metric, "mean"), (f"{metric}_stderr", "stderr")):
                value, again = number(reported.get(f"{label},{name}")), tally.statistic(statistic)
                if filter_name == name and value is not None and again is not None:
                    found.append(Declared(name=f"{label},{name}", declared=value, recomputed=again))
        return found

    def rescoring(self, name: str, options: Options) -> _Match | None:
        """Return how repeats are scored if that is asked for and known. Raises LogError when it is not known."""
        if not options.rescore:
            return None
        metric = _the_only(self.config.get("metric_list"))
        if metric is None or metric.get("metric") != "exact_match" or metric.get("regexes_to_ignore"):
            raise self.log.error("only plain exact match can be applied again; leave out --rescore")
        filters: list[dict[str, Any]] = self.config.get("filter_list") or []
        chain = next((f for f in filters if f.get("name") == name), {})
        if not {step.get("function") for step in chain.get("filter", [])} <= _PASSING_ON:
            raise self.log.error(f"the filter {name} changes answers, so they cannot be scored without it")
        return _Match(metric)


def _aggregates(log: Log) -> Iterator[Item]:
    results = _results_of(log)
    if not any(_SAMPLES.fullmatch(path.name) for path in log.path.parent.glob("samples_*.jsonl")):
        raise log.error("holds aggregates only; run the harness with --log_samples and import the samples")
    model = _text(results.get("model_name")) or "unknown model"
    key = ("lm-eval-results", log.sha256)
    yield LoggedRun(suite=f"results of {model}", key=key, created_at=_moment(results.get("date"))), None


def _results_of(log: Log) -> dict[str, Any]:
    if not log.exists():
        return {}
    found = log.json()
    if not isinstance(found, dict) or not isinstance(found.get("results"), dict):
        raise log.error("must hold results by task", field="/results")
    return found


def _moment(date: Any) -> str | None:
    from datetime import UTC, datetime

    seconds = number(date)
    try:
        return None if seconds is None else datetime.fromtimestamp(seconds, UTC).isoformat()
    except (OverflowError, OSError, ValueError):
        return None


def _the_only(values: Any) -> Mapping[str, Any] | None:
    return (
        values[0] if isinstance(values, list) and len(values) == 1 and isinstance(values[0], dict) else None
    )


def _mapping(value: Any) -> Mapping[str, Any]:
    return value if isinstance(value, dict) else {}


def _text(value: Any) -> str | None:
    return value if isinstance(value, str) and value else None
