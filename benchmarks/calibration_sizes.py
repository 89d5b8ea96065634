"""How often does each test reject when nothing is going on? Its size, beside the declared 5%."""

from __future__ import annotations

import zlib
from collections.abc import Callable
from typing import Any

import numpy as np

from evalstats.stats.diagnosis import diagnose
from evalstats.stats.equivalence import non_inferiority, tost
from evalstats.stats.paired_counts import PairedTable, mcnemar_exact
from evalstats.stats.pairs import paired_t_test
from evalstats.stats.results import Test
from evalstats.stats.trial_noise import WithinCases, variance_ratio
from evalstats.stats.worlds import Sample, World
