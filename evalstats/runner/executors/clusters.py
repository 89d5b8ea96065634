"""How to come to a dask cluster: one that is there, by address or scheduler file, or one that is made for a run."""

from __future__ import annotations

import asyncio
import contextlib
import importlib
import logging
import os
import time
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from evalstats.errors import AdapterError
from evalstats.runner.executors import hosts

PATIENCE_SECONDS = 60.0  # how long there may be no scheduler or no worker, at the beginning or later
DEATHS = 1  # of workers at one trial, after which it is tried once more; on a cluster of our own
OPTION = "--executor"


@dataclass(frozen=True, slots=True)
class Connection:
    """A client of a cluster. ``mend`` brings back workers that are missing, where that is for us to do."""

    client: Any
    mend: Callable[[], None]


@contextlib.contextmanager
def _quietly() -> Iterator[None]:
    """Keep the engine from telling of each worker that comes or goes: what it cost is told in the end."""
    logger = logging.getLogger("distributed")
    before = logger.level
    logger.setLevel(logging.CRITICAL)
    try:
        yield
    finally:
        logger.setLevel(before)


@asynccontextmanager
async def connected(address: str | None, jobs: int) -> AsyncIterator[Connection]:
    """Yield the cluster at an address or in a scheduler file, else one that is made for ``jobs`` trials.

    Raises AdapterError where dask is not installed, or no scheduler answers.
    """
    with _quietly():
        distributed = engine()
        made = _made(distributed, jobs) if address is None else _found(distributed, address)
        async with made as connection:
            yield connection


def engine() -> Any:
    """Return the package ``distributed``. Raises AdapterError where it is not installed."""
    try:
        return importlib.import_module("distributed")
    except ImportError:
        missing = "dask is not installed; install the extra: pip install 'evalstats-notebooks[dask]'"
        raise AdapterError(missing, field=OPTION) from None


@asynccontextmanager
async def _found(distributed: Any, address: str) -> AsyncIterator[Connection]:
    is_address = "://" in address
    given: dict[str, Any] = {"address": address} if is_address else {"scheduler_file": address}
    if not is_address and not await _appears(Path(address)):
        raise AdapterError("there is no such scheduler file", path=address, field=OPTION)
    try:
        client = await distributed.Client(**given, asynchronous=True, timeout=PATIENCE_SECONDS)
    except (OSError, ValueError) as error:
        raise AdapterError(f"no scheduler answers at {address}: {error}", field=OPTION) from None
    try:
        yield Connection(client, lambda: None)
    finally:
        await client.close()


async def _appears(file: Path) -> bool:
    """Return whether a file is there, or comes to be: a scheduler that was just started has yet to write it."""
    give_up = time.monotonic() + PATIENCE_SECONDS
    while not file.is_file() and time.monotonic() < give_up:
        await asyncio.sleep(0.2)
    return file.is_file()


@asynccontextmanager
async def _made(distributed: Any, jobs: int) -> AsyncIterator[Connection]:
    """Yield workers of our own: processes on loopback, with room for so many trials, and no dashboard."""
    processes = min(jobs, os.cpu_count() or 1)
    cluster = distributed.LocalCluster(
        n_workers=processes,
        threads_per_worker=-(-jobs // processes),
        processes=True,
        host="127.0.0.1",
        dashboard_address="127.0.0.1:0",
        scheduler_kwargs={"dashboard": False, "allowed_failures": DEATHS},
        memory_limit=0,
        preload=[hosts.__name__],
        silence_logs=logging.CRITICAL,
        asynchronous=True,
    )
    async with cluster, distributed.Client(cluster, asynchronous=True) as client:
        # A worker that dies is started again, but one that dies while it starts is not: that is seen to here.
        yield Connection(client, lambda: cluster.scale(processes))
