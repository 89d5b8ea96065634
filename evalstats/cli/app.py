"""The tree of commands, and the configuration file that can preset every option."""

from __future__ import annotations

import sys
import tomllib
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import typer
from typer import TyperException
from typer.core import TyperGroup

from evalstats.errors import UsageError

CONFIGURATION = "evalstats.toml"


class DefaultVerb(TyperGroup):
    """A group whose first word may be left out: ``report NAME`` means ``report build NAME``."""

    default_verb = "build"

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Put the default verb before a first word that is no verb of this group."""
        if args and args[0] not in self.commands and args[0] not in ("--help", "-h"):
            args = [self.default_verb, *args]
        rest: list[str] = super().parse_args(ctx, args)
        return rest


class GateVerb(DefaultVerb):
    """``gate REPORT`` means ``gate decide REPORT``."""

    default_verb = "decide"


def build_app() -> typer.Typer:
    """Return the whole command line. Plain help: rich costs a quarter of a second at every start."""
    from evalstats.cli import database, gates, reports, runs, suites

    app = typer.Typer(
        name="evalstats",
        help="Is this change real? From eval runs to reports with honest error bars, and gates.",
        epilog="Add --debug to any command to see a traceback.",
        add_completion=False,
        pretty_exceptions_enable=False,
        context_settings={"help_option_names": ["-h", "--help"]},
        no_args_is_help=True,
        rich_markup_mode=None,
    )
    group: dict[str, Any] = {"no_args_is_help": True}
    app.add_typer(suites.app, name="suite", help="Check and describe a suite.", **group)
    app.command("run")(runs.run)
    app.command("runs")(runs.list_runs)
    app.command("ingest")(database.ingest)
    app.add_typer(database.app, name="db", help="Look after the store.", **group)
    app.add_typer(reports.app, name="report", cls=DefaultVerb, help="Build, list and check reports.", **group)
    app.add_typer(gates.app, name="gate", cls=GateVerb, help="Judge a report against a policy.", **group)
    app.command("version")(version)
    return app


def version() -> None:
    """Print the version."""
    from importlib import metadata

    print(metadata.version("evalstats-notebooks"))


def invoke(argv: Sequence[str]) -> int:
    """Run one command line and return its exit code."""
    command = typer.main.get_command(build_app())
    try:
        code = command.main(
            args=list(argv),
            prog_name="evalstats",
            standalone_mode=False,
            default_map=configuration(Path.cwd()),
        )
    except (typer.Exit, SystemExit) as stop:
        return int(getattr(stop, "exit_code", getattr(stop, "code", 0)) or 0)
    except TyperException as error:
        _explain_usage(error)
        return 2
    return code if isinstance(code, int) else 0


def _explain_usage(error: TyperException) -> None:
    """Say in one line what was wrong with the command; a group without a verb prints its help instead."""
    where = getattr(getattr(error, "ctx", None), "command_path", "evalstats")
    message = error.format_message()
    is_help = message.startswith("Usage:")
    print(message if is_help else f"{where}: {message} See `{where} --help`.", file=sys.stderr)


def configuration(folder: Path) -> dict[str, Any]:
    """Return the presets of the nearest ``evalstats.toml``: ``[run] jobs = 4`` presets ``run --jobs``."""
    for candidate in (folder, *folder.parents):
        path = candidate / CONFIGURATION
        if path.is_file():
            try:
                return tomllib.loads(path.read_text("utf-8"))
            except (tomllib.TOMLDecodeError, UnicodeDecodeError, OSError) as error:
                raise UsageError(f"cannot be read: {error}", path=path) from None
        if (candidate / ".git").exists():
            return {}
    return {}
