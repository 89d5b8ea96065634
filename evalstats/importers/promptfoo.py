"""Results of promptfoo: JSON of version 3 and its JSON lines. One run for each prompt and provider.

Nothing in a row says which repeat it is. The test index does not either: vars given as lists and tests with a
repeat of their own shift it. So rows are one case when they ask the same, and trials are ranked among them.
"""

from __future__ import annotations

import hashlib
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from evalstats.contract import ExpectationType, Outcome
from evalstats.importers.logs import MAX_DOCUMENT, Log, number, whole
from evalstats.importers.rows import Declared, Item, LoggedRun, Options, Row
from evalstats.importers.rules import canonical
from evalstats.trials import ExpectationResult

NAME = "promptfoo"
_ROWS = "results.results.item"
_ERROR = 2  # of failureReason: 0 none, 1 an assertion, 2 an error
_ROW_KEYS = {"promptIdx", "testIdx", "testCase", "provider", "success", "failureReason"}


def sniff(log: Log) -> str | None:
    """Recognise the document by its evaluation id and results, lines by the keys of a row."""
    if {"evalId", "results"} <= set(log.top_keys):
        return "an evaluation with its results"
    if _ROW_KEYS <= set(log.first_object or {}):
        return "one result a line"
    return None


def read(log: Log, options: Options) -> Iterator[Item]:
    """Yield the results, in two passes: the first ranks the repeats of each case, the second reads them."""
    head = _Head(log)
    ranks = _ranks(log, head, options)
    runs: dict[str, LoggedRun] = {}
    counts: dict[str, Counter[str]] = defaultdict(Counter)
    for locator, result in _results(log, head, options):
        name, case, content = _identity(log, locator, result)
        if name not in runs:
            runs[name] = _run(log, head, result, counts[name])
        row = _row(result, locator, options)
        row.case_id, row.content = ranks.names[case], content
        row.trial_index = ranks.of(name, case, result["testIdx"])
        counts[name][_counted(row)] += 1
        if case in ranks.ambiguous:
            _note(runs[name], "the same test stands more than once: its repeats are counted as one case")
        yield runs[name], row


class _Head:
    """What the document says beside its rows; nothing in a file of lines."""

    def __init__(self, log: Log) -> None:
        self.is_document = "evalId" in log.top_keys
        if not self.is_document:
            self.eval_id, self.version, self.suite, self.repeat, self.created = None, None, None, None, None
            self.prompts: list[dict[str, Any]] = []
            return
        whole_document = log.json() if log.size <= MAX_DOCUMENT else {}
        results, meta = _mapping(whole_document.get("results")), _mapping(whole_document.get("metadata"))
        self.eval_id = _text(whole_document.get("evalId"))
        self.version = _text(meta.get("promptfooVersion"))
        self.created = _text(meta.get("evaluationCreatedAt")) or _text(results.get("timestamp"))
        self.suite = _text(_mapping(whole_document.get("config")).get("description"))
        self.repeat = whole(_mapping(whole_document.get("runtimeOptions")).get("repeat"))
        self.prompts = [p for p in results.get("prompts") or [] if isinstance(p, dict)]
        if whole_document and not isinstance(results.get("results"), list):
            raise log.error("has no list of results; export it as version 3", field="/results/results")


def _results(log: Log, head: _Head, options: Options) -> Iterator[tuple[str, Any]]:
    if head.is_document and log.size <= MAX_DOCUMENT:
        yield from ((f"/results/results/{i}", r) for i, r in enumerate(log.json()["results"]["results"]))
    elif head.is_document:
        yield from ((f"/results/results/{i}", r) for i, r in enumerate(log.items(_ROWS)))
    else:
        lines = log.json_lines([], allow_truncated=options.allow_truncated)
        yield from ((f"line {number}", result) for number, result in lines)


class _Ranks:
    """Which trial of its case a row is: the rank of its test index among those that ask the same."""

    def __init__(self) -> None:
        self.names: dict[str, str] = {}
        self.ambiguous: set[str] = set()
        self._ranks: dict[tuple[str, str], dict[int, int]] = {}

    def of(self, run: str, case: str, test_index: int) -> int:
        return self._ranks[run, case][test_index]

    def settle(self, found: Mapping[tuple[str, str], Sequence[int]], expected: Mapping[str, int]) -> None:
        for (run, case), indexes in found.items():
            self._ranks[run, case] = {index: rank for rank, index in enumerate(sorted(set(indexes)), 1)}
            if case in expected and len(set(indexes)) > expected[case]:
                self.ambiguous.add(case)


def _ranks(log: Log, head: _Head, options: Options) -> _Ranks:
    ranks, found = _Ranks(), defaultdict(list)
    expected: dict[str, int] = {}
    described: dict[str, str] = {}
    for locator, result in _results(log, head, options):
        name, case, _ = _identity(log, locator, result)
        found[name, case].append(result["testIdx"])
        described[case] = _text(result["testCase"].get("description")) or ""
        repeat = whole(_mapping(result["testCase"].get("options")).get("repeat")) or head.repeat
        if repeat:
            expected[case] = repeat
    shared = Counter(described.values())
    for case, description in described.items():
        plain = description and shared[description] == 1
        ranks.names[case] = description if plain else f"{description or 'test'} [{case[:12]}]"
    ranks.settle(found, expected)
    return ranks


def _identity(log: Log, locator: str, result: Any) -> tuple[str, str, Any]:
    """Return the name of the row's run, the digest of its case and what the case asks."""
    if not isinstance(result, dict) or not isinstance(result.get("testCase"), dict):
        raise log.error("a result needs its test case", field=locator)
    if not isinstance(result.get("testIdx"), int):
        raise log.error("a result needs its test index", field=f"{locator}/testIdx")
    test = result["testCase"]
    options = {k: v for k, v in _mapping(test.get("options")).items() if k != "repeat"}
    given = result.get("vars", test.get("vars"))
    content = {
        "description": test.get("description"), "vars": given, "assert": test.get("assert"),
        "options": options, "prompt": result.get("promptId"),
    }  # fmt: skip
    case = hashlib.sha256(canonical(content)).hexdigest()
    return f"{result.get('promptId')}\0{_provider(result)}", case, content


def _provider(result: Mapping[str, Any]) -> str:
    provider = result.get("provider")
    if isinstance(provider, dict):
        return _text(provider.get("label")) or _text(provider.get("id")) or "unknown"
    return _text(provider) or "unknown"


def _run(log: Log, head: _Head, result: Mapping[str, Any], counts: Counter[str]) -> LoggedRun:
    model, prompt = _provider(result), str(result.get("promptId"))
    mine = next((p for p in head.prompts if p.get("id") == prompt and p.get("provider") == model), {})
    said = _mapping(_mapping(result.get("prompt"))).get("label")
    return LoggedRun(
        suite=head.suite or log.path.stem,
        key=("promptfoo", head.eval_id or log.sha256, prompt, model),
        group=("promptfoo", head.eval_id or log.sha256),
        model=model,
        tool="promptfoo",
        tool_version=head.version,
        created_at=head.created,
        is_mock=model == "echo",
        facts={"prompt": prompt, "label": said if isinstance(said, str) else None},
        warnings=[] if head.is_document else ["lines name neither time nor settings of the evaluation"],
        declared=lambda: _declared(_mapping(mine.get("metrics")), counts),
    )


def _declared(metrics: Mapping[str, Any], counts: Counter[str]) -> list[Declared]:
    names = {"testPassCount": "pass", "testFailCount": "fail", "testErrorCount": "error"}
    return [
        Declared(name=name, declared=value, recomputed=float(counts[word]))
        for name, word in names.items()
        if (value := number(metrics.get(name))) is not None
    ]


def _counted(row: Row) -> str:
    return "error" if row.outcome is Outcome.INFRASTRUCTURE else "pass" if row.passed else "fail"


def _row(result: Mapping[str, Any], locator: str, options: Options) -> Row:
    response, grading = _mapping(result.get("response")), _mapping(result.get("gradingResult"))
    tokens = _mapping(response.get("tokenUsage"))
    failed = result.get("failureReason") == _ERROR
    named = {str(name): number(value) for name, value in _mapping(result.get("namedScores")).items()}
    latency = number(result.get("latencyMs"))
    return Row(
        case_id="",
        trial_index=1,
        locator=locator,
        outcome=Outcome.INFRASTRUCTURE if failed else Outcome.OK,
        score=number(result.get("score")) if options.metric is None else named.get(options.metric),
        passed=bool(result.get("success")) if options.metric is None else None,
        reason=(_text(result.get("error")) or "error").split("\n")[0] if failed else None,
        scores={} if failed else named,
        about={"metadata": result["testCase"].get("metadata"), "vars": result.get("vars")},
        expectations=tuple(_checks(grading.get("componentResults"))),
        duration_s=None if latency is None else latency / 1000,
        tokens_in=whole(tokens.get("prompt")),
        tokens_out=whole(tokens.get("completion")),
        cost=None if failed else number(result.get("cost")),
        cost_source="promptfoo" if not failed and number(result.get("cost")) is not None else None,
        error_class="provider" if failed else None,
        cached=response.get("cached") if isinstance(response.get("cached"), bool) else False,
    )


_KINDS = {
    "contains": ExpectationType.STDOUT_CONTAINS, "icontains": ExpectationType.STDOUT_CONTAINS,
    "not-contains": ExpectationType.NOT_CONTAINS, "not-icontains": ExpectationType.NOT_CONTAINS,
    "regex": ExpectationType.REGEX, "llm-rubric": ExpectationType.JUDGE, "is-json": ExpectationType.SCHEMA_VALID,
}  # fmt: skip


def _checks(components: Any) -> Iterator[ExpectationResult]:
    for index, part in enumerate(components if isinstance(components, list) else []):
        if isinstance(part, dict):
            kind = _text(_mapping(part.get("assertion")).get("type")) or "assertion"
            yield ExpectationResult(
                index=index,
                type=_KINDS.get(kind, ExpectationType.SCORE_AT_LEAST),
                required=True,
                passed=part["pass"] if isinstance(part.get("pass"), bool) else None,
                detail=kind,
            )


def _note(run: LoggedRun, sentence: str) -> None:
    if sentence not in run.warnings:
        run.warnings.append(sentence)


def _mapping(value: Any) -> Mapping[str, Any]:
    return value if isinstance(value, dict) else {}


def _text(value: Any) -> str | None:
    return value if isinstance(value, str) and value else None
