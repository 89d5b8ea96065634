"""``evalstats report``: build reports from notebooks; list, show, compare, export, open and verify versions."""

from __future__ import annotations

import json
import shutil
import sys
import tempfile
import textwrap
import webbrowser
from collections.abc import Iterable, Mapping
from dataclasses import replace
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from evalstats.cli.options import (
    DEFAULT_DATA,
    Data,
    Json,
    Reports,
    StorePath,
    print_json,
    reports_path,
    store_path,
)
from evalstats.cli.tables import complain, print_table, say, say_findings
from evalstats.errors import EvalstatsError

if TYPE_CHECKING:
    from evalstats.report.batch import Request
    from evalstats.report.builder import BuiltReport
    from evalstats.report.differences import Change, Difference


class Format(StrEnum):
    """What a report can be written as."""

    MARKDOWN = "markdown"
    HTML = "html"
    PDF = "pdf"


app = typer.Typer()
Reference = Annotated[str, typer.Argument(help="A report version: a path, or NOTEBOOK/SUBJECT[/VERSION].")]
Parameters = Annotated[
    list[str] | None,
    typer.Option("--parameter", "-p", help="A notebook parameter, NAME=VALUE.", metavar="NAME=VALUE"),
]


@app.command()
def build(
    notebook: Annotated[list[str], typer.Argument(help="Names of notebooks, e.g. variance_bands.")],
    parameter: Parameters = None,
    data: Data = DEFAULT_DATA,
    store: StorePath = None,
    reports: Reports = None,
    jobs: Annotated[
        int | None, typer.Option(min=1, max=64, help="How many to run at a time [default: cores + 1].")
    ] = None,
    cold: Annotated[
        bool, typer.Option("--cold", help="Start each from nothing, not from a warm Python.")
    ] = False,
    pdf: Annotated[bool, typer.Option("--pdf", help="Print each page beside its version.")] = False,
    as_json: Json = False,
) -> int:
    """Publish what notebooks say of the store.

    The same inputs give the same content hash, and then no new version is made.

    Example: evalstats report variance_bands -p suite=solver
    """
    from evalstats import report

    place = store_path(data, store)
    requests = report.requests_for(notebook, report.parse_parameters(parameter or []))
    with tempfile.TemporaryDirectory(prefix="evalstats-") as folder:
        built = report.build_all(
            [_with_readiness(request, place, data, Path(folder)) for request in requests],
            store=place,
            reports=reports_path(data, reports),
            execution=report.Execution(cold=cold),
            jobs=jobs,
        )
        return _tell(built, pdf=pdf, as_json=as_json)


def _with_readiness(request: Request, store: Path, data: Path, folder: Path) -> Request:
    """Let a report on readiness stand on a record that is made now: only the gate knows which runs count."""
    from evalstats import gate, report

    values = report.values_of(request)
    if values.get("readiness", True):
        return request
    suite, suites, policy, gates = (str(values[name]) for name in ("suite", "suites", "policy", "gates"))
    places = gate.ratcheting.Places(
        store=str(store), suites=suites, policy=policy, gates=gates or str(data / "gates")
    )
    record = gate.ratcheting.told(suite, places, reruns=int(values["reruns"]), seed=int(values["seed"]))
    file = folder / f"{suite}.json"
    file.write_text(json.dumps(record), "utf-8")
    return replace(request, parameters={**request.parameters, "readiness": str(file)})


def _tell(built: Iterable[BuiltReport | EvalstatsError], *, pdf: bool, as_json: bool) -> int:
    """Say of each report where it is or why not, as soon as it is known; return the worst exit code."""
    records, code = [], 0
    for one in built:
        if isinstance(one, EvalstatsError):
            code = max(code, one.exit_code)
            records.append({"error": str(one)})
            for line in one.lines():
                complain(line)
            continue
        records.append(one.as_record())
        if not as_json:
            say(f"{one.path}/report.html ({'unchanged' if one.unchanged else 'new version'})")
        if pdf:
            _write_pdf(one.path, one.path.with_name(f"{one.path.name}.pdf"))
    if as_json and (len(records) > 1 or not code):
        print_json(records if len(records) > 1 else records[0])
    return code


def _wrapped(text: str, indent: str = "") -> list[str]:
    width = shutil.get_terminal_size((100, 24)).columns
    hanging = f"{indent}  " if indent else ""
    return textwrap.wrap(text, width, initial_indent=indent, subsequent_indent=hanging) or [""]


def _write_pdf(version: Path, out: Path) -> None:
    from evalstats import report

    _write(out, report.as_pdf(version))
    complain(f"wrote {out}")


def _write(out: Path, content: bytes) -> None:
    """Write a file, or stdout for ``-``."""
    if str(out) == "-":
        sys.stdout.buffer.write(content)
        sys.stdout.flush()
    else:
        out.write_bytes(content)


@app.command("list")
def list_versions(data: Data = DEFAULT_DATA, reports: Reports = None, as_json: Json = False) -> None:
    """List every report version.

    Example: evalstats report list
    """
    from evalstats import report

    rows = report.list_reports(reports_path(data, reports))
    if as_json:
        print_json([row.as_record() for row in rows])
    else:
        print_table(
            ("notebook", "subject", "version", "status"),
            [(r.notebook, r.subject, r.version, r.status) for r in rows],
        )


@app.command()
def show(
    reference: Reference,
    data: Data = DEFAULT_DATA,
    reports: Reports = None,
    markdown: Annotated[
        bool, typer.Option("--markdown", help="All of it as Markdown, for a job page.")
    ] = False,
    as_json: Json = False,
) -> None:
    """Print what a report version found.

    Example: evalstats report show variance_bands/solver
    """
    from evalstats import report

    document = report.read_report(report.resolve(reports_path(data, reports), reference))
    if as_json:
        print_json(document)
    elif markdown:
        for line in report.as_markdown(document).splitlines():
            say(line)
    else:
        _show(document)


def _show(document: Mapping[str, Any]) -> None:
    for text in (document["title"], document["finding"]):
        for line in (*_wrapped(text), ""):
            say(line)
    print_table(("", "", ""), [(h["label"], h["value"], h.get("detail", "")) for h in document["headline"]])


@app.command()
def export(
    reference: Reference,
    as_format: Annotated[Format, typer.Option("--format", help="markdown, html or pdf.")] = Format.MARKDOWN,
    out: Annotated[Path, typer.Option("--out", help="File to write; - is stdout.")] = Path("-"),
    data: Data = DEFAULT_DATA,
    reports: Reports = None,
) -> None:
    """Write a report version as one file: Markdown for a job page, its page, or a PDF of it.

    Example: evalstats report export variance_bands/solver --format markdown --out summary.md
    """
    from evalstats import report

    folder = report.resolve(reports_path(data, reports), reference)
    if as_format is Format.PDF:
        content = report.as_pdf(folder)
    elif as_format is Format.HTML:
        content = (folder / "report.html").read_bytes()
    else:
        content = report.as_markdown(report.read_report(folder)).encode()
    _write(out, content)


@app.command()
def diff(
    before: Reference,
    after: Reference,
    data: Data = DEFAULT_DATA,
    reports: Reports = None,
    html: Annotated[Path | None, typer.Option("--html", help="Write the difference as a page.")] = None,
    as_json: Json = False,
) -> None:
    """Say what changed between two report versions: inputs, numbers with intervals, packages.

    Example: evalstats report diff variance_bands/solver/0001 variance_bands/solver
    """
    from evalstats import report

    root = reports_path(data, reports)
    found = report.diff(report.resolve(root, before), report.resolve(root, after))
    if html is not None:
        from evalstats.report import page

        _write(html, page.render_diff(found).encode())
    if as_json:
        print_json(found.as_record())
    elif str(html) != "-":
        _tell_changes(found)


def _tell_change(change: Change) -> None:
    """Say it in one line where it fits, else with both sides below each other."""
    if len(f"  {change}") <= shutil.get_terminal_size((100, 24)).columns:
        say(f"  {change}")
        return
    say(f"  {change.what}:")
    for mark, text in (("−", change.before), ("+", change.after)):
        for line in _wrapped(f"{mark} {text}", indent="    "):
            say(line)


def _tell_changes(found: Difference) -> None:
    say(f"{found.before} → {found.after}")
    for title, changes in found.groups().items():
        say()
        say(title)
        for change in changes:
            _tell_change(change)
    if not found.changes:
        say("nothing changed")


@app.command()
def verify(
    reference: Reference,
    data: Data = DEFAULT_DATA,
    reports: Reports = None,
    signers: Annotated[
        Path | None, typer.Option("--signers", help="Allowed signers of OpenSSH: also ask who signed.")
    ] = None,
    as_json: Json = False,
) -> int:
    """Check every file of a report version.

    Each is held against the manifest and the chain of versions; exit 1 on any difference.

    Example: evalstats report verify variance_bands/solver
    """
    from evalstats import report

    path = report.resolve(reports_path(data, reports), reference)
    findings, name = report.verify(path), None
    if signers is not None:
        name, more = report.signing.signer(path, signers)
        findings += more
    if as_json:
        print_json([str(finding) for finding in findings])
    else:
        say_findings(findings, f"{path}: intact{f', signed by {name}' if name else ''}")
    return 1 if findings else 0


@app.command()
def sign(
    reference: Reference,
    key: Annotated[Path, typer.Option("--key", help="Private key of OpenSSH.")],
    data: Data = DEFAULT_DATA,
    reports: Reports = None,
) -> None:
    """Sign a report version, so that others can tell who published it.

    The signature lies beside the version; `report verify --signers` checks it, and so does ssh-keygen alone.

    Example: evalstats report sign variance_bands/solver --key ~/.ssh/id_ed25519
    """
    from evalstats import report

    say(str(report.signing.sign(report.resolve(reports_path(data, reports), reference), key)))


@app.command("open")
def open_page(reference: Reference, data: Data = DEFAULT_DATA, reports: Reports = None) -> None:
    """Open a report version in the browser.

    Example: evalstats report open variance_bands/solver
    """
    from evalstats import report

    page = report.resolve(reports_path(data, reports), reference) / "report.html"
    say(str(page))
    webbrowser.open(page.resolve().as_uri())


@app.command("path")
def page_path(reference: Reference, data: Data = DEFAULT_DATA, reports: Reports = None) -> None:
    """Print where the page of a report version lies.

    Example: evalstats report path variance_bands/solver
    """
    from evalstats import report

    say(str(report.resolve(reports_path(data, reports), reference) / "report.html"))
