"""What may a run still spend? Reserve before a trial starts, settle when it has ended, in whole blocks.

A block is what both arms do with one case and trial index. It is started as a whole or not at all, so a run that
ends for want of money leaves no arm ahead. What a trial will cost is what its runtime says it costs at most; else
the dearest trial so far; and as long as nothing is known, all that is left: then one block runs alone.
"""

from __future__ import annotations

import asyncio
from collections import defaultdict
from collections.abc import Callable, Iterable

from evalstats.runner.specs import TrialSpec

_ROUNDING = 1e-12  # a sum of prices may exceed their limit by as much
HighestCost = Callable[[TrialSpec], float | None]


class Budget:
    """Keeps the money of one plan.

    ``limit`` and ``spent`` are in US dollars. ``specs`` are the trials that cost something; all others are free.
    ``highest_cost`` says what a trial costs at most, None where there is no saying. ``reason`` is why nothing that
    costs something starts any more.
    """

    def __init__(
        self, limit: float, *, spent: float, specs: Iterable[TrialSpec], highest_cost: HighestCost
    ) -> None:
        self.limit = limit
        self.spent = spent
        self.reason: str | None = None
        self._highest_cost = highest_cost
        self._blocks: dict[tuple[str, int], list[TrialSpec]] = defaultdict(list)
        for spec in specs:
            self._blocks[spec.block].append(spec)
        self._paid = {spec.key for block in self._blocks.values() for spec in block}
        self._admitted: set[str] = set()
        self._held: dict[str, float] = {}  # by trial, from the moment its block is let in until it is settled
        self._dearest: float | None = None
        self._unknown = 0
        self._changed = asyncio.Condition()

    async def admit(self, spec: TrialSpec) -> bool:
        """Wait until the block of a trial can be paid for; return whether it can."""
        if spec.key not in self._paid:
            return True
        async with self._changed:
            while spec.key not in self._admitted and self.reason is None:
                if not self._decide(self._blocks[spec.block]):
                    await self._changed.wait()
            return spec.key in self._admitted

    async def settle(self, spec: TrialSpec, cost: float | None, *, is_free: bool) -> None:
        """Book what a trial cost; what is not known counts as reserved, unless nothing was answered."""
        if spec.key not in self._held:
            return
        async with self._changed:
            reserved = self._held.pop(spec.key)
            if cost is not None:
                self.spent += cost
                self._dearest = max(cost, self._dearest or 0.0) or None
            elif not is_free:
                self.spent += reserved
                self._unknown += 1
            self._changed.notify_all()

    def _decide(self, block: list[TrialSpec]) -> bool:
        """Let a block in, or decide that none is let in any more; return whether either is so."""
        left = self.limit - self.spent - sum(self._held.values())
        costs = [self._expected(spec) for spec in block]
        if None in costs and not self._held:
            costs = [left / len(block)] * len(block)
        known = [cost for cost in costs if cost is not None]
        if left > 0 and len(known) == len(block) and sum(known) <= left * (1 + _ROUNDING):
            self._held.update({spec.key: cost for spec, cost in zip(block, known, strict=True)})
            self._admitted.update(spec.key for spec in block)
            return True
        if self._held:
            return False  # what is settled next may leave enough
        self.reason = self._why(left, sum(known))
        self._changed.notify_all()
        return True

    def _expected(self, spec: TrialSpec) -> float | None:
        highest = self._highest_cost(spec)
        return self._dearest if highest is None else highest

    def _why(self, left: float, needed: float) -> str:
        if self._unknown:
            return f"the budget of {self.limit:g} USD cannot be kept: trials tell no cost; give --prices"
        return f"of the budget of {self.limit:g} USD {max(0.0, left):.4g} are left; a block may cost {needed:.4g}"
