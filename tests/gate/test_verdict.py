"""A gate refuses what it cannot judge, in a sentence each; the rest is a verdict with its error rates."""

import json
import subprocess
import sys
from dataclasses import replace

import pytest

from evalstats import contract, gate
from evalstats.contract import GateVerdict
from evalstats.errors import DocumentError, ReportError, SuiteError, UsageError
from evalstats.report import bundle

ON, OFF = "skill-on", "skill-off"
STEADY = [0.80, 0.82, 0.79, 0.81, 0.80, 0.78, 0.82, 0.80, 0.81, 0.79]
NOISY = [0.80, 0.70, 0.90, 0.75, 0.85, 0.78, 0.82, 0.86, 0.74, 0.80]


@pytest.fixture
def decide(make_run, make_report, make_policy):
    """Return a function: history, candidate scores and what is unusual about the candidate -> GateResult."""

    def decided(past, new, /, *, policy=(), report=(), reruns=None, past_unusual=(), **unusual):
        runs = [make_run(n, {ON: s}, **dict(past_unusual)) for n, s in enumerate(past, 1)]
        runs += [make_run(n, {ON: s}, **unusual) for n, s in enumerate(new, len(past) + 1)]
        document = make_report(runs, **dict(report))
        contract.validate(document, "report.v1")
        rules = make_policy(**dict(policy))
        contract.validate(rules, "policy.v1")
        return gate.decide(document, rules, gate.Asked(reruns=reruns or len(new)))

    return decided


# --- the four verdicts ----------------------------------------------------------------------------


def test_an_unchanged_run_passes(decide):
    result = decide(STEADY, [0.80])
    assert (result.verdict, result.exit_code, result.runs_needed) == (GateVerdict.PASS, 0, 0)
    assert "a drop of 0.1 is ruled out at 90%" in result.reasons[0]
    assert result.history == [f"run-{n:02}" for n in range(1, 11)] and result.candidate == ["run-11"]
    assert result.drop == pytest.approx(0.002)
    assert 0 < result.false_block < 0.05 and 0.9 < result.power < 1 and 0 < result.mde < 0.1


def test_a_drop_beyond_the_margin_blocks(decide):
    result = decide(STEADY, [0.70])
    assert (result.verdict, result.exit_code) == (GateVerdict.REGRESSION, 1)
    assert result.reasons == ["the candidate lies 0.102 below the centre of 10 nights; blocked above 0.066"]


def test_a_rise_passes_whatever_its_size(decide):
    result = decide(STEADY, [1.0])
    assert result.verdict is GateVerdict.PASS and "0.198 above the centre" in result.reasons[0]


def test_what_is_neither_asks_for_another_run(decide):
    result = decide(NOISY, [0.74])
    assert (result.verdict, result.exit_code, result.runs_needed) == (GateVerdict.INCONCLUSIVE, 4, 2)
    assert "run it again, up to 2 more time(s), on another night" in result.reasons[0]


def test_the_last_look_asks_for_none(decide):
    result = decide(NOISY, [0.74, 0.74, 0.73])
    assert (result.verdict, result.runs_needed) == (GateVerdict.INCONCLUSIVE, 0)
    assert result.candidate == ["run-11", "run-12", "run-13"] and "no rerun is left" in result.reasons[0]


def test_what_is_too_noisy_for_the_margin_cannot_gate(decide):
    result = decide(NOISY, [0.30], policy={"margin": 0.02})
    assert (result.verdict, result.exit_code) == (GateVerdict.CANNOT_GATE, 3)
    assert result.reasons[0].startswith("too noisy for a margin of 0.02: even 3 independent runs would see")
    assert result.drop == pytest.approx(0.5) and result.mde > 0.04


def test_reruns_of_one_night_are_one_look(decide):
    apart = decide(NOISY, [0.74, 0.75])
    together = decide(NOISY, [0.74, 0.75], started_at="2026-01-20T02:00:00Z")
    assert apart.drop == together.drop
    alone = decide(NOISY, [0.745])  # the same, but for half a trial's worth of the correction for steps
    assert apart.mde < together.mde < alone.mde < together.mde + 1 / 60


def test_exit_codes_are_the_contracts():
    assert {str(v): code for v, code in gate.EXIT_CODES.items()} == {
        "pass": 0,
        "regression": 1,
        "cannot_gate": 3,
        "inconclusive": 4,
    }


@pytest.mark.parametrize(("off", "verdict"), [(0.4, "pass"), (0.5, "regression")])
def test_lift_falls_when_the_off_arm_rises(make_run, make_report, make_policy, off, verdict):
    # Lift here is 1 - 0.2 / headroom for every run: only the on arm can move it. A difference falls too.
    runs = [make_run(n, {ON: on, OFF: 0.4}) for n, on in enumerate(STEADY, 1)]
    runs.append(make_run(11, {ON: 0.8, OFF: off}))
    by = {s: gate.decide(make_report(runs), make_policy(statistic=s)).verdict for s in ("lift", "difference")}
    assert by == {"lift": "pass", "difference": verdict}


def test_lift_is_judged_against_the_pooled_off_arm(make_run, make_report, make_policy):
    runs = [make_run(n, {ON: on, OFF: 0.4}) for n, on in enumerate(STEADY, 1)]
    runs.append(make_run(11, {ON: 0.7, OFF: 0.4}))
    result = gate.decide(make_report(runs), make_policy(statistic="lift"))
    assert result.drop == pytest.approx((0.802 - 0.7) / 0.6)
    assert result.verdict is GateVerdict.REGRESSION


# --- refusals -------------------------------------------------------------------------------------


def refused(result, *reasons):
    assert (result.verdict, result.exit_code) == (GateVerdict.CANNOT_GATE, 3)
    assert result.reasons == list(reasons)
    assert (result.drop, result.power, result.mde) == (None, None, None)


@pytest.mark.parametrize(
    ("unusual", "reason"),
    [
        ({"is_mock": True}, "run-11: it is a mock run"),
        ({"infrastructure": 6}, "run-11: 6 of its 30 trials failed for infrastructure (20%, limit 10%)"),
        ({"n_cases": 9}, "run-11: it has a score for 9 of 10 cases"),
    ],
)
def test_a_run_that_proves_nothing_is_refused(decide, unusual, reason):
    result = decide(STEADY, [0.8], **unusual)
    assert result.verdict is GateVerdict.CANNOT_GATE and result.reasons[0] == reason


def test_a_missing_arm_is_refused(make_run, make_report, make_policy):
    runs = [make_run(n, {ON: on, OFF: 0.4}) for n, on in enumerate(STEADY, 1)]
    missing = "an arm is missing, has no usable trial or, for lift, leaves no headroom"
    for scores in ({ON: 0.8}, {OFF: 0.4}, {ON: None, OFF: 0.4}):
        report = make_report([*runs, make_run(11, scores)])
        refused(gate.decide(report, make_policy(statistic="difference")), f"run-11: {missing}")


def test_an_empty_series_is_refused(decide, make_report, make_policy):
    refused(
        gate.decide(make_report([]), make_policy()),
        "nothing to compare: no run has the pass_rate of the policy",
    )


def test_another_suite_is_refused(decide):
    refused(
        decide(STEADY, [0.8], report={"suite": "window"}), "the report is of suite window, the policy of door"
    )


def test_a_short_history_is_refused(decide):
    refused(
        decide(STEADY[:7], [0.2]), "the history holds 7 night(s) of the same identity, the policy asks for 8"
    )
    assert decide(STEADY[:8], [0.2]).verdict is GateVerdict.REGRESSION


def test_a_night_counts_once_however_many_runs_it_saw(decide):
    unit = {"history": {"minimum": 8, "window": 28, "unit": "night"}}
    assert decide(STEADY, [0.8], policy=unit).verdict is GateVerdict.PASS
    refused(
        decide(STEADY, [0.8], policy=unit, past_unusual={"started_at": "2026-01-01T02:00:00Z"}),
        "the history holds 1 night(s) of the same identity, the policy asks for 8",
    )


def test_a_change_of_identity_is_refused_with_the_cut(decide):
    refused(
        decide(STEADY, [0.8], identity={"model": "m-2"}),
        "the history holds 0 night(s) of the same identity, the policy asks for 8",
        "the history begins after run-10: model changed",
    )


def test_a_cut_is_said_beside_a_verdict_too(make_run, make_report, make_policy):
    runs = [make_run(1, {ON: 0.1}, identity={"judge_model": "j"})]
    runs += [make_run(n, {ON: s}) for n, s in enumerate(STEADY, 2)]
    result = gate.decide(make_report(runs), make_policy())
    assert result.verdict is GateVerdict.PASS
    assert result.reasons[1:] == ["the history begins after run-01: judge_model changed"]


def test_replicas_are_refused(decide):
    shared = "the candidate's runs share a seed: a replica is not another look"
    refused(decide(STEADY, [0.8, 0.8], seed=99), shared)
    assert decide(STEADY, [0.8, 0.8], seed=None).verdict is GateVerdict.PASS


def test_candidates_of_two_identities_are_refused(make_run, make_report, make_policy):
    runs = [make_run(n, {ON: s}) for n, s in enumerate(STEADY, 1)]
    runs.append(make_run(11, {ON: 0.8}, identity={"model": "m-2"}))
    refused(
        gate.decide(make_report(runs), make_policy(), gate.Asked(reruns=2)),
        "the candidate's runs differ in identity: they are not looks at one thing",
    )


def test_a_history_that_never_varies_is_refused(decide):
    result = decide([0.8] * 10, [0.2])
    refused(result, "the history does not vary at all: a repeated answer is not a measured noise")


def test_every_reason_is_given_at_once(decide):
    result = decide(STEADY[:3], [None], is_mock=True, infrastructure=30, n_cases=1)
    refused(
        result,
        "run-04: it is a mock run",
        "run-04: 30 of its 30 trials failed for infrastructure (100%, limit 10%)",
        "run-04: an arm is missing, has no usable trial or, for lift, leaves no headroom",
        "run-04: it has a score for 1 of 10 cases",
        "the history holds 3 night(s) of the same identity, the policy asks for 8",
    )


def test_a_night_that_infrastructure_took_leaves_the_history_as_it_is(decide):
    result = decide(STEADY, [None], infrastructure=30, usable=0, n_cases=0)
    refused(
        result,
        "run-11: 30 of its 30 trials failed for infrastructure (100%, limit 10%)",
        "run-11: an arm is missing, has no usable trial or, for lift, leaves no headroom",
        "run-11: it has a score for 0 of 10 cases",
    )
    assert len(result.history) == 10


@pytest.mark.parametrize("reruns", [-1, 4, 11])
def test_only_the_looks_of_the_policy_are_allowed(decide, reruns):
    with pytest.raises(UsageError, match=f"{reruns} runs as the candidate; the policy allows 1 to 3"):
        decide(STEADY, [0.8], reruns=reruns)


def test_no_look_at_all_is_refused(make_report, make_policy):
    with pytest.raises(UsageError, match="the policy allows 1 to 2"):
        gate.decide(make_report([]), make_policy(reruns=2), gate.Asked(reruns=0))


def test_more_candidates_than_runs_leave_no_history(decide):
    refused(
        decide([], [0.8], reruns=3),
        "there is no baseline: no run before the candidate",
        "the history holds 0 night(s) of the same identity, the policy asks for 8",
    )


# --- files ----------------------------------------------------------------------------------------


def test_a_policy_is_read(tmp_path, make_policy):
    path = tmp_path / "policy.json"
    path.write_text(json.dumps(make_policy(rationale="why", reruns=2)))
    assert gate.read_policy(path) == make_policy(rationale="why", reruns=2)


def test_every_error_of_a_policy_is_listed_with_its_line(tmp_path):
    path = tmp_path / "policy.json"
    path.write_text(
        '{\n"schema_version": 1,\n"suite": "door",\n"rule": "coin",\n"statistic": "lift",\n'
        '"margin": 0,\n"alpha": 0.5,\n"history": {\n"minimum": 1,\n"window": 28},\n"surplus": 1}'
    )
    with pytest.raises(SuiteError) as caught:
        gate.read_policy(path)
    assert [(p.pointer, p.line) for p in caught.value.problems] == [
        ("", 1),
        ("/alpha", 7),
        ("/history/minimum", 9),
        ("/margin", 6),
        ("/rule", 4),
    ]


def test_a_window_that_can_never_be_filled_is_refused(tmp_path, make_policy):
    path = tmp_path / "policy.json"
    path.write_text(json.dumps(make_policy(history={"minimum": 9, "window": 8}), indent=1))
    with pytest.raises(SuiteError, match="a window below the minimum") as caught:
        gate.read_policy(path)
    assert caught.value.field == "/history/window" and caught.value.line == 10


def test_a_report_is_read_and_nothing_else(tmp_path, make_report):
    with pytest.raises(ReportError, match=r"no report\.json here"):
        gate.read_report(tmp_path)
    path = tmp_path / "report.json"
    path.write_text(json.dumps(make_report([])))
    assert gate.read_report(tmp_path) == make_report([])
    path.write_text(json.dumps({**make_report([]), "finding": ""}))
    with pytest.raises(DocumentError, match="/finding"):
        gate.read_report(tmp_path)


@pytest.fixture
def published(tmp_path, make_run, make_report, make_policy):
    """Return the folder of reports, a version in it, and a policy."""
    text = json.dumps(make_report([make_run(n, {ON: s}) for n, s in enumerate(STEADY, 1)]))
    files = {"report.json": text.encode(), "report.html": b"<p>"}
    manifest = bundle.seal({"status": "ok"}, files)
    version, _ = bundle.publish(tmp_path / "reports/variance_bands/door", manifest, files, {})
    policy = tmp_path / "policy.json"
    policy.write_text(json.dumps(make_policy()), "utf-8-sig")
    return tmp_path / "reports", version, policy


def test_a_decision_names_the_bytes_it_stands_on(published):
    reports, version, policy = published
    result = gate.judge(reports, "variance_bands/door", policy)
    assert result.verdict is GateVerdict.PASS and result.report == f"variance_bands/door/{version.name}"
    assert result.manifest_sha256 == contract.digest((version / "manifest.json").read_bytes())
    assert result.policy_sha256 == contract.digest(policy.read_bytes())


def test_each_file_is_read_once(published):
    reports, version, policy = published
    code = (
        "import sys\nfrom pathlib import Path\nfrom evalstats import contract, gate\n"
        "for name in ('policy.v1', 'report.v1', 'words.v1'): contract.schema(name)\n"
        "sys.addaudithook(lambda event, given: event == 'open' and print(given[0], flush=True))\n"
        f"gate.judge(Path({str(reports)!r}), 'variance_bands/door', Path({str(policy)!r}))\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    opened = [line for line in done.stdout.splitlines() if line.startswith(str(reports.parent))]
    files = [*(path for path in version.iterdir()), version.parent / "chain.jsonl", policy]
    assert sorted(opened) == sorted(map(str, files))


@pytest.mark.parametrize("name", ["report.json", "report.html", "manifest.json"])
def test_an_altered_report_is_not_judged(published, name):
    reports, version, policy = published
    (version / name).write_bytes((version / name).read_bytes() + b" ")
    with pytest.raises(ReportError, match=rf"the report is not what was published: {name}: ") as caught:
        gate.judge(reports, "variance_bands/door", policy)
    assert caught.value.path == version


# --- words ----------------------------------------------------------------------------------------


def test_a_verdict_is_told_with_its_error_rates(decide):
    lines = gate.sentences(decide(STEADY, [0.70]))
    assert lines[0] == "REGRESSION: door, pass_rate, margin 0.1, three-verdict"
    assert lines[1].startswith("  the candidate lies 0.102 below")
    assert "blocks an unchanged suite 0." in lines[2] and "of the time" in lines[2]


def test_a_refusal_is_told_without_numbers_it_does_not_have(decide):
    lines = gate.sentences(decide(STEADY[:2], [0.8]))
    assert lines[0] == "CANNOT GATE: door, pass_rate, margin 0.1, three-verdict" and len(lines) == 2


def test_the_record_is_plain_data(decide):
    record = decide(STEADY, [0.70]).as_record()
    assert json.loads(json.dumps(record, allow_nan=False)) == record
    assert (record["verdict"], record["exit_code"], type(record["verdict"])) == ("regression", 1, str)


def test_a_run_that_the_ledger_says_was_blocked_is_no_yardstick(published, tmp_path):
    reports, _, policy = published
    ledger = tmp_path / "gates"
    first = gate.judge(reports, "variance_bands/door", policy, ledger=ledger)
    assert first.verdict is GateVerdict.PASS and "run-09" in first.history
    gate.append(replace(first, verdict=GateVerdict.REGRESSION, candidate=["run-09"]), ledger)
    again = gate.judge(reports, "variance_bands/door", policy, ledger=ledger)
    assert "run-09" not in again.history
    assert again.reasons[1] == "run-09 is left out of the history: blocked by this gate"
    # the decision on run-10 itself does not keep it from being judged again
    gate.append(replace(first, verdict=GateVerdict.REGRESSION), ledger)
    assert gate.judge(reports, "variance_bands/door", policy, ledger=ledger).candidate == ["run-10"]
