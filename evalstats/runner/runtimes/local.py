"""The runtimes that ask nobody: a command of the case, or nothing but the files that lie there."""

from __future__ import annotations

from evalstats.runner import commands
from evalstats.runner.process import Ended
from evalstats.runner.runtimes.protocol import Answer, Asked, Room, Runtime, skipped

MISSING = "missing"
_NOTHING = Answer(ran=False)


class Static(Runtime):
    """Runs nothing: what is expected of files is looked for as they are."""

    name = "static"

    async def answer(self, asked: Asked, room: Room) -> Answer:
        """Return an answer that says nothing."""
        return _NOTHING


class Shell(Runtime):
    """Runs the command of the case."""

    name = "shell"

    async def answer(self, asked: Asked, room: Room) -> Answer:
        """Return what the command wrote and how it ended."""
        given = asked.inputs
        argv = commands.argv(given)
        if argv is None:
            return skipped("the case has no command")
        return of_command(await room.run(argv, stdin=given.get("stdin")))


def of_command(ended: Ended) -> Answer:
    """Return how a command ended as the answer."""
    return Answer(
        outcome=ended.outcome,
        reason=ended.reason,
        error_class=ended.error_class,
        text=ended.stdout,
        stderr=ended.stderr,
        exit_code=ended.exit_code,
        duration_s=ended.duration_s,
        leftovers=ended.leftovers,
        may_pass=True,
    )


class Missing(Runtime):
    """Stands where no runtime can be: it says why."""

    name = MISSING

    def __init__(self, reason: str) -> None:
        self._answer = skipped(reason)

    async def answer(self, asked: Asked, room: Room) -> Answer:
        """Return why there is no answer."""
        return self._answer
