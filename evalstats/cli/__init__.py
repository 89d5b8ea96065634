"""The command line: the only room that reads arguments and the environment.

Results go to stdout, progress and messages to stderr. Exit codes: 0 fine, 1 a finding, a failed case or a
regression, 2 bad input, 3 skipped, infrastructure or cannot gate, 4 inconclusive, 130 interrupted.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence

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
        _complain("interrupted")
        return INTERRUPTED
    except BrokenPipeError:  # the reader of our output has gone, as `| head` does
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0
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
        _complain(line)
    return code


def _complain(line: str) -> None:
    print(f"evalstats: {line}", file=sys.stderr)


def _write_any_text() -> None:
    """Let any text be printed, whatever the locale: what cannot be encoded is escaped."""
    for stream in (sys.stdout, sys.stderr):
        if hasattr(stream, "reconfigure"):
            stream.reconfigure(errors="backslashreplace")
