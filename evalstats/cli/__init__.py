"""The command line: the only room that reads arguments and the environment.

Results go to stdout, progress and messages to stderr. Exit codes: 0 fine, 1 a finding, a failed case or a
regression, 2 bad input, 3 skipped, infrastructure or cannot gate, 4 inconclusive, 130 interrupted.
"""

from __future__ import annotations

import io
import os
import sys
from collections.abc import Sequence

from evalstats.cli.tables import complain
from evalstats.errors import EvalstatsError

BAD_INPUT = 2
INTERRUPTED = 130


def run_command(argv: Sequence[str]) -> int:
    """Run one command and return its exit code; an expected error becomes one clear line each."""
    from evalstats.cli.app import invoke

    debug = "--debug" in argv
    _write_any_text()
    try:
        return invoke([argument for argument in argv if argument != "--debug"])
    except KeyboardInterrupt:
        complain("interrupted")
        return INTERRUPTED
    except Exception as error:
        if debug:
            raise
        return _explain(error)


def _explain(error: Exception) -> int:
    """Print what a person needs to act, and return the exit code."""
    if isinstance(error, EvalstatsError):
        lines, code = error.lines(), error.exit_code
    elif isinstance(error, OSError):
        lines, code = [f"{error.filename or 'the system'}: {error.strerror or error}"], BAD_INPUT
    else:
        what = f"unexpected {type(error).__name__}"
        lines, code = [f"{what}: run again with --debug to see where, and please report it"], BAD_INPUT
    for line in lines:
        complain(line)
    return code


def _write_any_text() -> None:
    """Let any text be printed, whatever the locale, and survive being started without stdout or stderr."""
    sys.stdout = sys.stdout or open(os.devnull, "w", encoding="utf-8")
    sys.stderr = sys.stderr or open(os.devnull, "w", encoding="utf-8")
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")
