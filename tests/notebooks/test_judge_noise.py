"""The judge notebook says what a judge can resolve; what was not measured is said, and never zero."""

import json
from dataclasses import replace
from statistics import NormalDist

import pytest

from evalstats import contract, report, store
from evalstats.errors import UsageError
from evalstats.journal import encode
from evalstats.trials import Judgement

TRIALS, CASES = 3, 8
JUDGE = "judge-model"


def flips_on(case, index, repeat):
    """Three judgements a text: they disagree on the second trial of every case."""
    return (repeat + case) % 2 == 0 if index == 2 else (case + index) % 3 != 0


@pytest.fixture
def judged(tmp_path, make_store):
    """Return a function: verdict of case, trial and repeat -> a store whose trials were judged."""

    def make(says=flips_on, *, repeats=3, people=None, model=JUDGE, nights=1):
        place = make_store(tmp_path, nights=nights)
        for folder in sorted((tmp_path / "data/runs").iterdir()):
            manifest = contract.read_json(folder / "manifest.json")[0]
            lines = [
                encode(verdict(manifest, case, index, repeat, says, model).as_record())
                for case in range(CASES)
                for index in range(1, TRIALS + 1)
                for repeat in range(1, repeats + 1)
            ]
            write(folder / "judgements/host-1-1.jsonl", lines)
            if people is not None:
                write(folder / "labels/host-1-1.jsonl", [encode(x) for x in labels(manifest, people)])
        store.ingest(place, tmp_path / "data/runs")
        return place

    return make


def write(path, lines):
    path.parent.mkdir(exist_ok=True)
    path.write_bytes(b"".join(lines))


def verdict(manifest, case, index, repeat, says, model):
    return Judgement(
        run_id=manifest["run_id"], case_id=f"c{case}", arm=manifest["arm"], trial_index=index, expectation=0,
        judge=model, judge_sha256="a" * 64, rubric_sha256="b" * 64, repeat=repeat,
        passed=bool(says(case, index, repeat)),
        started_at="2026-11-01T03:00:00.000Z",
    )  # fmt: skip


def labels(manifest, people):
    from evalstats.trials import Label

    for case in range(CASES):
        for index in range(1, TRIALS + 1):
            yield Label(
                run_id=manifest["run_id"], case_id=f"c{case}", arm=manifest["arm"], trial_index=index, expectation=0,
                labeller="ada", passed=bool(people(case, index)), labelled_at="2026-11-02T03:00:00.000Z",
            ).as_record()  # fmt: skip


def shown(document, name):
    return next(t for s in document["sections"] for t in s["tables"] if t["name"] == name)


def test_the_numbers_can_be_worked_out_by_hand(judged, run_cells):
    names = run_cells("judge_noise", suite="demo", store=str(judged()))
    (one,) = names.every
    # Of three texts a case one flips: of its three pairs of judgements two disagree.
    assert one.known("flips") == pytest.approx(1 / 3 * 2 / 3)
    # Within such a text the sum of squares is 2/3 on 2 degrees of freedom; the others add none.
    assert one.known("noise") == pytest.approx((1 / 3 * 1 / 3) ** 0.5)
    floor = 1.959964 * (2 * one.known("noise") ** 2 / (CASES * TRIALS)) ** 0.5
    assert one.known("difference floor") == pytest.approx(floor, rel=1e-4)
    red = 1 - NormalDist(0, floor / 1.959964).cdf(0.05)
    assert report.judges.goes_red(one, 0.05) == pytest.approx(red, rel=1e-4)
    said = names.draft.document()
    assert f"{100 * red:.0f}% of reruns" in said["finding"]
    assert [row[2] for row in shown(said, "resolves")["cells"]] == ["cannot"] * 4 + ["can"] * (floor < 0.2)
    assert "Whether it is right is not known" in said["finding"]
    assert "labels export" in next(s for s in said["sections"] if s["id"] == "people")["text"][0]


def test_without_judgements_it_says_how_to_get_them(tmp_path, make_store, run_cells):
    names = run_cells("judge_noise", suite="demo", store=str(make_store(tmp_path)))
    said = names.draft.document()
    assert (
        said["finding"].startswith("No trial of demo has been judged by a model")
        and "evalstats judge" in said["finding"]
    )
    assert said["headline"] == [
        {"label": "Judgements", "value": "n/a", "detail": "no trial was judged by a model"}
    ]
    assert [len(s["figures"]) + len(s["tables"]) for s in said["sections"]] == [0, 0, 0, 0]


def test_judged_once_is_not_measured(judged, run_cells):
    names = run_cells("judge_noise", suite="demo", store=str(judged(repeats=1)))
    said = names.draft.document()
    assert "not known (not measured: no transcript was judged twice)" in said["finding"]
    assert {card["value"] for card in said["headline"][:2]} == {"n/a"}
    assert [row[2:] for row in shown(said, "resolves")["cells"]] == [["n/a", "n/a", "n/a"]] * 5


def test_repeats_that_are_all_alike_are_doubted(judged, run_cells):
    names = run_cells("judge_noise", suite="demo", store=str(judged(lambda case, index, repeat: case % 2)))
    assert "cached or deterministic" in json.dumps(names.draft.document())


def test_labels_say_whether_it_is_right(judged, run_cells):
    names = run_cells(
        "judge_noise",
        suite="demo",
        store=str(judged(lambda c, i, r: c != 0, people=lambda c, i: c not in (0, 1))),
    )
    said = names.draft.document()
    # 6 of 8 cases pass by people, the judge passes them all; of the 2 that fail it fails one.
    rows = {row[1]: row[3] for row in shown(said, "accuracy")["cells"] if row[2] == "all"}
    assert rows["Says yes where people do"].startswith("1.00 [") and rows[
        "Says no where people do"
    ].startswith("0.50 [")
    assert "says yes to 100% of what people pass and no to 50% of what they fail" in said["finding"]
    assert {f["name"] for s in said["sections"] for f in s["figures"]} >= {"accuracy"}


def test_a_judge_of_the_subjects_family_is_warned_of(judged, run_cells, monkeypatch):
    from evalstats.judging import families

    monkeypatch.setitem(
        families._FAMILIES, "house", ("m1", "judge")
    )  # m1 is what the store calls the subject
    names = run_cells("judge_noise", suite="demo", store=str(judged()))
    assert names.every[0].same_family == "house"
    assert any("are of one family (house)" in text for text in names.draft.document()["caveats"])


def test_the_judge_that_said_most_leads(judged, run_cells, tmp_path):
    place = judged()
    run = sorted((tmp_path / "data/runs").iterdir())[0]
    manifest = contract.read_json(run / "manifest.json")[0]
    said = [verdict(manifest, 0, 1, repeat, flips_on, "a-first-name") for repeat in (1, 2)]
    other = [encode(replace(each, judge_sha256="c" * 64).as_record()) for each in said]
    write(run / "judgements/host-2-2.jsonl", other)
    store.ingest(place, tmp_path / "data/runs")
    names = run_cells("judge_noise", suite="demo", store=str(place))
    assert [one.model for one in names.every] == [JUDGE, "a-first-name"]
    assert JUDGE in names.draft.document()["finding"]


def test_one_run_can_be_asked_for_and_must_be_there(judged, run_cells):
    place = str(judged(nights=2))
    names = run_cells("judge_noise", suite="demo", store=place, run="eval-01-skill-on")
    assert (
        set(names.judged.judgements["run_id"]) == {"eval-01-skill-on"}
        and names.judged.found.facts["n_runs"] == 1
    )
    with pytest.raises(UsageError, match="no run nowhere"):
        run_cells("judge_noise", suite="demo", store=place, run="nowhere")


def test_other_words_and_the_opposite_are_held_against_the_original(judged, run_cells, tmp_path):
    place = judged(lambda case, index, repeat: case % 2, repeats=1)
    for folder in sorted((tmp_path / "data/runs").iterdir()):
        manifest = contract.read_json(folder / "manifest.json")[0]
        said = [
            replace(verdict(manifest, case, index, 1, says, JUDGE), wording=wording)
            for case in range(CASES)
            for index in range(1, TRIALS + 1)
            # In other words it changes its mind on two cases of eight; it says yes to everything, also the opposite.
            for wording, says in (
                ("reworded:0123456789ab", lambda c, i, r: c % 2 if c > 1 else not c % 2),
                ("inverted:0123456789ab", lambda c, i, r: False),
            )
        ]
        write(folder / "judgements/host-3-3.jsonl", [encode(each.as_record()) for each in said])
    store.ingest(place, tmp_path / "data/runs")
    said = run_cells("judge_noise", suite="demo", store=str(place)).draft.document()
    rows = {row[1]: row[2] for row in shown(said, "wordings")["cells"]}
    assert rows["Says the same in other words"].startswith("0.75 [")
    assert rows["Says yes to a question and to its opposite"].startswith("0.50 [")
    assert rows["Says no to a question and to its opposite"].startswith("0.00 [")
    text = next(s for s in said["sections"] if s["id"] == "words")["text"]
    assert "In other words judge-model says the same 75%" in text[0] and "No sentinel was named" in text[1]
    assert "not measured" in said["finding"]  # rewordings are no repeats


CHECK = {
    "schema_version": 1,
    "anchors_sha256": "e" * 64,
    "model": JUDGE,
    "reported": [],
    "repeats": 3,
    "level": 0.05,
    "n_anchors": 20,
    "n_judgements": 60,
    "without_verdict": 0,
    "to_yes": 6,
    "to_no": 0,
    "p_shift": 0.001,
    "p_change": 0.01,
    "p_value": 0.002,
    "changed": True,
    "unchanged_at": "2026-10-01T00:00:00.000Z",
    "changed_by": "2026-11-01T00:00:00.000Z",
}


@pytest.fixture
def sentinel(tmp_path):
    """Return the file of a sentinel whose second check found another judge."""
    from evalstats.judging import sentinel as sentinels

    checks = [
        {**CHECK, "changed": False, "p_value": 0.8, "to_yes": 0, "checked_at": "2026-10-01T00:00:00.000Z"},
        {**CHECK, "checked_at": "2026-11-01T00:00:00.000Z"},
    ]
    file = tmp_path / "sentinels/one.json"
    file.parent.mkdir()
    file.write_text("{}")
    sentinels.history_of(file).write_text("".join(json.dumps(check) + "\n" for check in checks))
    return file


def test_a_sentinel_dates_a_change_of_the_judge(judged, run_cells, sentinel):
    names = run_cells("judge_noise", suite="demo", store=str(judged()), sentinel=str(sentinel))
    said = names.draft.document()
    assert [row[-1] for row in shown(said, "checks")["cells"]] == ["as before", "changed"]
    text = next(s for s in said["sections"] if s["id"] == "words")["text"]
    assert text[1] == "The judge has changed: between 2026-10-01 and 2026-11-01."
    with pytest.raises(UsageError, match="no such file"):
        run_cells("judge_noise", suite="demo", store=names.store, sentinel="nowhere.json")


def test_preference_for_its_own_family_takes_both_and_labels(judged, run_cells, tmp_path, monkeypatch):
    from evalstats.judging import families

    monkeypatch.setitem(families._FAMILIES, "house", ("judge", "own"))
    monkeypatch.setitem(families._FAMILIES, "other", ("other",))
    place = judged(lambda c, i, r: True, people=lambda c, i: c % 2, nights=2)
    for folder in (tmp_path / "data/runs").iterdir():
        manifest = contract.read_json(folder / "manifest.json")[0]
        own = "eval-01" in folder.name
        (folder / "manifest.json").write_text(
            json.dumps({**manifest, "model": "own-1" if own else "other-1"})
        )
        if not own:  # of the other family it passes what people pass
            said = [
                verdict(manifest, c, i, r, lambda c, i, r: c % 2, JUDGE)
                for c in range(CASES) for i in range(1, TRIALS + 1) for r in (1, 2, 3)
            ]  # fmt: skip
            write(folder / "judgements/host-1-1.jsonl", [encode(each.as_record()) for each in said])
    store.rebuild(place, tmp_path / "data/runs")
    names = run_cells("judge_noise", suite="demo", store=str(place))
    # Its own family it passes everywhere, people half of it; the others it judges as people do: half a point.
    assert names.every[0].preference["estimate"] == pytest.approx(0.5)
    people = next(s for s in names.draft.document()["sections"] if s["id"] == "people")["text"][0]
    assert "Towards its own family it leans by +0.50" in people


@pytest.mark.slow
def test_the_same_inputs_give_the_same_report(judged, build, sentinel):
    place = judged()
    first = build("judge_noise", place, suite="demo", sentinel=str(sentinel))
    assert (
        build("judge_noise", place, suite="demo", sentinel=str(sentinel)).unchanged
        and report.verify(first.path) == []
    )
