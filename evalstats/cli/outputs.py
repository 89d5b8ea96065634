"""What a command leaves for a CI job: a part of its page, and a test report."""

from __future__ import annotations

from pathlib import Path

from evalstats.errors import UsageError


def check_files(*files: Path | None) -> None:
    """Refuse, before anything is done, a file that cannot be one."""
    for file in files:
        if file is not None and (file.is_dir() or (file.parent.exists() and not file.parent.is_dir())):
            raise UsageError("is no place for a file", path=file)


def write_files(summary: Path | None, page: str, junit: Path | None, tests: str) -> None:
    """Add the page to the summary, as a job page collects what several steps say, and write the test report."""
    for file in (summary, junit):
        if file is not None:
            file.parent.mkdir(parents=True, exist_ok=True)
    if summary is not None:
        with summary.open("a", encoding="utf-8") as collected:
            collected.write(page)
    if junit is not None:
        junit.write_text(tests, encoding="utf-8")
