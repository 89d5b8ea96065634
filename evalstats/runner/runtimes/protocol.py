"""What a runtime is asked, what it may use, and what it answers."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Protocol

from evalstats.contract import Arm, Outcome
from evalstats.runner.prices import Price, Tokens
from evalstats.suite import Case

if TYPE_CHECKING:
    from evalstats.runner.process import Ended


@dataclass(slots=True, kw_only=True, eq=False)  # not frozen, for the same reason as `Answer`
class Asked:
    """One attempt at one trial.

    ``inputs`` are those of the case, overruled by those of the arm. ``prompt`` is the whole text, what the arm adds
    included; None where the case has none. ``progress`` tells how far the run is: 0 at its first trial, 1 at its
    last. Everything random comes from ``seed`` and ``attempt``.
    """

    case: Case
    arm: Arm
    trial_index: int
    attempt: int
    seed: int
    progress: float
    inputs: Mapping[str, Any]
    prompt: str | None
    model: str | None
    timeout_s: float


@dataclass(frozen=True, slots=True, kw_only=True)
class ApiError:
    """One request that the service behind a runtime refused; ``status`` is that of HTTP where it is known."""

    status: int | None = None
    error: str | None = None
    retry_after_s: float | None = None


@dataclass(slots=True, kw_only=True, eq=False)  # not frozen: a frozen one costs three times as much to make
class Answer:
    """What came of one attempt. What a runtime does not know stays None.

    ``outcome`` other than ``ok`` needs a ``reason``. ``text`` is what expectations read as stdout, ``transcript``
    the whole record of what happened, as it came. ``tokens.sent`` counts all that went in, what was read from a
    cache included. ``skills`` are the names of all skills and plugins that were there. ``may_pass`` says that an
    infrastructure failure is worth another attempt. ``folder`` is where files are looked for, if not in that of
    the suite.
    """

    outcome: Outcome = Outcome.OK
    reason: str | None = None
    error_class: str | None = None
    ran: bool = True
    text: bytes = b""
    stderr: bytes = b""
    transcript: bytes = b""
    exit_code: int | None = None
    duration_s: float | None = None
    leftovers: int | None = None
    tokens: Tokens | None = None
    cost: float | None = None
    cost_source: str | None = None
    tool_calls: int | None = None
    stop_reason: str | None = None
    model: str | None = None
    version: str | None = None
    api_errors: Sequence[ApiError] = ()
    skills: frozenset[str] | None = None
    usage: Mapping[str, Any] = field(default_factory=dict)
    may_pass: bool = False
    retry_after_s: float | None = None
    folder: str | None = None

    def __post_init__(self) -> None:
        if type(self.outcome) is not Outcome:
            self.outcome = Outcome(self.outcome)
        if self.outcome is not Outcome.OK and not self.reason:
            raise ValueError(f"an answer that is {self.outcome} needs a reason")
        if type(self.text) is not bytes:
            raise TypeError("the text of an answer is bytes")


class Room(Protocol):
    """What a runtime may use while it answers.

    ``folder`` is where the case runs, ``home`` the trial's own HOME, ``lent`` the values of the variables that the
    runtime borrows, as far as they are set. ``turns`` is the limit of ``--max-rpm``, taken per request by a
    runtime that ``paces_itself``.
    """

    @property
    def folder(self) -> str: ...  # noqa: D102
    @property
    def home(self) -> str: ...  # noqa: D102
    @property
    def path(self) -> str: ...  # noqa: D102
    @property
    def lent(self) -> Mapping[str, str]: ...  # noqa: D102
    @property
    def turns(self) -> AbstractAsyncContextManager[Any]: ...  # noqa: D102

    async def run(
        self,
        argv: Sequence[str],
        *,
        stdin: str | None = None,
        env: Mapping[str, str] | None = None,
        cwd: str | None = None,
    ) -> Ended:
        """Run a command in the environment of the trial, with ``lent`` and ``env`` on top, to its end."""
        ...

    def workspace(self) -> str:
        """Return a folder of the trial's own to work in, filled with what the case names as ``workspace``."""
        ...


class Runtime(Protocol):
    """Carries cases out. One object serves all trials of a run, several at once.

    ``is_live``: asks a model, and so gets the sentence of the skill-off arm. ``is_mock``: what it says is made up.
    ``borrows`` names the variables of the outside, credentials among them, that it is given and nobody else.
    """

    name: str = ""
    is_live: bool = False
    is_mock: bool = False
    borrows: tuple[str, ...] = ()
    paces_itself: bool = False

    async def answer(self, asked: Asked, room: Room) -> Answer:
        """Carry out one attempt; where it cannot be for want of something, the answer is `skipped`."""
        ...

    def faults(self, inputs: Mapping[str, Any]) -> Iterable[tuple[str, str]]:
        """Yield (input, what is wrong with it) for inputs of a case that cannot be carried out."""
        return ()

    def needs_network(self, room: Room) -> bool:
        """Return whether the runtime talks to another machine."""
        return self.is_live

    def highest_cost(self, asked: Asked, price: Price | None) -> float | None:
        """Return what one attempt costs at most, in US dollars; None where there is no saying."""
        return None

    async def close(self) -> None:
        """Give back what is open, when the run ends."""
        return None


def skipped(reason: str) -> Answer:
    """Return the answer of a runtime that lacks what it needs: auth, a program, a model, the network."""
    return Answer(outcome=Outcome.SKIPPED, reason=reason, ran=False)
