"""Suites and their baselines: what the audit notebook reads, shows and concludes.

A notebook asks for the audit of a folder. While a report is built it gets the audit that the builder froze beside
it, so that the report stands on digested inputs and the notebook needs neither the repository nor its history.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from evalstats import contract
from evalstats.errors import UsageError
from evalstats.report import tables
from evalstats.report.tables import Column, Table

if TYPE_CHECKING:
    import pandas as pd

    from evalstats.report.canvas import Figure
    from evalstats.report.draft import Draft
    from evalstats.report.provenance import Job

SUITES, BASELINES = "suites", "baselines"  # by the first a notebook says that it reads an audit
FROZEN = "audit.json"


def read_audit(suites: str, baselines: str = "", *, git: bool = False) -> dict[str, Any]:
    """Return the audit of a folder of suites (schema ``baseline-audit.v1``), or the one frozen in a file.

    Folders are looked for in the working folder and the folders above it; ``baselines`` is a flat folder, empty
    where baselines lie beside their suites. ``git`` looks old suite files up in the history.
    """
    place = _find(suites)
    if place.is_file():
        document, text = contract.read_json(place)
        contract.validate(document, "baseline-audit.v1", path=place, text=text)
        return dict(document)
    from evalstats.governance.audit import audit_baselines

    return audit_baselines(place, _find(baselines) if baselines else None, git=git).as_record()


def freeze(job: Job, folder: Path) -> Job:
    """Audit what the job's parameters name, keep the answer in ``folder``, and let the notebook read that."""
    given = job.parameters
    audit = read_audit(str(given[SUITES]), str(given.get(BASELINES, "")), git=bool(given.get("git", False)))
    folder.mkdir()
    (folder / FROZEN).write_text(contract.readable(audit), "utf-8")
    digests = {**audit["inputs"], "audit": contract.canonical_digest(audit)}
    values = {**given, SUITES: f"{folder.name}/{FROZEN}"}
    if BASELINES in given:
        values[BASELINES] = ""  # a path of this machine, and no longer needed
    return replace(job, parameters=values, inputs=digests)


def _find(place: str) -> Path:
    for folder in (Path.cwd(), *Path.cwd().parents):
        if (folder / place).exists():
            return folder / place
    raise UsageError("no such folder here or above", path=place, field=SUITES)


# --- what is shown ---------------------------------------------------------------------------------


def lists_table(audit: Mapping[str, Any]) -> Table:
    """Return how many findings stand in each list, what they mean and what to do about each."""
    from evalstats.governance.audit_record import WAYS_OUT

    rows = [
        {"list": kind, "meaning": _MEANING[kind], "count": len(audit[kind]), "way_out": way_out}
        for kind, way_out in WAYS_OUT.items()
    ]
    columns: list[Column | str] = ["meaning", "count", Column("way_out", "What to do", "text")]
    return Table("lists", "What was looked for, and what to do about each", _frame(rows), columns)


def layers_table(audit: Mapping[str, Any]) -> Table:
    """Return how many baselines were run on a suite that differs in each layer, and what that means."""
    rows = [
        {"changed": layer, "baselines": count, "meaning": _LAYERS[layer]}
        for layer, count in audit["staleness_counts"].items()
    ]
    return Table("layers", "What a changed layer means for a comparison", _frame(rows))


def stale_table(audit: Mapping[str, Any]) -> Table:
    """Return the suites that changed since their baseline was run, and what proves it."""
    rows = _found(audit, ["stale_suite_hashes"])
    return Table(
        "stale", "Suites that changed, and what proves it", _frame(rows), ["severity", "about", "why"]
    )


def findings_table(audit: Mapping[str, Any]) -> Table:
    """Return every other finding."""
    rows = _found(audit, [kind for kind in _MEANING if kind != "stale_suite_hashes"])
    columns = ["severity", "about", "finding", "why"]
    return Table("findings", "Every other finding", _frame(rows), columns)


def _found(audit: Mapping[str, Any], kinds: Sequence[str]) -> list[dict[str, Any]]:
    """Return the findings of these lists, the worst first."""
    worst_first = ["error", "warning", "info"]
    rows = [
        {
            "severity": item["severity"],
            "about": _subject(item),
            "finding": _MEANING[kind],
            "why": _why(item),
            **item,
        }
        for kind in kinds
        for item in audit[kind]
    ]
    return sorted(rows, key=lambda row: worst_first.index(str(row["severity"])))


def bare_table(audit: Mapping[str, Any]) -> Table:
    """Return the suites without a baseline, wanted or not."""
    rows = [{"suite": _subject(bare), "mode": bare["mode"]} for bare in audit["suites_without_baseline"]]
    return Table("without-baseline", "Suites without a baseline", _frame(rows), ["suite", "mode"])


def staleness_bars(audit: Mapping[str, Any]) -> Figure:
    """Draw how many baselines still speak of their suite as it is, by what changed since."""
    from evalstats.report.counts import count_bars

    counts = audit["staleness_counts"]
    return count_bars(
        counts,
        apart=("fresh",),
        name="staleness",
        title="Baselines, by what changed in their suite since",
        reading=_staleness_sentence(counts) or tables.NOTHING,
    )


def _frame(rows: Sequence[Mapping[str, Any]]) -> pd.DataFrame:
    import pandas as pd

    flat = [{k: ", ".join(v) if isinstance(v, list) else v for k, v in row.items()} for row in rows]
    return pd.DataFrame(flat)


def _subject(item: Mapping[str, Any]) -> str:
    return str(item.get("suite_id") or item.get("baseline_path") or item.get("suite_path"))


def _why(item: Mapping[str, Any]) -> str:
    if "staleness" in item:
        return f"{item['staleness']} ({item['evidence']})"
    return str(item.get("problem") or ("" if "suite_path" in item else item.get("baseline_path", "")))


# --- what is said ----------------------------------------------------------------------------------


def subject(audit: Mapping[str, Any]) -> str:
    """Return the address of the report: the name of the folder of suites."""
    name = str(audit["suites"]).rpartition("/")[2].lower()
    return re.sub(r"[^a-z0-9._-]+", "-", name).strip("-._") or "suites"


def say_audit(draft: Draft, audit: Mapping[str, Any]) -> None:
    """Put the finding, the headline, the methods, the caveats and the data into the audit notebook's draft."""
    draft.finding(audit_finding(audit))
    for card in _cards(audit):
        draft.headline(*card)
    for title, text in METHODS.items():
        draft.method(title, text)
    draft.caveat(*audit["notes"], *_caveats(audit))
    draft.data(**_facts(audit))


def audit_finding(audit: Mapping[str, Any]) -> str:
    """Say whether every suite has what its policy asks for, and which baselines can still be compared with."""
    said = [_policy_sentence(audit), _staleness_sentence(audit["staleness_counts"]), _files_sentence(audit)]
    return " ".join(sentence for sentence in said if sentence)


def _policy_sentence(audit: Mapping[str, Any]) -> str:
    broken = [f"{len(audit[kind])} {words}" for kind, words in _POLICY.items() if audit[kind]]
    suites = tables.some(audit["suite_count"], "suite")
    if not broken:
        return f"Each of {suites} keeps its baseline policy, and no baseline is without a suite."
    return f"Over {suites} and {tables.some(audit['baseline_count'], 'baseline')}: {', '.join(broken)}."


def _staleness_sentence(counts: Mapping[str, int]) -> str:
    total, fresh = sum(counts.values()), counts["fresh"]
    if not total:
        return ""
    kept = f"{fresh} of {tables.some(total, 'baseline')} {'speaks' if fresh == 1 else 'speak'} of the suite as it is"
    known = [f"{n} in {layer}" for layer, n in counts.items() if n and layer not in ("fresh", "unknown")]
    moved = [*known, *([f"{counts['unknown']} in an unknown way"] if counts["unknown"] else [])]
    return f"{kept}; what changed under the rest: {', '.join(moved)}." if moved else f"{kept}."


def _files_sentence(audit: Mapping[str, Any]) -> str:
    wrong = [f"{len(audit[kind])} {words}" for kind, words in _FILES.items() if audit[kind]]
    return f"Among the files: {', '.join(wrong)}." if wrong else ""


def _cards(audit: Mapping[str, Any]) -> list[tuple[str, str, str]]:
    counts = audit["staleness_counts"]
    stale, total = sum(counts.values()) - counts["fresh"], sum(counts.values())
    policy = ", ".join(f"{len(audit[kind])} {kind.partition('_')[0]}" for kind in _POLICY)
    bare = f"{len(audit['suites_without_baseline'])} without a baseline"
    wrong = sum(len(audit[kind]) for kind in _FILES)
    return [
        ("Stale baselines", str(stale), f"of {total} held against their suite"),
        ("Policy mismatches", str(audit["policy_mismatch_count"]), policy),
        ("Suites", str(audit["suite_count"]), bare),
        ("Baselines", str(audit["baseline_count"]), f"{tables.some(wrong, 'file')} to look at"),
    ]


def _caveats(audit: Mapping[str, Any]) -> Iterator[str]:
    unknown, private = audit["staleness_counts"]["unknown"], audit["private_count"]
    if unknown:
        those = tables.some(unknown, "stale baseline")
        yield f"What changed since {those} is not known; a search of the git history may tell."
    if private:
        yield f"{tables.some(private, 'private suite')} not looked at: no number here counts them."


def _facts(audit: Mapping[str, Any]) -> dict[str, Any]:
    """Return the facts of a report's data: a baseline is a run, and no trial was looked at."""
    return {
        "suite_id": str(audit["suites"]),
        "n_runs": audit["baseline_count"],
        "n_cases": audit["case_count"],
        "n_trials": 0,
        "usable": 0,
        "excluded": {},
        "case_ids": [],
        "input_sha256": contract.canonical_digest(audit["inputs"]),
        "contains_mock": audit["mock_count"] > 0,
    }


_POLICY = {
    "missing_compare_baselines": "missing where the suite compares",
    "unexpected_baselines_for_none": "present where the suite wants none",
    "orphan_baselines": "of no suite",
}
_FILES = {
    "unloadable_baselines": "unreadable",
    "filename_mismatch": "of another suite than its name says",
    "shadowed_promotions": "where nothing looks",
    "schema_invalid_suites": "that breaks the schema of suites",
}
_MEANING = {
    "missing_compare_baselines": "compares with a baseline, and has none",
    "unexpected_baselines_for_none": "wants no baseline, and has one",
    "orphan_baselines": "baseline of no suite",
    "stale_suite_hashes": "suite changed since its baseline was run",
    "unloadable_baselines": "baseline cannot be read",
    "filename_mismatch": "record of another suite than its name says",
    "shadowed_promotions": "record that lies where nothing looks",
    "schema_invalid_suites": "suite breaks its schema",
}
_LAYERS = {
    "fresh": "the suite is the one that was run: compare",
    "formatting": "nothing was said differently: compare, and renew the digest when it suits",
    "metadata": "names, owners or descriptions changed, nothing that is scored: compare",
    "policy": "the same scores are judged by other tolerances: compare, by the new policy",
    "scoring": "cases, checks, weights, environment or fixtures changed: run and promote again before comparing",
    "case-set": "cases came or went: only the common ones can be compared",
    "unknown": "nothing proves what changed: do not compare before it is known",
}
METHODS = {
    "What is counted": (
        "A suite of mode compare must have a baseline where it looks for one, a suite of mode none must not, and a"
        " promotable one may. Policy mismatches are what is missing, what is unexpected and what belongs to no"
        " suite. Stale baselines are counted apart, since a suite may keep its policy and have moved all the same."
    ),
    "How staleness is known": (
        "A baseline carries the digest of the suite file that was run. Newer ones carry a digest for each layer, and"
        " these name what changed. For the others there are three witnesses: the old file, found by its digest in"
        " the git history (git = True); the recorded cases, which show whether the case set changed; and the"
        " recorded checks, which show whether expectations did. Where none proves anything, it is unknown."
    ),
    "What fresh does not say": (
        "A baseline that carries one digest alone is fresh when the suite file is the same. Whether a fixture"
        " changed under it cannot be seen from such a record."
    ),
}
