"""A suite: what is asked, how it is scored, and the digests that say what changed.

A suite is read once (:func:`load`), and trusted afterwards. Five digests name its layers, because a
stale hash is only useful when it says *what* is stale.
"""

from evalstats.suite.digests import POLICY_KEYS, SCORING_KEYS, case_hashes, hashes
from evalstats.suite.fixtures import check_fixtures, fixture_problems, is_inside_path, tree_digest
from evalstats.suite.lift_suites import EXPECTATION_IDS, source_pointer
from evalstats.suite.loading import (
    Source,
    find,
    load,
    load_all,
    load_below,
    meaning_problems,
    of_document,
    read,
    repository_root,
    select,
)
from evalstats.suite.model import DEFAULT_TIMEOUT_SECONDS, Case, Dimension, Expectation, Suite, faulty

__all__ = [
    "DEFAULT_TIMEOUT_SECONDS",
    "EXPECTATION_IDS",
    "POLICY_KEYS",
    "SCORING_KEYS",
    "Case",
    "Dimension",
    "Expectation",
    "Source",
    "Suite",
    "case_hashes",
    "check_fixtures",
    "faulty",
    "find",
    "fixture_problems",
    "hashes",
    "is_inside_path",
    "load",
    "load_all",
    "load_below",
    "meaning_problems",
    "of_document",
    "read",
    "repository_root",
    "select",
    "source_pointer",
    "tree_digest",
]
