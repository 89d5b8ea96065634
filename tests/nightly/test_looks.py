"""How many runs tonight's verdict looks at: an open answer is carried on, within the policy and one identity."""

import pytest

from evalstats.gate import policy_of
from evalstats.nightly import carried

POLICY = policy_of(
    {
        "schema_version": 1,
        "suite": "door",
        "rule": "three-verdict",
        "statistic": "pass_rate",
        "margin": 0.1,
        "alpha": 0.05,
        "reruns": 3,
        "history": {"minimum": 8, "window": 28},
    }
)


def report(**registry):
    return {"series": [{"group_id": n, "identity": {"registry_version": r}} for n, r in registry.items()]}


def verdict(word, *candidate):
    return {"verdict": word, "candidate": list(candidate)}


@pytest.mark.parametrize(
    ("before", "group", "looks"),
    [
        (None, "n4", 1),
        (verdict("pass", "n3"), "n4", 1),
        (verdict("regression", "n3"), "n4", 1),
        (verdict("cannot_gate", "n3"), "n4", 1),
        (verdict("inconclusive", "n3"), "n4", 2),
        (verdict("inconclusive", "n2", "n3"), "n4", 3),
        (verdict("inconclusive", "n1", "n2", "n3"), "n4", 1),  # three looks are all that the policy allows
        (verdict("inconclusive", "n3"), None, 1),
        (verdict("inconclusive", "n4"), "n4", 1),  # the same run is no second look
        (verdict("inconclusive", "gone"), "n4", 1),  # nor one that the report does not tell of
    ],
)
def test_an_open_answer_is_carried_on(before, group, looks):
    assert carried(before, report(n1="r", n2="r", n3="r", n4="r"), POLICY, group) == looks


def test_another_identity_begins_anew():
    open_answer = verdict("inconclusive", "n3")
    assert carried(open_answer, report(n3="r1", n4="r2"), POLICY, "n4") == 1
    assert carried(open_answer, report(n3="r1", n4="r1"), POLICY, "n4") == 2
