"""``evalstats selfcheck``: does this installation compute what it should?"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from evalstats.cli.options import Json, print_json
from evalstats.cli.tables import print_table, say


def selfcheck(
    out: Annotated[
        Path | None, typer.Option("--out", help="Also write the certificate, as JSON, here.")
    ] = None,
    as_json: Json = False,
) -> int:
    """Work out published numbers again, on this machine.

    Exit 1 when one of them does not come out. The certificate names this version, its packages and the machine.

    Example: evalstats selfcheck --out certificate.json
    """
    from evalstats import contract
    from evalstats.errors import UsageError
    from evalstats.selfcheck import certify

    document = certify()
    if out is not None:
        try:
            out.write_text(contract.readable(document), "utf-8")
        except OSError as error:
            raise UsageError(f"cannot be written: {error.strerror}", path=out) from None
    if as_json:
        print_json(document)
    else:
        rows = [
            [c["name"], c["expected"], c["found"], "yes" if c["passed"] else "NO"] for c in document["checks"]
        ]
        print_table(["number", "printed", "here", "agrees"], rows)
        machine = document["machine"]
        met = document["n_checks"] - document["n_failed"]
        say(
            f"{met} of {document['n_checks']} agree: evalstats {document['evalstats']}, Python {machine['python']},"
            f" {machine['system']} {machine['architecture']}"
        )
    return 0 if document["passed"] else 1
