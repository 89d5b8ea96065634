"""Is it right? Coverage, likeness on pure noise, and what is said where nothing can be said; beside errorbars.

Same data, drawn here; the peer answers in its own environment. Prints one table as JSON. `ratio` has no meaning here.
"""

from __future__ import annotations

import json
import os
import subprocess
from collections.abc import Sequence
from math import isnan, nan
from pathlib import Path
from typing import Any

import numpy as np

from evalstats import stats

PYTHON = Path(__file__).parents[1] / ".venv-peers" / "bin" / "python"
DRAWS, NOISE = 2_000, 400
WORLDS = ((20, 0.9), (50, 0.95), (200, 0.6))  # cases, pass rate; one yes/no trial each


def main() -> None:
    """Draw, ask both, and print."""
    rng = np.random.default_rng(1)
    drawn = {world: (rng.random((DRAWS, world[0])) < world[1]).astype(float) for world in WORLDS}
    noise = [(rng.random(60).tolist(), np.repeat(range(20), 3).tolist()) for _ in range(NOISE)]
    odd = [[1.0] * 10, [1.0, 0.0, nan], [1.0]]
    one_cluster = ([1.0, 0.0, 1.0, 1.0], ["a"] * 4)
    few = [
        (rng.normal(0, 1, 4).repeat(5) + rng.normal(0, 1, 20), np.repeat(range(4), 5)) for _ in range(DRAWS)
    ]
    asked = {
        "means": [values.tolist() for rows in drawn.values() for values in rows] + odd,
        "rates": [values.tolist() for rows in drawn.values() for values in rows],
        "clusters": [one_cluster, *((v.tolist(), c.tolist()) for v, c in few)],
        "icc": noise,
    }
    peer = _peer(asked)
    rows, at = [], 0
    for (cases, rate), values in drawn.items():
        both = (_covered(peer[how][at : at + DRAWS], rate) for how in ("means", "rates"))
        theirs = "mean {}, Wilson {}".format(*both)
        ones = np.ones(cases, int)
        ours = _covered([_ends(stats.pass_rate(row.astype(int), ones)) for row in values], rate)
        rows.append(
            {"what": f"95% interval, {cases} cases, pass rate {rate:g}: covers", "peer": theirs, "ours": ours}
        )
        at += DRAWS
    half = [1.959963984540054 * se for se in peer["clusters"][1:]]
    theirs = _covered([(v.mean() - h, v.mean() + h) for (v, _), h in zip(few, half, strict=True)], 0.0)
    ours = _covered([_ends(stats.case_mean(v, clusters=c)) for v, c in few], 0.0)
    rows.append({"what": "95% interval, 4 clusters of 5: covers", "peer": theirs, "ours": ours})
    mine = [stats.icc(np.array(v), clusters=np.array(c)).estimate for v, c in noise]
    rows.append(
        {
            "what": "likeness within cases on pure noise, mean (0 is right)",
            "peer": f"{np.mean(peer['icc']):+.3f}",
            "ours": f"{np.mean(mine):+.3f}",
        }
    )
    for name, theirs, values in zip(
        ("ten of ten pass", "a score is NaN", "one case"), peer["means"][at:], odd, strict=True
    ):
        rows.append({"what": name, "peer": _told(theirs), "ours": _ours(values)})
    alone = stats.case_mean(one_cluster[0], clusters=one_cluster[1])
    rows.append(
        {"what": "one cluster: standard error", "peer": _told(peer["clusters"][0]), "ours": _why(alone)}
    )
    print(json.dumps({"title": f"Right or wrong, beside errorbars; {DRAWS} draws", "rows": rows}))


def _peer(asked: dict[str, Any]) -> dict[str, Any]:
    environment = {**os.environ, "PYTHONPATH": ""}
    done = subprocess.run(
        [PYTHON, Path(__file__).parent / "peers" / "answers.py"],
        input=json.dumps(asked), stdout=subprocess.PIPE, text=True, check=True, env=environment,
    )  # fmt: skip
    found: dict[str, Any] = json.loads(done.stdout)
    return found


def _ends(estimate: stats.Estimate) -> tuple[float, float]:
    return estimate.conf_low, estimate.conf_high


def _covered(ends: Sequence[Any], truth: float) -> str:
    kept = float(np.mean([low <= truth <= high for low, high in ends]))
    return f"{kept:.3f}"


def _told(said: Any) -> str:
    return (
        said
        if isinstance(said, str)
        else f"[{said[0]:.3g}, {said[1]:.3g}]"
        if isinstance(said, list)
        else f"{said:.3g}"
    )


def _ours(values: list[float]) -> str:
    try:
        found = stats.mean_score(values)
    except ValueError as error:
        return f"ValueError: {error}"
    return _why(found) if isnan(found.conf_low) else f"[{found.conf_low:.3g}, {found.conf_high:.3g}]"


def _why(found: stats.Estimate) -> str:
    return f"none: {found.caveats[0]}" if isnan(found.conf_low) else f"{found.std_error:.3g}"


if __name__ == "__main__":
    main()
