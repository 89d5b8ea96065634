"""``evalstats lab``: the notebooks in JupyterLab."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from evalstats.cli.options import DEFAULT_DATA, store_path
from evalstats.cli.tables import complain
from evalstats.errors import UsageError


def lab(
    notebook: Annotated[str, typer.Argument(help="Name of a notebook to open, e.g. variance_bands.")] = "",
    root: Annotated[Path, typer.Option(help="Folder that holds data/ and notebooks/.")] = Path(),
    port: Annotated[int, typer.Option(min=0, max=65535, help="Port; 0 lets the system choose.")] = 8888,
    browser: Annotated[bool, typer.Option(help="Open a browser window.")] = True,
) -> int:
    """Open the notebooks in JupyterLab: offline, with this Python and the data in reach.

    Example: evalstats lab variance_bands
    """
    from evalstats.report import lab as room

    if not root.is_dir():
        raise UsageError("is no folder", path=root, field="--root")
    for path in room.prepare(root):
        complain(f"copied {path}")
    if not store_path(root / DEFAULT_DATA, None).exists():
        complain(
            f"no store in {root / DEFAULT_DATA} yet; `make demo` fills one, `evalstats ingest` reads runs"
        )
    return room.open_lab(root, notebook, f"--port={port}", *([] if browser else ["--no-browser"]))
