"""How many of the last runs does tonight's verdict look at? More than one where the nights before left it open."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from evalstats.contract import GateVerdict
from evalstats.gate import Policy


def carried(
    before: Mapping[str, Any] | None, report: Mapping[str, Any], policy: Policy, group_id: str | None
) -> int:
    """Return how many runs tonight's candidate has: its own and those of nights just before that stayed open.

    An inconclusive verdict asks for another look on another night, up to the ``reruns`` of the policy. A look
    at something else, of another identity, is no further look: then tonight begins anew.

    Parameters
    ----------
    before : mapping, optional
        The verdict of the night before (``gate-result.v1``).
    report : mapping
        The report that tells of tonight's run.
    policy : Policy
        Its ``reruns`` and ``identity``.
    group_id : str, optional
        Tonight's run.
    """
    if before is None or group_id is None or before["verdict"] != GateVerdict.INCONCLUSIVE:
        return 1
    groups = [*before["candidate"], group_id]
    if len(groups) > policy.reruns or group_id in before["candidate"]:
        return 1
    told = {row["group_id"]: row["identity"] for row in report["series"] if row["group_id"] in groups}
    identities = {tuple(told.get(group, {}).get(key) for key in policy.identity) for group in groups}
    return len(groups) if len(identities) == 1 and len(told) == len(groups) else 1
