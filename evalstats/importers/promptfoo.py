"""Results of promptfoo: JSON of version 3 and its JSON lines. One run for each prompt and provider.

Nothing in a row says which repeat it is. The test index does not either: vars given as lists and tests with a
repeat of their own shift it. So rows are one case when they ask the same, and trials are ranked among them.
"""

from __future__ import annotations

import hashlib
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping
from typing import Any

from evalstats.contract import ExpectationType, Outcome
from evalstats.importers.logs import Log
from evalstats.importers.rows import Declared, Item, LoggedRun, Options, Row
from evalstats.importers.rules import canonical
from evalstats.importers.values import flag, items, mapping, number, text, whole
from evalstats.trials import ExpectationResult

NAME = "promptfoo"
_ROWS = "/results/results"
_REASONS = (0, 1, 2)  # failureReason: none, an assertion, an error
_ERROR = 2
_ROW_KEYS = {"promptIdx", "testIdx", "testCase", "provider", "success"}


def sniff(log: Log) -> str | None:
    """Recognise the document by its evaluation id and results, lines by the keys of a row."""
    keys = set(log.top_keys)
    if {"evalId", "results"} <= keys:
        return "an evaluation with its results"
    return "one result a line" if keys >= _ROW_KEYS else None


def read(log: Log, options: Options) -> Iterator[Item]:
    """Yield the results, in two passes: the first ranks the repeats of each case, the second reads them."""
    told = _Told(log, options)
    runs: dict[str, LoggedRun] = {}
    counts: dict[str, Counter[str]] = defaultdict(Counter)
    for locator, result in told.results():
        name, case = _identity(log, locator, result)
        if name not in runs:
            runs[name] = _run(log, told, result, counts[name])
        row = _row(log, result, locator, options)
        row.case_id, row.content = told.names[case], case
        row.trial_index = told.ranks[name, case][result["testIdx"]]
        counts[name][
            "error" if row.outcome is Outcome.INFRASTRUCTURE else "pass" if row.passed else "fail"
        ] += 1
        if case in told.ambiguous:
            runs[name].warn("the same test stands more than once: its repeats are counted as one case")
        yield runs[name], row
    for run in runs.values():
        run.warnings += told.cut


class _Told:
    """What the whole file says of a row: the evaluation, the case by name, and which of its trials it is."""

    def __init__(self, log: Log, options: Options) -> None:
        self.log, self.options = log, options
        self.is_document = "evalId" in log.top_keys
        self.about: dict[str, Any] = {}
        self.cut: list[str] = []
        self.ranks: dict[tuple[str, str], dict[int, int]] = defaultdict(dict)
        self.names: dict[str, str] = {}
        self._described: dict[str, str] = {}
        self._repeats: dict[str, int | None] = {}
        for locator, result in self.results(note=True):
            self._meet(locator, result)
        if self.is_document and not isinstance(self.about.get(_ROWS, []), list):
            raise log.error("has no list of results; export it as version 3", field=_ROWS)
        self._settle()

    def results(self, *, note: bool = False) -> Iterator[tuple[str, Any]]:
        """Yield each result with its place; with ``note``, keep what stands beside them."""
        if not self.is_document:
            cut = self.cut if note else []
            lines = self.log.json_lines(cut, allow_truncated=self.options.allow_truncated)
            yield from ((f"line {number}", result) for number, result in lines)
            return
        met = False
        for pointer, value in self.log.members(_ROWS):
            if pointer.startswith(f"{_ROWS}/"):
                met = True
                yield pointer, value
            elif note:
                self.about[pointer] = value
        if note and not met and not isinstance(self.about.get(_ROWS), list):
            self.about.setdefault(_ROWS, None if "/results/table" in self.about else [])

    def at(self, pointer: str, *keys: str) -> Any:
        """Return what stands at a pointer beside the results, and at the keys below."""
        found = self.about.get(pointer)
        for key in keys:
            found = mapping(found).get(key)
        return found

    def _meet(self, locator: str, result: Any) -> None:
        name, case = _identity(self.log, locator, result)
        self.ranks[name, case][result["testIdx"]] = 0
        test = mapping(result["testCase"])
        self._described[case] = text(test.get("description")) or ""
        self._repeats[case] = whole(mapping(test.get("options")).get("repeat"))

    def _settle(self) -> None:
        """Rank the repeats of each case by their index, and give each case its name."""
        for ranks in self.ranks.values():
            ranks.update({index: rank for rank, index in enumerate(sorted(ranks), 1)})
        shared = Counter(self._described.values())
        for case, description in self._described.items():
            plain = description and shared[description] == 1
            self.names[case] = description if plain else f"{description or 'test'} [{case[:12]}]"
        general = whole(self.at("/runtimeOptions", "repeat"))
        expected = {case: repeat or general for case, repeat in self._repeats.items()}
        self.ambiguous = {
            case for (_, case), ranks in self.ranks.items() if len(ranks) > (expected[case] or len(ranks))
        }


def _identity(log: Log, locator: str, result: Any) -> tuple[str, str]:
    """Return the name of the row's run and the digest of what its case asks."""
    test, index = mapping(result).get("testCase"), mapping(result).get("testIdx")
    if not isinstance(test, dict):
        raise log.error("a result needs its test case", field=locator)
    if not isinstance(index, int) or isinstance(index, bool):
        raise log.error("a result needs its test index", field=f"{locator}/testIdx")
    content = {
        "description": test.get("description"), "vars": result.get("vars", test.get("vars")),
        "assert": test.get("assert"), "prompt": result.get("promptId"),
        "options": {k: v for k, v in mapping(test.get("options")).items() if k != "repeat"},
    }  # fmt: skip
    return f"{result.get('promptId')}\0{_provider(result)}", hashlib.sha256(canonical(content)).hexdigest()


def _provider(result: Mapping[str, Any]) -> str:
    provider = result.get("provider")
    if isinstance(provider, dict):
        return text(provider.get("label")) or text(provider.get("id")) or "unknown"
    return text(provider) or "unknown"


def _run(log: Log, told: _Told, result: Mapping[str, Any], counts: Counter[str]) -> LoggedRun:
    model, prompt = _provider(result), str(result.get("promptId"))
    prompts = [mapping(each) for each in items(told.at("/results/prompts"))]
    mine = next((p for p in prompts if (p.get("id"), p.get("provider")) == (prompt, model)), {})
    named = text(told.at("/evalId")) or log.identity
    run = LoggedRun(
        suite=text(told.at("/config", "description")) or log.path.stem,
        key=("promptfoo", named, prompt, model),
        group=("promptfoo", named),
        label=text(mapping(result.get("prompt")).get("label")),
        model=model,
        judge_model=_judge(told, result),
        tool="promptfoo",
        tool_version=text(told.at("/metadata", "promptfooVersion")),
        created_at=text(told.at("/metadata", "evaluationCreatedAt")) or text(told.at("/results/timestamp")),
        is_mock=model == "echo",
        facts={"prompt": prompt},
        declared=lambda: _declared(mapping(mine.get("metrics")), counts),
    )
    if not told.is_document:
        run.warn("lines name neither time nor settings of the evaluation")
    return run


def _judge(told: _Told, result: Mapping[str, Any]) -> str | None:
    """Return who grades the rubrics, as an assertion or the defaults name it; the default grader is not recorded."""
    asserts = [mapping(each) for each in items(mapping(result.get("testCase")).get("assert"))]
    rubrics = [each for each in asserts if str(each.get("type")).removeprefix("not-").startswith("llm-")]
    named = [each.get("provider") for each in rubrics]
    named.append(mapping(told.at("/config", "defaultTest", "options")).get("provider") if rubrics else None)
    return next((name for each in named if (name := text(each) or text(mapping(each).get("id")))), None)


def _declared(metrics: Mapping[str, Any], counts: Counter[str]) -> list[Declared]:
    names = {"testPassCount": "pass", "testFailCount": "fail", "testErrorCount": "error"}
    return [
        Declared(name=name, declared=value, recomputed=float(counts[word]))
        for name, word in names.items()
        if (value := number(metrics.get(name))) is not None
    ]


def _row(log: Log, result: Mapping[str, Any], locator: str, options: Options) -> Row:
    passed, failed = flag(result.get("success")), _failed(log, result, locator)
    if passed is None:
        raise log.error("must be true or false", field=f"{locator}/success")
    response = mapping(result.get("response"))
    cached = flag(response.get("cached")) or False
    tokens, latency = mapping(response.get("tokenUsage")), number(result.get("latencyMs"))
    named = {name: number(value) for name, value in mapping(result.get("namedScores")).items()}
    cost = None if failed or cached else number(result.get("cost"))
    return Row(
        case_id="",
        trial_index=1,
        locator=locator,
        outcome=Outcome.INFRASTRUCTURE if failed else Outcome.OK,
        score=number(result.get("score")) if options.metric is None else named.get(options.metric),
        passed=passed if options.metric is None else None,
        reason=(text(result.get("error")) or "error").split("\n")[0] if failed else None,
        scores={} if failed else named,
        about={"metadata": result["testCase"].get("metadata"), "vars": result.get("vars")},
        expectations=tuple(_checks(mapping(result.get("gradingResult")).get("componentResults"))),
        duration_s=None if latency is None or cached else latency / 1000,  # of a cache, not of the subject
        tokens_in=whole(tokens.get("prompt")),
        tokens_out=whole(tokens.get("completion")),
        cost=cost,
        cost_source="promptfoo" if cost is not None else None,
        error_class="provider" if failed else None,
        cached=cached,
    )


def _failed(log: Log, result: Mapping[str, Any], locator: str) -> bool:
    """Return whether the provider failed. The text of an error stands there for failed assertions too."""
    reason = result.get("failureReason")
    if reason is None:  # older files: an error without a grade
        return text(result.get("error")) is not None and not isinstance(result.get("gradingResult"), dict)
    if isinstance(reason, bool) or reason not in _REASONS:
        raise log.error("must be 0, 1 or 2", field=f"{locator}/failureReason")
    return bool(reason == _ERROR)


_KINDS = {
    "contains": ExpectationType.STDOUT_CONTAINS, "icontains": ExpectationType.STDOUT_CONTAINS,
    "not-contains": ExpectationType.NOT_CONTAINS, "not-icontains": ExpectationType.NOT_CONTAINS,
    "regex": ExpectationType.REGEX, "llm-rubric": ExpectationType.JUDGE, "is-json": ExpectationType.SCHEMA_VALID,
}  # fmt: skip


def _checks(components: Any) -> Iterator[ExpectationResult]:
    for index, part in enumerate(items(components)):
        kind = text(mapping(mapping(part).get("assertion")).get("type")) or "assertion"
        yield ExpectationResult(
            index=index,
            type=_KINDS.get(kind, ExpectationType.SCORE_AT_LEAST),
            required=True,
            passed=flag(mapping(part).get("pass")),
            detail=kind,
        )
