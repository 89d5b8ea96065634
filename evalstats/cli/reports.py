"""``evalstats report``: build a report from a notebook; list, show, open and verify versions."""

from __future__ import annotations

import webbrowser
from typing import Annotated

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
from evalstats.cli.tables import print_table, say, say_findings

app = typer.Typer()
Reference = Annotated[str, typer.Argument(help="A report version: a path, or NOTEBOOK/SUBJECT[/VERSION].")]
Parameters = Annotated[
    list[str] | None,
    typer.Option("--parameter", "-p", help="A notebook parameter, NAME=VALUE.", metavar="NAME=VALUE"),
]


@app.command()
def build(
    notebook: Annotated[str, typer.Argument(help="Name of a notebook, e.g. variance_bands.")],
    parameter: Parameters = None,
    data: Data = DEFAULT_DATA,
    store: StorePath = None,
    reports: Reports = None,
    as_json: Json = False,
) -> None:
    """Publish what a notebook says of the store.

    The same inputs give the same content hash, and then no new version is made.

    Example: evalstats report variance_bands -p suite=solver
    """
    from evalstats import report

    built = report.build(
        notebook,
        store=store_path(data, store),
        reports=reports_path(data, reports),
        parameters=report.parse_parameters(parameter or []),
    )
    if as_json:
        print_json(built.as_record())
    else:
        say(f"{built.path}/report.html ({'unchanged' if built.unchanged else 'new version'})")


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
    reference: Reference, data: Data = DEFAULT_DATA, reports: Reports = None, as_json: Json = False
) -> None:
    """Print what a report version found.

    Example: evalstats report show variance_bands/solver
    """
    from evalstats import report

    document = report.read_report(report.resolve(reports_path(data, reports), reference))
    if as_json:
        print_json(document)
        return
    for line in (document["title"], "", document["finding"], ""):
        say(line)
    print_table(("", "", ""), [(h["label"], h["value"], h.get("detail", "")) for h in document["headline"]])


@app.command()
def verify(
    reference: Reference, data: Data = DEFAULT_DATA, reports: Reports = None, as_json: Json = False
) -> int:
    """Check every file of a report version.

    Each is held against the manifest and the chain of versions; exit 1 on any difference.

    Example: evalstats report verify variance_bands/solver
    """
    from evalstats import report

    path = report.resolve(reports_path(data, reports), reference)
    findings = report.verify(path)
    if as_json:
        print_json([str(finding) for finding in findings])
    else:
        say_findings(findings, f"{path}: intact")
    return 1 if findings else 0


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
