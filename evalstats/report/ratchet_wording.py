"""What the ratchet notebook concludes, in words computed from a readiness record."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

from evalstats import contract
from evalstats.report import tables
from evalstats.report.ratchets import BY_CANARIES, READY

if TYPE_CHECKING:
    from evalstats.report.draft import Draft


def say_readiness(draft: Draft, record: Mapping[str, Any]) -> None:
    """Put the finding, the headline, the methods, the caveats and the data into the draft."""
    draft.finding(finding(record))
    for card in _cards(record):
        draft.headline(*card)
    for title, text in METHODS.items():
        draft.method(title, text)
    draft.caveat(*(_sentence(text) for text in (*record["notes"], *record["left_out"])))
    draft.data(
        suite_id=record["suite"],
        n_runs=len(record["runs"]),
        n_cases=0,
        n_trials=0,
        usable=0,
        excluded={},
        case_ids=[],
        input_sha256=contract.canonical_digest(record),
        contains_mock=False,  # a mock run is never accepted
    )


def finding(record: Mapping[str, Any]) -> str:
    """Say whether the suite may block, what stands against it and how long it will take."""
    suite = record["suite"]
    if record["state"] == READY:
        return f"{suite} is ready to block. {_sentence(_would_see(record))}"
    against = [tables.visible(reason) for reason in record["reasons"]]
    taken_back = (
        "was taken back, and is not ready again" if record["state"] == "REVOKED" else "is not ready to block"
    )
    return f"{suite} {taken_back}: {'; '.join(against)}. {_sentence(_more(record))}"


def _would_see(record: Mapping[str, Any]) -> str:
    if record["way"] == BY_CANARIES:
        seen = record["canaries"]
        clean = tables.some(seen["n_clean"], "run")
        return f"its canaries were clean in {clean}, so at most {_high(seen)} of runs fail one"
    noise = record["noise"]
    return (
        f"a drop of {tables.number(noise['detectable'])} is seen {tables.percent(record['power'])} of the time even"
        f" if its noise is at the upper bound, and the margin is {record['margin']:g}"
    )


def _more(record: Mapping[str, Any]) -> str:
    runs, days = record["more_runs"], record["more_days"]
    if runs is None:
        return (
            "as it stands, no number of further runs is enough: less noise is, from more cases or more trials"
        )
    unit = "clean run" if record["way"] == BY_CANARIES else "run"
    told = f"if nothing changes it takes {tables.some(runs, f'more {unit}')}"
    return told + (f", over {tables.some(days, 'more day')}" if days else "")


def _cards(record: Mapping[str, Any]) -> Iterator[tuple[str, str, str]]:
    more = record["more_runs"]
    needs = (
        "no number of further runs is enough" if more is None else f"{tables.some(more, 'more run')} needed"
    )
    state = record["state"].lower().replace("_", " ")
    yield (f"May {record['suite']} block?", state, f"{record['standing']} now; {needs}")
    if record["way"] == BY_CANARIES:
        yield from _canary_cards(record["canaries"])
    else:
        yield from _noise_cards(record)


def _canary_cards(seen: Mapping[str, Any] | None) -> Iterator[tuple[str, str, str]]:
    if seen is None:
        yield ("Clean runs", tables.missing(), "no canary was run")
        return
    yield (
        "Clean runs",
        tables.count(seen["n_clean"]),
        f"of {seen['n_runs']}; {seen['clean_runs_needed']} are needed",
    )
    yield ("Runs that fail a canary", f"≤ {_high(seen)}", f"a bound at {tables.percent(seen['flake_level'])}")


def _noise_cards(record: Mapping[str, Any]) -> Iterator[tuple[str, str, str]]:
    noise, margin = record["noise"], f"{record['margin']:g}"
    at = {share["drop"]: share for share in record["curve"]}
    if not at or noise["detectable"] is None:
        yield ("Drop that is seen", tables.missing(), "the noise is not known")
        return
    yield ("Drop that is seen", tables.number(noise["detectable"]), f"the margin is {margin}")
    unchanged, dropped = at[min(at)], at[min(at, key=lambda drop: abs(drop - record["margin"]))]
    yield ("Blocks an unchanged suite", *_shares(unchanged))
    yield (f"Blocks a drop of {margin}", *_shares(dropped))


def _shares(at: Mapping[str, float]) -> tuple[str, str]:
    return tables.percent(at["block"]), f"{tables.percent(at['block_at_bound'])} if the noise is at its bound"


def _high(seen: Mapping[str, Any]) -> str:
    high = seen["flake_high"]
    return tables.percent(1.0 if high is None else high)


# --- the sections --------------------------------------------------------------------------------


def conditions_text(record: Mapping[str, Any]) -> str:
    """Say what stands against blocking, all of it."""
    if not record["reasons"]:
        return "Nothing stands against it."
    return (
        f"Against it stand {tables.some(len(record['reasons']), 'reason')}: {'; '.join(record['reasons'])}."
    )


def runs_text(record: Mapping[str, Any]) -> str:
    """Say which runs count, and whether they stayed where they were."""
    runs = record["runs"]
    if not runs:
        return "No run counts yet: the gate would have nothing to stand on."
    settled = record["stationarity"]
    first, last = runs[0]["started_at"][:10], runs[-1]["started_at"][:10]
    since = f"from {first} to {last}" if first != last else f"all of {first}"
    changed = settled["changed_at"]
    level = (
        "no change of their level is dated" if changed is None else f"their level changed on {changed[:10]}"
    )
    alike = settled["autocorrelation"]
    told = "" if alike is None else f"; neighbours correlate with {tables.signed(alike)}"
    return f"{tables.some(len(runs), 'run')} count, {since}; {level}{told}."


def noise_text(record: Mapping[str, Any]) -> list[str]:
    """Say what the gate would see with this noise, and how sure that is."""
    if record["way"] == BY_CANARIES:
        return ["A gate on canaries has no curve: one failed trial of one canary blocks."]
    noise = record["noise"]
    if noise["spread"] is None or noise["spread_bound"] is None:
        return ["The noise of a run is not known from so few runs, so there is no curve."]
    bound, level = tables.number(noise["spread_bound"]), tables.percent(noise["level"])
    reruns = tables.some(noise["reruns"], "run")
    return [
        f"A run strays by a standard deviation of {tables.number(noise['spread'])}; with {level} confidence it is"
        f" {bound} or less. The gate looks at {reruns} of a candidate and blocks above a drop of"
        f" {tables.number(noise['block_above'])}.",
        "Read the dashed curve for the worst that these runs allow. More runs bring the two together; only more"
        " cases or trials make both steeper.",
    ]


def canary_text(record: Mapping[str, Any]) -> str:
    """Say what the canaries have shown, as a bound."""
    seen = record["canaries"]
    if seen is None:
        return "The suite has no canary: no case that may never fail."
    failed = ", ".join(
        f"{case} ({told['failed']} of {told['trials']} trials)" for case, told in seen["failed"].items()
    )
    return (
        f"{tables.some(len(seen['cases']), 'canary').replace('canarys', 'canaries')}: {seen['n_clean']} of"
        f" {tables.some(seen['n_runs'], 'run')} clean. At most {_high(seen)} of runs fail one; that is a bound at"
        f" {tables.percent(seen['flake_level'])}, not an estimate. Failed: {failed or 'none'}."
    )


def _sentence(text: str) -> str:
    told = tables.visible(text)
    return f"{told[:1].upper()}{told[1:]}{'' if told.endswith('.') else '.'}"


METHODS = {
    "Readiness": (
        "A suite may block when a drop of the margin would be seen with the promised power even if its noise lies at"
        " the upper confidence bound, the runs lie on distinct days and did not drift, and costs stay within the"
        " policy. The runs are those that the gate would take as its yardstick, chosen by the same policy (FIXED: the"
        " same cases)."
    ),
    "Operating characteristic": (
        "The chance to block at each true drop, from the suite's own noise: once with the standard deviation as"
        " measured, once at its bound (chi-square). At no drop it is the rate of false blocks, at the margin the power."
    ),
    "Canaries": (
        "Cases that may never fail. With no failure in n runs the share of failing runs has an exact upper bound"
        " (Clopper–Pearson); the policy's alpha says how low it must be."
    ),
}
