"""From a notebook to a published version: check, snapshot, run, render, seal, publish."""

from __future__ import annotations

import contextlib
import tempfile
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from evalstats import contract
from evalstats.contract import Visibility
from evalstats.errors import EvalstatsError, ReportError
from evalstats.report import (
    audits,
    bundle,
    draft,
    evidence,
    executed,
    inputs,
    kernel,
    nights,
    page,
    parameters,
    provenance,
    ratchets,
    suite_files,
)
from evalstats.report.kernel import Execution, Outcome
from evalstats.report.parameters import STORE
from evalstats.report.provenance import Job

SUITE, INPUTS, LOCK, REF, SENTINEL = "suite", "inputs", "lock", "ref", "sentinel"


@dataclass(frozen=True, slots=True, kw_only=True)
class BuiltReport:
    """What came of a build. ``unchanged``: this content was published before, under ``version``."""

    path: Path
    version: str
    content_hash: str
    status: str
    unchanged: bool

    def as_record(self) -> dict[str, Any]:
        """Return the fields as JSON holds them."""
        names = ("version", "content_hash", "status", "unchanged")
        return {"path": str(self.path), **{name: getattr(self, name) for name in names}}


def build(
    notebook: str | Path,
    *,
    store: Path | str | None = None,
    reports: Path | str,
    parameters: Mapping[str, Any] | None = None,
    subject: str | None = None,
    execution: Execution | None = None,
) -> BuiltReport:
    """Run a notebook over a snapshot of the store and publish what it says as the next version of its subject.

    Parameters
    ----------
    notebook : str or Path
        The name of a packaged notebook, or a path to one.
    store : Path or str, optional
        Database file or Parquet folder. Needed by notebooks that declare the parameter ``store``, which then also
        declare ``suite``: they see a snapshot of that suite, in a folder ``inputs``.
    reports : Path or str
        The folder of all reports.
    parameters : mapping, optional
        Values for what the notebook declares; texts are read as the declared kind.
    subject : str, optional
        What the report is about; by default what the notebook says.
    execution : Execution, optional
        How long it may take, and whether it starts cold.

    Returns
    -------
    BuiltReport

    Raises
    ------
    ReportError
        The parameters do not fit, the suite is private, or the notebook did not end well: then a failed version,
        which never becomes the latest, keeps what is known of it.
    """
    started, how = time.time(), execution or Execution()
    path = find_notebook(notebook)
    kernel.prepare(how)
    with _work_folder(path) as work:
        job = _prepare(path, dict(parameters or {}), store, work)
        outcome = kernel.run(job.source, job.parameters, work, how)
        document, files, outcome = _collect(job, work, outcome)
        name = bundle.check_name("subject", subject or _subject(job, document))
        files["notebook.ipynb"] = executed.normalised(work, job.source)
        manifest = provenance.manifest(job, name, document, outcome.status)
        files["report.html"] = _page(manifest, document, files, outcome).encode()
        sealed = bundle.seal(manifest, files)
        run = provenance.run_record(started, outcome)
    place, unchanged = bundle.publish(Path(reports) / job.name / name, sealed, files, run)
    if outcome.status != kernel.OK:
        where = f"cell {outcome.cell}: " if outcome.cell is not None else ""
        raise ReportError(f"{outcome.status}: {where}{outcome.message}; see {place}/report.html", path=path)
    return BuiltReport(
        path=place,
        version=place.name,
        content_hash=sealed["content_hash"],
        status=outcome.status,
        unchanged=unchanged,
    )


def find_notebook(notebook: str | Path) -> Path:
    """Return the notebook at a path, or the packaged one of that name. Raises ReportError."""
    path = Path(notebook)
    if path.suffix != ".ipynb":
        path = contract.packaged("notebooks") / f"{notebook}.ipynb"
    if not path.is_file():
        known = ", ".join(sorted(p.stem for p in contract.packaged("notebooks").glob("*.ipynb"))) or "none"
        raise ReportError(f"no notebook {str(notebook)!r}; known: {known}")
    bundle.check_name("notebook", path.stem)
    return path


# --- before --------------------------------------------------------------------------------------


@contextlib.contextmanager
def _work_folder(notebook: Path) -> Iterator[Path]:
    """Yield a folder to work in; a system that gives no more room, files or processes becomes a ReportError."""
    try:
        with tempfile.TemporaryDirectory(prefix="evalstats-report-", ignore_cleanup_errors=True) as folder:
            yield Path(folder)
    except OSError as error:
        raise ReportError(f"cannot be run: {error.strerror or error}", path=notebook) from None


def _prepare(path: Path, given: dict[str, Any], store: Path | str | None, work: Path) -> Job:
    document, text = contract.read_json(path)
    try:
        defaults = parameters.declared(document)
        values = parameters.checked(defaults, given)
    except ReportError as error:
        raise ReportError(error.message, path=path, line=error.line, field=error.field) from None
    job = Job(name=path.stem, source=text.encode(), parameters=values)
    if ratchets.READINESS in defaults:
        return ratchets.freeze(job, work / INPUTS)
    if STORE in defaults:
        return _with_inputs(job, store, work)
    return audits.freeze(job, work / INPUTS) if audits.SUITES in defaults else job


def _with_inputs(job: Job, place: Path | str | None, work: Path) -> Job:
    """Snapshot the suite that the notebook is about; the notebook then reads ``inputs`` beside itself."""
    from evalstats import store

    if place is None or SUITE not in job.parameters:
        missing = "a store; say which with --store" if place is None else f"a parameter {SUITE!r}"
        raise ReportError(f"this notebook needs {missing}", path=job.name)
    suite = str(job.parameters[SUITE])
    with store.open(place, read_only=True) as source:
        if Visibility.PRIVATE_HOLDOUT in set(source.runs(suite)["visibility"]):
            raise ReportError("private suites have no public report yet", field=SUITE)
        # The branch of a run stays at home, so what the notebook may see is chosen here.
        kept = nights.on_line(source, suite, str(job.parameters[REF])) if REF in job.parameters else None
        store.snapshot(source, work / INPUTS, suite, kept)
        found = evidence.gather(source, suite)
    with store.open(work / INPUTS, read_only=True) as copied:
        runs = copied.runs(suite)
        beside = {name: getattr(copied, name)(suite) for name in ("judgements", "rewordings", "labels")}
        read = {
            "runs": runs,
            "trials": copied.trials(suite),
            **{n: rows for n, rows in beside.items() if len(rows)},
        }
    digests = {name: store.rows_digest(rows) for name, rows in read.items()}
    hashes = tuple(sorted(set(runs["suite_scoring"].dropna())))
    values = {**job.parameters, STORE: INPUTS}
    ready = replace(job, parameters=values, inputs=digests, suite_hashes=hashes, evidence=found)
    if suite_files.SUITES in values:
        ready = suite_files.freeze(ready, suite, work / suite_files.SUITES)
    if job.parameters.get(SENTINEL):
        ready = _with_sentinel(ready, work)
    return _with_lock(ready, suite, work) if job.parameters.get(LOCK) else ready


def _with_sentinel(job: Job, work: Path) -> Job:
    """Hand the notebook a copy of the sentinel's anchors and checks, so that no path of this machine is told."""
    from evalstats.judging.sentinel import history_of

    anchors = inputs.find_file(str(job.parameters[SENTINEL]), SENTINEL)
    folder = work / SENTINEL
    folder.mkdir()
    kept = [file for file in (anchors, history_of(anchors)) if file.is_file()]
    for file in kept:
        (folder / file.name).write_bytes(file.read_bytes())
    digests = {f"sentinel {n}": contract.digest(file.read_bytes()) for n, file in enumerate(kept, 1)}
    values = {**job.parameters, SENTINEL: f"{SENTINEL}/{anchors.name}"}
    return replace(job, parameters=values, inputs={**job.inputs, **digests})


def _with_lock(job: Job, suite: str, work: Path) -> Job:
    """Hold the suite against the lock, and hand the notebook a copy, so that no path of this machine is told."""
    path = inputs.find_lock(str(job.parameters[LOCK]))
    held = inputs.check_lock(path, suite)
    copy = work / LOCK / path.name
    copy.parent.mkdir()
    copy.write_bytes(path.read_bytes())
    values = {**job.parameters, LOCK: f"{LOCK}/{path.name}"}
    return replace(job, parameters=values, inputs={**job.inputs, LOCK: held.sha256})


# --- after ---------------------------------------------------------------------------------------


def _collect(
    job: Job, work: Path, outcome: Outcome
) -> tuple[dict[str, Any] | None, dict[str, bytes], Outcome]:
    """Return the document and files that the notebook left; what is not as it must be makes it a failed one."""
    if outcome.status != kernel.OK:
        message, text = (executed.scrubbed(t, work) for t in (outcome.message, outcome.traceback))
        return None, {}, replace(outcome, message=message, traceback=text)
    try:
        said = _read_document(job, work / kernel.BUNDLE / "report.json")
        document = evidence.add(said, job.evidence)
        contract.validate(document, "report.v1", path="report.json")
        files = _files(work / kernel.BUNDLE, document)
        return document, files | {"report.json": draft.as_json(document).encode()}, outcome
    except EvalstatsError as error:
        message = executed.scrubbed(error.message, work)
        return None, {}, replace(outcome, status=kernel.FAILED, message=message)


def _read_document(job: Job, path: Path) -> dict[str, Any]:
    if not path.is_file():
        raise ReportError("the notebook saved no report; end it with draft.save()")
    document, text = contract.read_json(path)
    contract.validate(document, "report.v1", path=path.name, text=text)
    draft.refuse_private(document)
    if document["notebook"] != job.name:
        raise ReportError(f"the draft calls its notebook {document['notebook']!r}, the file is {job.name!r}")
    return dict(document)


def _files(folder: Path, document: Mapping[str, Any]) -> dict[str, bytes]:
    names = ["report.json"]
    for section in document["sections"]:
        names += [f"tables/{table['name']}.csv" for table in section["tables"]]
        for figure in section["figures"]:
            names += [f"figures/{figure['name']}{end}" for end in (".svg", "-narrow.svg", ".vl.json")]
    try:
        return {name: (folder / name).read_bytes() for name in names}
    except OSError as error:
        raise ReportError(f"the draft names a file it did not save ({error.strerror})") from None


def _subject(job: Job, document: Mapping[str, Any] | None) -> str:
    return str(document["subject"] if document else job.parameters.get(SUITE, "all"))


def _page(
    manifest: Mapping[str, Any],
    document: Mapping[str, Any] | None,
    files: Mapping[str, bytes],
    outcome: Outcome,
) -> str:
    origin = provenance.origin(manifest, document, files)
    if document is None:
        facts = {
            "notebook": manifest["notebook"]["name"],
            "subject": manifest["subject"],
            "status": outcome.status,
        }
        return page.render_failure({**facts, "message": outcome.message}, outcome.traceback, origin)
    drawings = {Path(n).stem: data.decode() for n, data in files.items() if n.endswith(".svg")}
    return page.render(document, drawings, origin)
