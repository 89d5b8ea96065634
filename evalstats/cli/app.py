"""The tree of commands, and the configuration file that can preset every option."""

from __future__ import annotations

import importlib
import sys
import tomllib
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import typer
from typer import TyperException
from typer.core import TyperGroup

from evalstats.cli.tables import clean, say
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


class RatchetVerb(DefaultVerb):
    """``ratchet SUITE`` means ``ratchet check SUITE``."""

    default_verb = "check"


class JudgeVerb(DefaultVerb):
    """``judge RUN`` means ``judge run RUN``."""

    default_verb = "run"


class Group(NamedTuple):
    """A verb with verbs of its own: where its app is, what it is for, and verbs that live elsewhere."""

    app: str
    help: str
    cls: type[TyperGroup] = TyperGroup
    more: Mapping[str, str] = {}


# Verb -> the function, or the group, as MODULE:NAME under evalstats.cli. In the order of the help.
VERBS: dict[str, str | Group] = {
    "suite": Group("suites:app", "Check and describe a suite."),
    "run": "runs:run",
    "runs": "runs:list_runs",
    "compare": "compare:compare",
    "import": "imports:import_logs",
    "export": "exports:export",
    "ingest": "database:ingest",
    "db": Group("database:app", "Look after the store."),
    "report": Group("reports:app", "Build, compare and check reports.", DefaultVerb),
    "gate": Group("gates:app", "Judge a report against a policy.", GateVerb),
    "baseline": Group(
        "baselines:app",
        "What runs are held against, and since when.",
        more={"audit": "audit:audit_baselines"},
    ),
    "coverage": "evidence:coverage",
    "readiness": "evidence:readiness",
    "headroom": "evidence:headroom",
    "quarantine": Group("quarantine:app", "Flaky cases and their way back."),
    "holdout": Group("holdouts:app", "Private suites, and what is told of them."),
    "lock": Group("locks:app", "Freeze the cases of a quarter."),
    "monitor": "monitors:monitor",
    "nightly": "nights:nightly",
    "smoke": "monitors:smoke",
    "site": Group("sites:app", "The dashboard: static pages of all that was published."),
    "ratchet": Group("ratchets:app", "May this suite block?", RatchetVerb),
    "local-llm": Group("local_llm:app", "A small real model on this machine, without a network."),
    "lab": "lab:lab",
    "judge": Group("judges:app", "Verdicts on stored transcripts, and whether to trust them.", JudgeVerb),
    "labels": Group("labels:app", "Human verdicts, out as a table and back."),
    "selfcheck": "selfchecks:selfcheck",
    "version": "app:version",
}


def build_app(only: str | None = None) -> typer.Typer:
    """Return the whole command line, or ``only`` one verb of it: what is not asked for is not loaded.

    Plain help: rich costs a quarter of a second at every start.
    """
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
    app.callback()(lambda: None)  # so that a single verb is a verb still
    for name, found in VERBS.items():
        if only not in (None, name):
            continue
        if isinstance(found, str):
            app.command(name)(_loaded(found))
            continue
        group = _loaded(found.app)
        for verb, where in found.more.items():
            group.command(verb)(_loaded(where))
        app.add_typer(group, name=name, cls=found.cls, help=found.help, no_args_is_help=True)
    return app


def _loaded(where: str) -> Any:
    module, name = where.split(":")
    return getattr(importlib.import_module(f"evalstats.cli.{module}"), name)


def version() -> None:
    """Print the version."""
    from importlib import metadata

    say(metadata.version("evalstats-notebooks"))


def invoke(argv: Sequence[str]) -> int:
    """Run one command line and return its exit code."""
    # A configuration is checked as a whole, so it takes the whole tree.
    alone = argv[0] if argv and argv[0] in VERBS and _configuration_file() is None else None
    command = typer.main.get_command(build_app(alone))
    presets = configuration(command)
    try:
        code = command.main(
            args=list(argv), prog_name="evalstats", standalone_mode=False, default_map=presets
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
    if message.startswith("Usage:"):
        print(message, file=sys.stderr)
    else:
        print(clean(f"{where}: {message} See `{where} --help`."), file=sys.stderr)


def configuration(command: Any) -> dict[str, Any]:
    """Return the presets of the nearest ``evalstats.toml``: ``[run] jobs = 4`` presets ``run --jobs``."""
    path = _configuration_file()
    if path is None:
        return {}
    try:
        presets = tomllib.loads(path.read_text("utf-8"))
    except (tomllib.TOMLDecodeError, UnicodeDecodeError, OSError) as error:
        raise UsageError(f"cannot be read: {error}", path=path) from None
    _check_presets(presets, command, path, ())
    return presets


def _configuration_file() -> Path | None:
    try:
        here = Path.cwd()
    except FileNotFoundError:
        raise UsageError("the working folder is gone; change to one that exists") from None
    for folder in (here, *here.parents):
        if (folder / CONFIGURATION).is_file():
            return folder / CONFIGURATION
        if (folder / ".git").exists():
            return None
    return None


def _check_presets(presets: dict[str, Any], command: Any, path: Path, place: tuple[str, ...]) -> None:
    """Raise UsageError for a key that presets nothing: a typo must not be a silent default."""
    verbs = getattr(command, "commands", {})
    options = {parameter.name for parameter in command.params}
    for key, value in presets.items():
        field = ".".join((*place, key))
        if key in verbs and isinstance(value, dict):
            _check_presets(value, verbs[key], path, (*place, key))
        elif key in verbs or key not in options or isinstance(value, dict):
            known = ", ".join(sorted((*verbs, *options)))
            raise UsageError(
                f"is neither a table of a command nor an option here; known: {known}", path=path, field=field
            )
