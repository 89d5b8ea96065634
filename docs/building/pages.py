"""Pages and figures of the documentation that are made from the code when the site is built: a hook of MkDocs."""

from __future__ import annotations

import importlib
import json
import re
import sys
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import typer
from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure.files import File, Files

ROOT = Path(__file__).parents[2]
LIBRARIES = {"stats": "evalstats.stats", "estimates": "evalstats.estimates"}
ROOMS = ("store", "suite", "importers", "report", "gate", "governance", "judging", "runner", "site")


def on_files(files: Files, config: MkDocsConfig) -> Files:
    """Add what is generated to what is written."""
    from docs.building import figures

    for path, content in {**pages(), **figures.every()}.items():
        files.append(File.generated(config, path, content=content))
    return files


def pages() -> dict[str, str]:
    """Return every generated page by its path."""
    found = {f"reference/{name}.md": library(module) for name, module in LIBRARIES.items()}
    return found | {
        "reference/cli.md": command_line(),
        "reference/rooms.md": rooms(),
        "reference/schemas.md": schemas(),
    }


# --- the command line ------------------------------------------------------------------------------


def command_line() -> str:
    """Return the help of every command, as a terminal shows it."""
    from evalstats.cli.app import build_app

    parts = [
        "# Command line",
        "What `evalstats COMMAND --help` prints, for every command. Any option can be preset in `evalstats.toml`; exit"
        " codes are 0 for a pass, 1 for a regression or a failure, 2 for wrong usage, 3 for what cannot be done, 4 for"
        " an inconclusive verdict.",
    ]
    group, above = typer.main.get_command(build_app()), ""
    for name, command in commands(group, ""):
        verb = name.split()[0]
        parts += [f"## {verb}"] * (verb != above) + [f"### `evalstats {name}`"] * (name != verb)
        context = typer.Context(command, info_name=f"evalstats {name}", terminal_width=100)
        parts.append(f"```text\n{command.get_help(context).rstrip()}\n```")
        above = verb
    return "\n\n".join(parts) + "\n"


def commands(group: Any, before: str) -> Iterator[tuple[str, Any]]:
    """Yield each command below a group with its name."""
    for name, command in group.commands.items():
        if hasattr(command, "commands"):
            yield from commands(command, f"{before}{name} ")
        else:
            yield f"{before}{name}", command


# --- the Python API --------------------------------------------------------------------------------


def library(module: str) -> str:
    """Return the page of a library: what answers which question, then every public name."""
    room = importlib.import_module(module)
    title, _, map_of_it = (room.__doc__ or "").partition("\n\n")
    parts = [f"# `{module}`", title, f"```text\n{map_of_it.strip()}\n```"]
    for name in sorted(room.__all__, key=str.lower):
        found = getattr(room, name)
        parts.append(f"::: {getattr(found, '__module__', module)}.{name}")
    modules = sorted({getattr(getattr(room, name), "__module__", module) for name in room.__all__})
    return "\n\n".join([*parts, *sources(modules)]) + "\n"


def sources(modules: Sequence[str]) -> list[str]:
    """Return what the references of the modules stand for, by module: a name is one module's own."""
    found = []
    for module in modules:
        cited = re.findall(
            r"^\.\. \[(\w+)\] (.+?)(?=^\.\. \[|\n\n|\Z)", sys.modules[module].__doc__ or "", re.M | re.S
        )
        listed = "\n".join(f"- **{name}** {' '.join(text.split())}" for name, text in cited)
        if listed:
            found.append(f"### `{module.rpartition('.')[2]}`\n\n{listed}")
    return ["## Sources", "What the references above stand for, by module.", *found] if found else []


def rooms() -> str:
    """Return what the other rooms offer: their docstrings and the names they export."""
    parts = [
        "# The other rooms",
        "The room is the API: `from evalstats import store, report`. Each is described by its own docstring;"
        " `help(evalstats.store)` shows the same.",
    ]
    for name in ROOMS:
        room = importlib.import_module(f"evalstats.{name}")
        parts += [f"## `evalstats.{name}`", f"```text\n{(room.__doc__ or '').strip()}\n```"]
        rows = [f"| `{each}` | {first_line(getattr(room, each))} |" for each in sorted(public(room))]
        if rows:
            parts.append("\n".join(["| name | what it does |", "|---|---|", *rows]))
    return "\n\n".join(parts) + "\n"


def public(room: Any) -> list[str]:
    """Return the names a room offers: functions and classes."""
    return [
        each
        for each in getattr(room, "__all__", ())
        if callable(getattr(room, each)) and getattr(getattr(room, each), "__doc__", None)
    ]


def first_line(found: Any) -> str:
    """Return the first sentence of a docstring, fit for the cell of a table."""
    return str(found.__doc__).strip().split("\n\n")[0].replace("\n", " ").replace("|", "\\|")


# --- schemas ---------------------------------------------------------------------------------------


def schemas() -> str:
    """Return every schema: what it is of, its fields, which of them are required."""
    parts = [
        "# Schemas",
        "Every file that is written or read has a schema in `schemas/`, and `words.v1.json` owns every enumeration. A"
        " field that is unknown is `null`, with a reason beside it; it is never 0.",
    ]
    for path in sorted((ROOT / "schemas").glob("*.json")):
        schema = json.loads(path.read_text("utf-8"))
        parts.append(f"## {path.stem}\n\n{schema['title']}.")
        parts.append(words(schema) if path.stem.startswith("words") else fields(schema))
    return "\n\n".join(part for part in parts if part) + "\n"


def fields(schema: Mapping[str, Any]) -> str:
    """Return the fields of an object as a table."""
    required = set(schema.get("required", ()))
    rows = [
        f"| `{name}` | {kind(about)} | {'yes' if name in required else ''} | {cell(about.get('description', ''))} |"
        for name, about in schema.get("properties", {}).items()
    ]
    return (
        "\n".join(["| field | kind | required | what it says |", "|---|---|---|---|", *rows]) if rows else ""
    )


def words(schema: Mapping[str, Any]) -> str:
    """Return each enumeration and its words."""
    rows = [
        f"| `{name}` | {', '.join(f'`{word}`' for word in about['enum'] if word is not None)} |"
        for name, about in schema["$defs"].items()
        if "enum" in about
    ]
    return "\n".join(["| enumeration | words |", "|---|---|", *rows])


def kind(about: Mapping[str, Any]) -> str:
    """Say what kind of value a field holds."""
    if "$ref" in about:
        return f"`{about['$ref'].rsplit('/', 1)[-1].removeprefix('urn:evalstats:')}`"
    if "const" in about:
        return f"`{about['const']}`"
    if "enum" in about:
        return ", ".join(f"`{word}`" for word in about["enum"])
    for several in ("anyOf", "oneOf"):
        if several in about:
            return " or ".join(kind(one) for one in about[several])
    named = about.get("type", "any")
    return " or ".join(named) if isinstance(named, list) else str(named)


def cell(text: str) -> str:
    """Return a text fit for the cell of a table."""
    return text.replace("\n", " ").replace("|", "\\|").replace("<", "&lt;")
