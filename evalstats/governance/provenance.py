"""Where does each baseline come from? Its last promotion, and whether the chain of promotions is whole."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from evalstats import contract
from evalstats.errors import EvalstatsError
from evalstats.governance import baselines, chain
from evalstats.governance.promotion import SCHEMA, chain_path
from evalstats.suite import Suite


@dataclass(frozen=True, slots=True, kw_only=True)
class Origin:
    """The baseline of one suite, and how it came to be. ``problems`` say what does not fit together.

    ``chain`` is the file of promotions, which several suites may share; what is wrong with it stands in
    :func:`broken`.
    """

    suite_id: str
    mode: str
    path: Path
    chain: Path
    run_id: str | None = None
    promotion: dict[str, Any] | None = None
    problems: tuple[str, ...] = ()

    def as_record(self) -> dict[str, Any]:
        """Return it as plain data."""
        return {
            "suite_id": self.suite_id,
            "mode": self.mode,
            "baseline_path": str(self.path),
            "run_id": self.run_id,
            "promotion": self.promotion,
            "problems": list(self.problems),
        }


def origins(suites: Iterable[Suite], baselines_dir: Path | None = None) -> list[Origin]:
    """Return the origin of each suite's baseline, in the order of the suites. Problems are told, not raised."""
    return [origin(suite, baselines_dir) for suite in suites]


def broken(found: Iterable[Origin]) -> list[str]:
    """Return what is wrong with the chains of promotions themselves, each said once."""
    chains = [chain.read(path, SCHEMA) for path in sorted({origin.chain for origin in found})]
    return [f"{one.path}: {problem}" for one in chains for problem in one.problems]


def origin(suite: Suite, baselines_dir: Path | None = None) -> Origin:
    """Return where the baseline of one suite comes from, checked against the chain of promotions."""
    path = baselines.locate(suite, baselines_dir)
    promotions = chain.read(chain_path(path), SCHEMA)
    mine = [entry for entry in promotions.entries if entry["suite_id"] == suite.id]
    last = mine[-1] if mine else None
    run_id, unreadable = _run_id(path)
    return Origin(
        suite_id=suite.id,
        mode=suite.document["baseline_policy"]["mode"],
        path=path,
        chain=promotions.path,
        run_id=run_id,
        promotion=last,
        problems=(*unreadable, *_misfits(path, last)),
    )


def _run_id(path: Path) -> tuple[str | None, list[str]]:
    """Return the run behind a baseline, or why it cannot be told."""
    if not path.is_file():
        return None, []
    try:
        return baselines.read(path).run_id, []
    except EvalstatsError as error:
        return None, [f"the baseline cannot be read: {error.message}"]


def _misfits(path: Path, last: dict[str, Any] | None) -> list[str]:
    """Return where the baseline's file and its last promotion do not agree."""
    if not path.is_file():
        return [] if last is None else ["the promoted baseline is gone"]
    if last is None:
        return ["no promotion is on record for the baseline"]
    same = contract.digest(path.read_bytes()) == last["hashes"]["baseline"]
    return [] if same else ["the baseline is not the file that was last promoted"]
