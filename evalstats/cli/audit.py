"""``evalstats baseline audit``: do suites and their baselines still belong together?"""

from __future__ import annotations

import shutil
import textwrap
from typing import TYPE_CHECKING, Annotated

import typer

from evalstats.cli.baselines import Folder
from evalstats.cli.options import DEFAULT_SUITES, Json, Suites, print_json
from evalstats.cli.tables import clean, complain, print_table, say

if TYPE_CHECKING:
    from evalstats.governance.audit_record import Audit, Finding

Git = Annotated[bool, typer.Option("--git", help="Look old suite files up in the git history.")]


def audit_baselines(
    suites: Suites = DEFAULT_SUITES, baselines: Folder = None, git: Git = False, as_json: Json = False
) -> int:
    """Hold every suite against its baseline, and say what has gone stale.

    Exit 1 when there is a finding.

    Example: evalstats baseline audit --suites evals --git
    """
    from evalstats.governance import audit

    found = audit.audit_baselines(suites, baselines, git=git)
    if as_json:
        print_json(found.as_record())
    else:
        _print(found)
    return 1 if found.findings else 0


def _print(found: Audit) -> None:
    from evalstats.governance.audit_record import WAYS_OUT, Kind

    for note in found.notes:
        complain(note)
    counted = [len(found.of(kind)) for kind in (Kind.MISSING, Kind.UNEXPECTED, Kind.ORPHAN, Kind.STALE)]
    print_table(
        ("suites", "baselines", "missing", "unexpected", "orphan", "stale"),
        [(found.suite_count, found.baseline_count, *counted)],
    )
    for kind, way_out in WAYS_OUT.items():
        if entries := found.of(kind):
            say()
            say(f"{kind}: {len(entries)}")
            say(f"  {way_out}")
            for entry in entries:
                _print_finding(entry)
    _print_rest(found)


def _print_finding(finding: Finding) -> None:
    """Print what a finding is about, and below it what is wrong, whole: a cut reason is no reason."""
    subject = finding.suite_id or finding.baseline_path or finding.suite_path or ""
    say(f"  {finding.severity:<7}  {subject}")
    reason = finding.staleness or finding.problem or (finding.baseline_path if finding.mode is None else "")
    width, indent = shutil.get_terminal_size((100, 24)).columns, "    "
    for line in textwrap.wrap(
        clean(reason), width, initial_indent=indent, subsequent_indent=indent, break_on_hyphens=False
    ):
        say(line)


def _print_rest(found: Audit) -> None:
    """Print what is no finding, but must not be overlooked."""
    say()
    layers = ", ".join(f"{count} {layer}" for layer, count in found.layers.items() if count)
    say(f"staleness: {layers or 'no baseline could be held against its suite'}")
    if found.without_baseline:
        say(f"without a baseline: {len(found.without_baseline)}")
        print_table(("suite", "mode"), [(b.suite_id or b.suite_path, b.mode) for b in found.without_baseline])
    if found.private_count:
        say(f"private suites passed over: {found.private_count}")
