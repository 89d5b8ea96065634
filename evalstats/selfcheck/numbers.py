"""Numbers from outside, and the call that must give them. Each counts as met to the last digit its source prints."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from math import sqrt
from typing import Any, Literal

import numpy as np

from evalstats import stats
from evalstats.stats import Estimate

_RATINGS = [[9, 2, 5, 8], [6, 1, 3, 2], [8, 4, 6, 8], [7, 1, 2, 6], [10, 5, 6, 9], [6, 2, 4, 7]]
_DYESTUFF = [
    1545, 1440, 1440, 1520, 1580, 1540, 1555, 1490, 1560, 1495, 1595, 1550, 1605, 1510, 1560,
    1445, 1440, 1595, 1465, 1545, 1595, 1630, 1515, 1635, 1625, 1520, 1455, 1450, 1480, 1445,
]  # fmt: skip
_P_VALUES = [
    0.0001, 0.0004, 0.0019, 0.0095, 0.0201, 0.0278, 0.0298, 0.0344,
    0.0459, 0.3240, 0.4262, 0.5719, 0.6528, 0.7590, 1.0,
]  # fmt: skip
_FOUR_UNITS = [[1, 1, 1], [0, 0, 0], [1, 1, 1], [0, 0, 1]]


@dataclass(frozen=True, slots=True)
class Check:
    """A number as its source prints it, and the call that must give it."""

    name: str
    source: str
    expected: str
    call: Callable[[], Any]

    def tried(self) -> tuple[str, bool]:
        """Return what came out, with two digits more than were asked for, and whether it agrees."""
        found, wanted = float(self.call()), float(self.expected)
        decimals = len(self.expected.partition(".")[2])
        room = 0.5 * 10.0**-decimals * (1 + 1e-9)  # half of the last printed digit
        return f"{found:.{decimals + 2}f}", abs(found - wanted) <= room


# --- how a number is read from what a method returns -----------------------------------------------


def _low(method: Callable[..., Estimate], *given: Any) -> float:
    return method(*given).conf_low


def _high(method: Callable[..., Estimate], *given: Any) -> float:
    return method(*given).conf_high


def _point(method: Callable[..., Estimate], *given: Any, **named: Any) -> float:
    return method(*given, **named).estimate


def _rejected(adjust: Callable[[Any], Any]) -> int:
    return int((adjust(_P_VALUES) <= 0.05).sum())


def _factor(
    n: int, band: Callable[..., Estimate], end: Literal["low", "high"] = "low", **named: Any
) -> float:
    """Return how many standard deviations a band reaches from the mean of n runs."""
    runs = np.arange(n, dtype=float)
    found, centre, spread = band(runs, **named), float(runs.mean()), float(runs.std(ddof=1))
    return (found.conf_high - centre if end == "high" else centre - found.conf_low) / spread


def _dyestuff(level: Literal["case", "trial"]) -> float:
    found = stats.variance_components(_DYESTUFF, cases=np.repeat(range(6), 5))
    return (found.case if level == "case" else found.trial).estimate


def _deviation(first: float, low: float, high: float) -> float:
    """Return the standard deviation of a NumAcc set: one value, then a thousand that take turns."""
    return stats.case_mean([first, *[low, high] * 500]).std_error * sqrt(1001)


NEWCOMBE = "Newcombe (1998) Stat. Med. 17:857, table I"
DIFFERENCE = "Newcombe (1998) Stat. Med. 17:873, table II"
ROBBINS = "Robbins (1970), uniform mixture"
BH = "Benjamini, Hochberg (1995), section 3.1"
HANDBOOK = "NIST/SEMATECH e-Handbook, 7.2.6.3"
SHROUT = "Shrout, Fleiss (1979) Psychol. Bull. 86:420, table 4"
DYESTUFF = "Davies, Goldsmith (1972); REML by R lme4"
STRD = "NIST StRD, certified value"
PLANNING = "Fleiss, Levin, Paik (2003), chapter 4"
SUCCESS = "success-run tables at 95%"

CHECKS = (
    Check("Wilson 81 of 263, low", NEWCOMBE, "0.2553", partial(_low, stats.wilson, 81, 263)),
    Check("Wilson 81 of 263, high", NEWCOMBE, "0.3662", partial(_high, stats.wilson, 81, 263)),
    Check("Wilson 0 of 20, low", NEWCOMBE, "0", partial(_low, stats.wilson, 0, 20)),
    Check("Wilson 0 of 20, high", NEWCOMBE, "0.1611", partial(_high, stats.wilson, 0, 20)),
    Check("exact 81 of 263, low", NEWCOMBE, "0.2527", partial(_low, stats.clopper_pearson, 81, 263)),
    Check("exact 81 of 263, high", NEWCOMBE, "0.3676", partial(_high, stats.clopper_pearson, 81, 263)),
    Check("56/70 less 48/80, low", DIFFERENCE, "0.0524", partial(_low, stats.newcombe, (56, 70), (48, 80))),
    Check("56/70 less 48/80, high", DIFFERENCE, "0.3339", partial(_high, stats.newcombe, (56, 70), (48, 80))),
    Check("any look, 80 of 100, low", ROBBINS, "0.6518", partial(_low, stats.confidence_sequence, 80, 100)),
    Check("any look, 80 of 100, high", ROBBINS, "0.9072", partial(_high, stats.confidence_sequence, 80, 100)),
    Check("pass@5 of 3 in 10", "Chen et al. (2021)", "0.916667", partial(_point, stats.pass_at_k, [3], [10], k=5)),
    Check("pass^2 of 3 in 4", "Yao et al. (2024)", "0.5", partial(_point, stats.pass_hat_k, [3], [4], k=2)),
    Check("rejected by Benjamini-Hochberg", BH, "4", partial(_rejected, stats.benjamini_hochberg)),
    Check("rejected by Holm", BH, "3", partial(_rejected, stats.holm)),
    Check(
        "tolerance factor of 43, both sides", HANDBOOK, "2.217",
        partial(_factor, 43, stats.tolerance_band, content=0.90, side="both", level=0.99),
    ),
    Check(
        "tolerance factor of 43, one side", HANDBOOK, "1.8740",
        partial(_factor, 43, stats.tolerance_band, content=0.90, side="lower", level=0.99),
    ),
    Check(
        "tolerance factor of 10, one side", "Odeh, Owen (1980), one-sided factors", "2.911",
        partial(_factor, 10, stats.tolerance_band, "high", content=0.95, side="upper", level=0.95),
    ),
    Check("prediction factor of 10", "Hahn (1970)", "2.3726", partial(_factor, 10, stats.prediction_band, level=0.95)),
    Check("ICC(1,1)", SHROUT, "0.166", partial(_point, stats.rater_icc, _RATINGS, model="ICC(1,1)")),
    Check("ICC(2,1)", SHROUT, "0.290", partial(_point, stats.rater_icc, _RATINGS, model="ICC(2,1)")),
    Check("ICC(3,1)", SHROUT, "0.715", partial(_point, stats.rater_icc, _RATINGS, model="ICC(3,1)")),
    Check("alpha of four units", "1 - 132/420", "0.685714", partial(_point, stats.krippendorff_alpha, _FOUR_UNITS)),
    Check("Dyestuff, between batches", DYESTUFF, "1764.05", partial(_dyestuff, "case")),
    Check("Dyestuff, within batches", DYESTUFF, "2451.25", partial(_dyestuff, "trial")),
    Check("deviation of NumAcc2", STRD, "0.100000000", partial(_deviation, 1.2, 1.1, 1.3)),
    Check("deviation of NumAcc3", STRD, "0.100000000", partial(_deviation, 1e6 + 0.2, 1e6 + 0.1, 1e6 + 0.3)),
    Check("run length, Shewhart", "Montgomery, chapter 5", "370.4", stats.shewhart_run_length),
    Check(
        "run length, EWMA, shift 1", "Crowder (1987), table 1", "4.91",
        partial(stats.ewma_run_length, weight=0.5, limit=2, shift=1),
    ),
    Check(
        "run length, CUSUM, shift 1", "Lucas, Crosier (1982), table 1", "8.38",
        partial(stats.cusum_run_length, k=0.5, h=4, shift=1),
    ),
    Check("trials to see .03 from .5", PLANNING, "4361", partial(stats.n_required, 0.5, 0.03)),
    Check("trials to see .15 from .5", PLANNING, "175", partial(stats.n_required, 0.5, 0.15)),
    Check("trials to see .1 from .8", PLANNING, "252", partial(stats.n_required, 0.8, 0.1)),
    Check("clean runs, flakes below 10%", SUCCESS, "29", partial(stats.zero_failure_runs, 0.10)),
    Check("clean runs, flakes below 5%", SUCCESS, "59", partial(stats.zero_failure_runs, 0.05)),
    Check("clean runs, flakes below 1%", SUCCESS, "299", partial(stats.zero_failure_runs, 0.01)),
)  # fmt: skip
