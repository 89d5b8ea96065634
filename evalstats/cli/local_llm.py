"""``evalstats local-llm``: a small real model on this machine."""

from __future__ import annotations

from typing import Annotated

import typer

from evalstats.cli.tables import complain, say

app = typer.Typer()


@app.callback()
def group() -> None:
    """Keep the verb: a group of one command would swallow it."""


@app.command()
def serve(
    port: Annotated[int, typer.Option(min=0, max=65_535, help="Port; 0 takes a free one.")] = 8080,
    host: Annotated[str, typer.Option(help="Address to listen on: loopback only.")] = "127.0.0.1",
) -> None:
    """Serve the packaged model over the OpenAI protocol, until Ctrl-C.

    Prints the address once the model answers. It is a base model: ask for completions, not for a chat. Needs the
    extra local-llm; exit 3 without it.

    Example: evalstats local-llm serve --port 8080
    """
    from evalstats.runner import local_model

    def told(address: str) -> None:
        complain(f"{local_model.MODEL} is ready; for runs: export OPENAI_BASE_URL={address}; Ctrl-C stops it")
        say(address)

    local_model.serve(port, told, host=host)
