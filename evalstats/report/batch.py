"""Several reports at once: one warm Python, a few notebooks side by side."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from evalstats import contract
from evalstats.errors import EvalstatsError, ReportError
from evalstats.report import builder, kernel, parameters
from evalstats.report.builder import BuiltReport
from evalstats.report.kernel import Execution


@dataclass(frozen=True, slots=True, kw_only=True)
class Request:
    """One report to build: which notebook, with which parameters."""

    notebook: str
    parameters: Mapping[str, Any] = field(default_factory=dict)
    subject: str | None = None


def build_all(
    requests: Sequence[Request],
    *,
    store: Path | str | None = None,
    reports: Path | str,
    execution: Execution | None = None,
    jobs: int | None = None,
) -> Iterator[BuiltReport | EvalstatsError]:
    """Build several reports, ``jobs`` at a time; yield for each, in order, what came of it or why nothing did.

    One that fails stops no other. By default there is one job more than cores: while one waits for its kernel to
    come or go, another works.
    """
    how, most = execution or Execution(), jobs or (os.cpu_count() or 1) + 1

    def one(request: Request) -> BuiltReport | EvalstatsError:
        try:
            return builder.build(
                request.notebook,
                store=store,
                reports=reports,
                parameters=request.parameters,
                subject=request.subject,
                execution=how,
            )
        except EvalstatsError as error:
            return error

    kernel.prepare(how)
    with ThreadPoolExecutor(max(min(most, len(requests)), 1)) as pool:
        yield from pool.map(one, requests)


def requests_for(notebooks: Sequence[str], given: Mapping[str, Any]) -> list[Request]:
    """Return a request for each notebook, with those of the given parameters that it declares.

    One notebook gets all of them, and says so when it does not know one. Of several, at least one must know each.
    Raises ReportError.
    """
    if len(notebooks) == 1:
        return [Request(notebook=notebooks[0], parameters=given)]
    known = {name: set(_declared(name)) for name in notebooks}
    unknown = sorted(set(given) - set().union(*known.values()))
    if unknown:
        raise ReportError(f"unknown parameter {unknown[0]!r}; none of {', '.join(known)} knows it")
    return [
        Request(notebook=name, parameters={key: given[key] for key in given if key in known[name]})
        for name in known  # each once
    ]


def values_of(request: Request) -> dict[str, Any]:
    """Return the value of every parameter that the notebook of a request declares. Raises ReportError."""
    return dict(parameters.checked(_declared(request.notebook), dict(request.parameters)))


def _declared(notebook: str) -> Mapping[str, Any]:
    path = builder.find_notebook(notebook)
    try:
        return parameters.declared(contract.read_json(path)[0])
    except ReportError as error:
        raise ReportError(error.message, path=path, line=error.line, field=error.field) from None
