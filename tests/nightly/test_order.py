"""A night goes on where it stopped, does nothing twice, is dated honestly, and ends with the worst that counts."""

import json
import os
import signal
import subprocess
import sys
import time
from datetime import UTC, datetime, timedelta

import numpy as np
import pytest

from evalstats import journal
from evalstats.errors import UsageError
from evalstats.governance import ratchet_records
from evalstats.governance.ratchet import Asked as RatchetAsked
from evalstats.governance.ratchet import readiness
from evalstats.governance.ratchet_evidence import Past, Run
from evalstats.governance.ratchet_records import Signature
from evalstats.nightly import Night, NightError, Places, Step
from evalstats.nightly.record import claimed, read, write
from evalstats.stats.decisions import Rule

NOISY = [0.80, 0.70, 0.90, 0.75, 0.85, 0.78, 0.82, 0.86, 0.74]
STEADY = [0.80, 0.82, 0.79, 0.81, 0.80, 0.78, 0.82, 0.80, 0.81]
NOT_BUILT = frozenset({Step.INGEST, Step.REPORTS})


def history(scores):
    """Return nights of January with these scores, as `publish` takes them."""
    return {f"night-{n:02}": (f"2026-01-{n:02}", score) for n, score in enumerate(scores, 1)}


def runs_of(data):
    return sorted(path.name for path in (data / "runs").iterdir())


@pytest.fixture
def door_of(make_suite, publish, policy, today):
    """Return a function that publishes a history and tonight's score; it returns suite and group of tonight."""

    def made(scores, tonight):
        group = f"night-{today}-door"
        publish({**history(scores), group: (today, tonight)})
        return make_suite("door", policy=policy), group

    return made


# --- doing it, twice, and after a stop ---------------------------------------------------------------


def test_a_night_runs_ingests_and_is_known_by_its_date(make_suite, make_night, places, today):
    outcome = make_night(make_suite("one"), make_suite("two"))
    assert outcome.is_new and outcome.night.exit_code == 0
    assert runs_of(places.data) == [f"night-{today}-one", f"night-{today}-two"]
    assert read(places.nights, today) == outcome.night
    assert outcome.night.ended_at is not None and not outcome.night.simulated
    from evalstats import store

    with store.open(places.store, read_only=True) as opened:
        assert opened.suites() == ["one", "two"]


def test_a_second_call_does_nothing_and_another_suite_joins(make_suite, make_night, places, today):
    one, two = make_suite("one"), make_suite("two")
    first = make_night(one)
    again = make_night(one)
    assert not again.is_new and again.night == first.night
    more = make_night(one, two)
    assert more.is_new and set(more.night.parts) == {"one", "two"}
    assert more.night.parts["one"] == first.night.parts["one"]
    assert runs_of(places.data) == [f"night-{today}-one", f"night-{today}-two"]


def test_a_suite_that_changed_after_its_night_is_no_reason_to_fail(make_suite, make_night):
    make_night(make_suite("one"))
    assert not make_night(make_suite("one", "echo ok; echo changed")).is_new


def test_a_killed_night_goes_on_where_it_stopped(make_suite, make_night, places, today, tmp_path):
    slow = make_suite("slow", "sleep 0.2; echo ok", cases=12)
    command = [sys.executable, "-m", "evalstats", "nightly", "slow", "--jobs", "1", "--progress", "none"]
    process = subprocess.Popen(
        command, cwd=tmp_path, stderr=subprocess.DEVNULL, stdout=subprocess.DEVNULL, start_new_session=True
    )
    folder = places.data / "runs" / f"night-{today}-slow"
    while process.poll() is None and len(recorded := _keys(folder)) < 2:
        time.sleep(0.05)
    os.kill(process.pid, signal.SIGKILL)
    process.wait()
    before = _keys(folder)
    assert 2 <= len(recorded) <= len(before) < 12, "killed in the middle"
    assert read(places.nights, today).parts["slow"].runs == ()
    night = make_night(slow, jobs=4).night
    assert night.parts["slow"].runs[0]["n_trials"] == 12
    after = _keys(folder)
    assert len(after) == 12 and before.items() <= after.items(), "what was done is not done again"


def _keys(folder):
    if not folder.is_dir():
        return {}
    return {trial.key: trial.started_at for trial in journal.read_trials(folder)}


def test_a_night_stopped_by_a_signal_says_how_to_go_on(make_suite, tmp_path, today):
    make_suite("slow", "sleep 0.3; echo ok", cases=20)
    command = [sys.executable, "-m", "evalstats", "nightly", "slow", "--jobs", "1", "--progress", "none"]
    process = subprocess.Popen(
        command, cwd=tmp_path, stderr=subprocess.PIPE, text=True, start_new_session=True
    )
    folder = tmp_path / "data/runs" / f"night-{today}-slow"
    while process.poll() is None and not _keys(folder):
        time.sleep(0.05)
    process.send_signal(signal.SIGINT)
    _, said = process.communicate(timeout=30)
    assert process.returncode == 130
    assert "the same command goes on with this night" in said and "Traceback" not in said


def test_two_at_once_are_refused_with_the_code_of_cannot(make_suite, make_night, places):
    with claimed(places.nights), pytest.raises(NightError, match="another process") as refused:
        make_night(make_suite("one"))
    assert refused.value.exit_code == 3
    assert make_night(make_suite("one")).is_new, "the claim ends with its process"


def test_skipped_steps_are_made_up_for(make_suite, make_night, places):
    one = make_suite("one")
    assert not make_night(one, skip=frozenset({Step.RUN})).night.parts["one"].runs
    part = make_night(one, skip=frozenset({Step.INGEST})).night.parts["one"]
    assert part.runs and not part.ingested and not places.store.exists()
    assert make_night(one).night.parts["one"].ingested and places.store.exists()


# --- dates -------------------------------------------------------------------------------------------


def test_a_date_set_by_hand_is_shown_everywhere_and_needs_a_folder_of_its_own(
    make_suite, make_night, places, tmp_path
):
    one = make_suite("one")
    night = make_night(one, as_of="2026-03-01").night
    assert night.simulated and runs_of(places.data) == ["simulated-2026-03-01-one"]
    with pytest.raises(UsageError, match="dated by hand; say which with --as-of"):
        make_night(one)
    real = Places(data=tmp_path / "real", store=tmp_path / "real/e.duckdb", reports=tmp_path / "real/reports")
    make_night(one, at=real)
    with pytest.raises(UsageError, match="never one history"):
        make_night(one, at=real, as_of="2026-03-01")
    assert len(runs_of(real.data)) == 1


def test_nights_dated_by_hand_do_not_enter_a_kept_history(make_suite, make_night, tmp_path):
    def at(name):
        data = tmp_path / name
        return Places(data=data, store=data / "e.duckdb", reports=data / "reports", history=tmp_path / "kept")

    one = make_suite("one")
    make_night(one, at=at("machine-1"))
    with pytest.raises(UsageError, match="never one history"):
        make_night(one, at=at("machine-2"), as_of="2026-03-01")
    assert not (tmp_path / "machine-2").exists()


def test_an_earlier_night_on_record_can_be_gone_on_with_by_its_date(make_suite, make_night, places, today):
    one = make_suite("one")
    yesterday = (datetime.now(UTC) - timedelta(days=1)).date().isoformat()
    places.nights.mkdir(parents=True)
    write(places.nights, Night(date=yesterday, simulated=False, began_at=f"{yesterday}T23:50:00.000Z"))
    night = make_night(one, as_of=yesterday).night
    assert (night.date, night.simulated) == (yesterday, False)
    created = json.loads((places.data / f"runs/night-{yesterday}-one/manifest.json").read_text())[
        "created_at"
    ]
    assert created.startswith(today), "what runs today is dated today"


def test_a_clock_that_jumped_back_cannot_make_a_night(make_suite, make_night, places):
    tomorrow = (datetime.now(UTC) + timedelta(days=1)).date().isoformat()
    places.nights.mkdir(parents=True)
    write(places.nights, Night(date=tomorrow, simulated=False, began_at=f"{tomorrow}T02:00:00.000Z"))
    with pytest.raises(NightError, match="set the clock right") as refused:
        make_night(make_suite("one"))
    assert refused.value.exit_code == 3 and not (places.data / "runs").exists()


@pytest.mark.parametrize("text", ["tonight", "2026-02-30", "", "../2026-01-01"])
def test_what_is_no_date_is_refused(make_suite, make_night, places, text):
    with pytest.raises(UsageError, match="write 2026-01-31"):
        make_night(make_suite("one"), as_of=text)


# --- verdicts ----------------------------------------------------------------------------------------


@pytest.mark.parametrize(("shell", "code"), [("echo ok", 0), ("echo no", 1)])
def test_a_suite_without_a_policy_is_held_to_its_own_thresholds(make_suite, make_night, shell, code):
    assert make_night(make_suite("one", shell)).night.exit_code == code


def test_a_live_suite_without_a_ratchet_never_fails_the_night(make_suite, make_night):
    part = make_night(make_suite("one", "echo no", tier="live")).night.parts["one"]
    assert (part.found, part.exit_code, part.blocks) == (1, 0, False)


def ready():
    """Return a readiness report that says READY: twelve steady nights."""
    runs = [
        Run(
            group_id=f"r{at}",
            started_at=f"2026-01-{at:02}T02:00:00Z",
            unit=f"r{at}",
            day=f"2026-01-{at:02}",
            value=0.8 + (0.005 if at % 4 in (0, 3) else -0.005),
        )
        for at in range(1, 13)
    ]
    asked = RatchetAsked(suite="one", rule=Rule(margin=0.05), statistic="pass_rate", minimum=8)
    return readiness(Past(runs=runs, watched=runs), asked, None, rng=np.random.default_rng(1)).as_record()


def test_a_live_suite_counts_from_its_ratchet_on_until_that_is_taken_back(make_suite, make_night):
    live, signed = make_suite("one", "echo no", tier="live"), Signature(by="ada", rationale="steady")
    assert make_night(live).night.exit_code == 0
    ratchet_records.promote(live, ready(), "c" * 64, signed)
    assert make_night(live).night.exit_code == 1
    ratchet_records.revoke(live, ready(), "c" * 64, signed)
    assert make_night(live).night.exit_code == 0


def test_a_ratchet_record_that_was_altered_is_no_licence_to_pass(make_suite, make_night):
    live = make_suite("one", "echo no", tier="live")
    ratchet_records.promote(live, ready(), "c" * 64, Signature(by="ada", rationale="steady"))
    record = ratchet_records.log_path(live)
    told = json.loads(record.read_text())
    record.write_text(record.read_text().replace(told["report_sha256"], "d" * 64))
    with pytest.raises(UsageError, match="the ratchet record is not whole"):
        make_night(live)


def test_another_suite_whose_ratchet_was_taken_back_is_advice(make_suite, make_night):
    one, signed = make_suite("one", "echo no"), Signature(by="ada", rationale="steady")
    assert make_night(one).night.exit_code == 1
    ratchet_records.promote(one, ready(), "c" * 64, signed)
    ratchet_records.revoke(one, ready(), "c" * 64, signed)
    assert make_night(one).night.exit_code == 0


def test_infrastructure_failure_ends_with_three(make_suite, make_night, tmp_path):
    one = make_suite("one")
    one.document["cases"][0]["inputs"] = {"argv": ["./no-such-program"]}
    (one.path).write_text(json.dumps(one.document))
    from evalstats import suite

    night = make_night(suite.load(one.path), make_suite("two")).night
    assert night.exit_code == 3 and night.parts["two"].exit_code == 0


@pytest.mark.parametrize(
    ("scores", "tonight", "code"),
    [(STEADY, 0.80, 0), (STEADY, 0.60, 1), (STEADY[:4], 0.80, 3), (NOISY, 0.74, 4)],
)
def test_the_exit_code_is_that_of_the_gate(door_of, make_night, places, scores, tonight, code):
    door, group = door_of(scores, tonight)
    assert make_night(door, skip=NOT_BUILT).night.exit_code == code
    (line,) = (places.gates / "door.jsonl").read_text().splitlines()
    assert json.loads(line)["candidate"] == [group]
    assert not make_night(door, skip=NOT_BUILT).is_new
    assert len((places.gates / "door.jsonl").read_text().splitlines()) == 1, "one decision a night"


def test_the_worst_of_several_counts_and_advice_does_not(make_suite, make_night, publish, policy, today):
    publish({**history(STEADY), f"night-{today}-door": (today, 0.60)})
    made = [make_suite("door", policy=policy), make_suite("fine"), make_suite("live", "echo no", tier="live")]
    night = make_night(*made, skip=NOT_BUILT).night
    assert [night.parts[s.id].exit_code for s in made] == [1, 0, 0] and night.exit_code == 1
    live = [make_suite("door", tier="live", policy=policy)]
    assert make_night(*live, skip=NOT_BUILT).night.exit_code == 0, (
        "a live suite advises until it is ratcheted"
    )


def test_an_open_answer_is_looked_at_again_the_next_night(make_suite, make_night, publish, policy):
    door = make_suite("door", policy=policy)
    days = [f"2026-02-{n:02}" for n in range(1, 5)]
    groups = [f"simulated-{day}-door" for day in days]
    looked = []
    for number, day in enumerate(days, 1):
        told = {group: (each, 0.74) for group, each in zip(groups[:number], days[:number], strict=True)}
        publish({**history(NOISY), **told})
        judged = make_night(door, as_of=day, skip=NOT_BUILT).night.parts["door"].judged
        looked.append(judged["candidate"])
        assert judged["verdict"] == "inconclusive"
    assert looked == [groups[:1], groups[:2], groups[:3], groups[3:]], "after three looks a new one begins"


def test_a_policy_that_counts_runs_asks_for_another_the_same_night(
    make_suite, make_night, publish, policy, places, today
):
    by_run = {**policy, "history": {**policy["history"], "unit": "run"}}
    names = [f"night-{today}-door", f"night-{today}-R2-door", f"night-{today}-R3-door"]
    # The report tells of all three, as if it had been built after each: what counts is how often it is asked.
    publish({**history(NOISY), **{name: (today, 0.74) for name in sorted(names)}})
    part = make_night(make_suite("door", policy=by_run), skip=NOT_BUILT).night.parts["door"]
    assert len(part.runs) == 3 and part.judged["verdict"] == "inconclusive"
    assert set(runs_of(places.data)) == set(names)


def test_what_keeps_one_suite_from_being_judged_is_told_and_tried_again(
    make_suite, make_night, publish, policy, today
):
    door, fine = make_suite("door", policy=policy), make_suite("fine")
    night = make_night(door, fine, skip=NOT_BUILT).night
    assert night.exit_code == 3 and night.parts["door"].error.startswith("gate: ")
    assert night.parts["fine"].exit_code == 0
    publish({**history(STEADY), f"night-{today}-door": (today, 0.80)})
    again = make_night(door, fine, skip=NOT_BUILT)
    assert again.is_new and again.night.exit_code == 0 and again.night.parts["door"].error is None


# --- what is asked -----------------------------------------------------------------------------------


def test_bad_input_is_refused_before_anything_runs(make_suite, make_night, policy, places, tmp_path):
    door = make_suite("door", policy=policy)
    other = tmp_path / "other.json"
    other.write_text(json.dumps({**policy, "suite": "window"}))
    for asked, said in [
        ({"policies": [other]}, "is a policy of no suite of tonight"),
        ({"policies": [door.folder / "policy.json"] * 2}, "second policy of one suite"),
    ]:
        with pytest.raises(UsageError, match=said):
            make_night(door, **asked)
    with pytest.raises(UsageError, match="named twice"):
        make_night(door, door)
    with pytest.raises(UsageError, match="no suite to run"):
        make_night()
    (door.folder / "policy.json").write_text(json.dumps({**policy, "suite": "window"}))
    with pytest.raises(UsageError, match="is for suite window, not door"):
        make_night(door)
    (door.folder / "policy.json").write_text(json.dumps({**policy, "arm": "candidate"}))
    with pytest.raises(UsageError, match="follow another arm"):
        make_night(door)
    assert not (places.data / "runs").exists()
