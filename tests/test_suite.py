"""A suite is refused with every problem at once, and its digests say what changed and nothing else."""

import csv
import hashlib
import json
import tarfile
import tempfile
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from evalstats import suite as suites
from evalstats.contract import CaseKind, ExpectationType, Tier, Visibility
from evalstats.errors import SuiteError, UsageError
from evalstats.suite import Expectation

LAYERS = ("raw", "canonical", "scoring", "policy", "metadata")


@pytest.fixture
def load(tmp_path, write_suite):
    return lambda document: suites.load(write_suite(tmp_path, document))


@pytest.fixture
def refusal(load):
    def refuse(document):
        with pytest.raises(SuiteError) as caught:
            load(document)
        return {problem.pointer: problem.message for problem in caught.value.problems}

    return refuse


# --- loading --------------------------------------------------------------------------------------


def test_a_suite_says_what_its_document_says(load, suite_document, tmp_path):
    suite = load(suite_document())
    assert (suite.id, suite.visibility, suite.tier) == ("door", Visibility.PUBLIC_CANARY, Tier.HEADLESS)
    assert (suite.root, suite.folder) == (tmp_path, tmp_path / "evals/door")
    assert [(d.name, d.weight, d.critical) for d in suite.dimensions] == [
        ("correctness", 0.7, False),
        ("safety", 0.3, True),
    ]
    opening, refusing = suite.cases
    assert (opening.id, opening.kind, opening.archetype, opening.critical) == (
        "open",
        CaseKind.COMMAND,
        "A1",
        True,
    )
    assert opening.expectations == (
        Expectation(ExpectationType.STDOUT_CONTAINS, value="4711"),
        Expectation(ExpectationType.EXIT_CODE, value=0, required=False),
    )
    assert (refusing.pool, refusing.critical, refusing.dimensions) == ("locked", False, ("safety",))


def test_defaults_are_the_contracts(load, suite_document):
    document = suite_document()
    del document["trials"], document["environment"]
    suite = load(document)
    assert (suite.trials_per_case, suite.timeout(suite.cases[0])) == (1, 60)
    document["tier"] = "live"
    document["cases"][0]["timeout_seconds"] = 0.5
    suite = load(document)
    assert (suite.trials_per_case, suite.timeout(suite.cases[0])) == (3, 0.5)


def test_a_folder_stands_for_its_suite_file(tmp_path, write_suite):
    path = write_suite(tmp_path)
    assert suites.load(path.parent).path == path
    for nothing in (tmp_path, tmp_path / "none.json"):
        with pytest.raises(UsageError, match="no suite here"):
            suites.load(nothing)


def test_the_root_is_the_nearest_marked_folder(tmp_path, write_suite):
    path = write_suite(tmp_path / "outer")
    assert suites.load(path).root == tmp_path / "outer"
    (tmp_path / "outer/evals/evalstats.toml").touch()
    assert suites.load(path).root == tmp_path / "outer/evals"
    assert suites.load(path, root=tmp_path).root == tmp_path


def test_one_bad_suite_does_not_hide_the_others(tmp_path, write_suite):
    write_suite(tmp_path)
    (tmp_path / "evals/bad").mkdir()
    (tmp_path / "evals/bad/suite.json").write_text("{")
    loaded, failures = suites.load_all(tmp_path / "evals")
    assert [suite.id for suite in loaded] == ["door"]
    assert [failure.path for failure in failures] == [tmp_path / "evals/bad/suite.json"]


# --- what is refused ------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "place",
    [(), ("environment",), ("fixtures", 0), ("scoring",), ("scoring", "dimensions", 0), ("arms", "skill-on"),
     ("baseline_policy",), ("trials",), ("judge",), ("cases", 0), ("cases", 0, "expectations", 0)],
    ids=lambda place: "/".join(map(str, place)) or "document",
)  # fmt: skip
def test_an_unknown_key_is_an_error(refusal, suite_document, place):
    document = node = suite_document()
    for step in place:
        node = node[step]
    node["surplus"] = 1
    assert list(refusal(document)) == ["".join(f"/{step}" for step in place)]


def test_inputs_and_metadata_are_free(load, suite_document):
    document = suite_document()
    document["metadata"]["anything"] = {"at": ["all"]}
    document["cases"][0]["inputs"]["anything"] = None
    document["arms"]["skill-on"]["inputs"] = {"any": 1}
    assert load(document).cases[0].inputs["anything"] is None


def test_ids_and_dimensions_stand_once(refusal, suite_document):
    document = suite_document()
    document["cases"][1]["id"] = "open"
    document["scoring"]["dimensions"][1]["name"] = "correctness"
    problems = refusal(document)
    assert list(problems) == ["/cases/1/id", "/scoring/dimensions/1/name"]
    assert "stands twice" in problems["/cases/1/id"]


def test_a_deterministic_suite_needs_no_network(refusal, load, suite_document):
    document = suite_document()
    document["tier"] = "deterministic"
    assert load(document).tier is Tier.DETERMINISTIC
    document["environment"]["network"] = "required"
    assert list(refusal(document)) == ["/environment/network"]


def test_a_command_case_needs_a_command(refusal, load, suite_document):
    for inputs in ({"shell": "true"}, {"argv": ["true"]}, {"command": "true"}):
        document = suite_document()
        document["cases"][0]["inputs"] = inputs
        assert load(document).cases[0].inputs == inputs
    document["cases"][0]["inputs"] = {"args": ["x"]}
    assert list(refusal(document)) == ["/cases/0/inputs"]


OUTSIDE = ["../x", "a/../../x", "/etc/passwd", "a\\b", "~/x", "~root", "./x", "a//b", "a/", ".", "..", "C:\\x",
           "a\nb", "x\x00"]  # fmt: skip


@pytest.mark.parametrize("path", OUTSIDE)
def test_a_path_stays_inside_the_repository_by_its_text(refusal, suite_document, path):
    document = suite_document()
    document["fixtures"][0]["path"] = path
    document["cases"][0]["fixtures"][0]["path"] = path
    document["judge"]["rubric"] = path
    assert list(refusal(document)) == ["/fixtures/0/path", "/cases/0/fixtures/0/path", "/judge/rubric"]


def test_an_empty_path_is_refused(refusal, suite_document):
    document = suite_document()
    document["fixtures"][0]["path"] = document["judge"]["rubric"] = ""
    assert list(refusal(document)) == ["/fixtures/0/path", "/judge/rubric"]


@pytest.mark.parametrize("path", ["a", "a/b.txt", ".hidden/x", "with space/x=1,2@3+4_5-6", "...", "a..b"])
def test_ordinary_paths_are_fine(path):
    assert suites.is_inside_path(path)


def test_every_problem_has_its_line(tmp_path, write_suite, suite_document):
    document = suite_document()
    document["cases"][1]["id"] = "open"
    document["fixtures"][0]["path"] = "../x"
    path = write_suite(tmp_path, document)
    with pytest.raises(SuiteError) as caught:
        suites.load(path)
    rows = path.read_text().split("\n")
    assert {p.pointer: rows[(p.line or 0) - 1].strip() for p in caught.value.problems} == {
        "/cases/1/id": '"id": "open",',
        "/fixtures/0/path": '"path": "../x",',
    }


# --- before a run ---------------------------------------------------------------------------------


def missing(suite):
    with pytest.raises(SuiteError) as caught:
        suites.check_fixtures(suite)
    return {problem.pointer: problem.message for problem in caught.value.problems}


def test_a_missing_file_stops_a_run_but_not_a_load(load, suite_document, tmp_path):
    suite = load(suite_document())
    suites.check_fixtures(suite)
    for name in ("door.txt", "open.txt", "rubric.md"):
        (tmp_path / "evals/door" / name).unlink()
    problems = missing(suite)
    assert list(problems) == ["/fixtures/0/path", "/cases/0/fixtures/0/path", "/judge/rubric"]
    assert all("is missing" in message for message in problems.values())
    assert suites.load(suite.path).id == "door"


def test_an_optional_fixture_may_be_missing(load, suite_document):
    document = suite_document()
    document["fixtures"] = [{"path": "not/there", "purpose": "extra", "required": False}]
    suites.check_fixtures(load(document))


def test_a_fixture_is_the_file_its_digest_names(load, suite_document):
    document = suite_document()
    document["fixtures"][0]["sha256"] = hashlib.sha256(b"4711\n").hexdigest()
    suites.check_fixtures(load(document))
    document["fixtures"][0]["sha256"] = hashlib.sha256(b"4711").hexdigest()
    assert "is not the file its sha256 names" in missing(load(document))["/fixtures/0/path"]


def test_a_link_may_not_leave_the_repository(load, suite_document, tmp_path):
    suite = load(suite_document())
    door = tmp_path / "evals/door/door.txt"
    (tmp_path / "evals/door/inside.txt").write_text("4711\n")
    door.unlink()
    door.symlink_to("inside.txt")
    suites.check_fixtures(suite)
    for target, words in (("/etc/passwd", "leaves the repository"), ("door.txt", "is missing")):
        door.unlink()
        door.symlink_to(target)
        assert words in missing(suite)["/fixtures/0/path"]


# --- selection ------------------------------------------------------------------------------------


def test_archetypes_match_exactly(load, suite_document):
    suite = load(suite_document())
    assert [case.id for case in suites.select(suite, archetype="A1")] == ["open"]
    assert [case.id for case in suites.select(suite, archetype="A10")] == ["refuse"]
    assert [case.id for case in suites.select(suite, case_ids=["refuse"])] == ["refuse"]
    assert suites.select(suite) == suite.cases
    for unknown in ("A", "a1", "A100", ""):
        with pytest.raises(UsageError, match=r"unknown archetype .*known: A1, A10"):
            suites.select(suite, archetype=unknown)


def test_nothing_selected_is_an_error(load, suite_document):
    suite = load(suite_document())
    with pytest.raises(UsageError, match="unknown case 'close'"):
        suites.select(suite, case_ids=["open", "close"])
    with pytest.raises(UsageError, match="none of these cases is of archetype 'A10'"):
        suites.select(suite, archetype="A10", case_ids=["open"])


# --- digests --------------------------------------------------------------------------------------

TEXT = st.text(st.characters(exclude_categories=["Cs"]), min_size=1, max_size=5)
MOVES = {  # an edit of ... moves exactly ...
    "metadata": {"raw", "canonical", "metadata"},
    "name": {"raw", "canonical", "metadata"},
    "purpose": {"raw", "canonical", "metadata"},
    "policy": {"raw", "canonical", "policy"},
    "scoring": {"raw", "canonical", "scoring"},
    "arms": {"raw", "canonical", "scoring"},
    "environment": {"raw", "canonical", "scoring"},
    "trials": {"raw", "canonical", "scoring"},
    "judge": {"raw", "canonical", "scoring"},
    "case": {"raw", "canonical", "scoring"},
    "fixture file": {"scoring"},
    "case fixture file": {"scoring"},
    "rubric file": {"scoring"},
    "formatting": {"raw"},
    "nothing": set(),
}
FILES = {"fixture file": "door.txt", "case fixture file": "open.txt", "rubric file": "rubric.md"}


def edit(document, kind, text, number):
    """Change one thing of the document; the value is always new."""
    new = f"new {text}"
    targets = {
        "metadata": (document["metadata"], text, [new]),
        "name": (document, "name", new),
        "purpose": (document["fixtures"][0], "purpose", new),
        "policy": (document["baseline_policy"], "max_dimension_regression", number),
        "scoring": (document["scoring"], "critical_threshold", number),
        "arms": (document["arms"]["skill-on"], "prompt_suffix", new),
        "environment": (document["environment"], "timeout_seconds", 6 + number),
        "trials": (document["trials"], "per_case", 3 + int(9 * number)),
        "judge": (document["judge"], "family", new),
        "case": (document["cases"][1], "title", new),
    }
    if kind in targets:
        node, key, value = targets[kind]
        node[key] = value
    return document


def reversed_keys(node):
    if isinstance(node, dict):
        return {key: reversed_keys(node[key]) for key in reversed(node)}
    return [reversed_keys(child) for child in node] if isinstance(node, list) else node


@settings(max_examples=60, deadline=None)
@given(kind=st.sampled_from(list(MOVES)), text=TEXT, number=st.floats(0, 1))
def test_an_edit_moves_exactly_the_layers_it_touches(suite_document, write_suite, kind, text, number):
    with tempfile.TemporaryDirectory() as folder:
        path = write_suite(Path(folder), suite_document())
        before, cases_before = digests(path)
        document = edit(suite_document(), kind, text, number)
        if kind == "formatting":
            write_suite(Path(folder), text=json.dumps(reversed_keys(document), indent=3) + "\n")
        else:
            write_suite(Path(folder), document)
        if kind in FILES:
            (path.parent / FILES[kind]).write_text(f"new {text}", "utf-8")
        after, cases_after = digests(path)
    assert tuple(before) == LAYERS
    assert {layer for layer in LAYERS if before[layer] != after[layer]} == MOVES[kind]
    moved = {case for case in cases_before if cases_before[case] != cases_after[case]}
    assert moved == {"case": {"refuse"}, "case fixture file": {"open"}}.get(kind, set())


def digests(path):
    suite = suites.load(path)
    return suites.hashes(suite), suites.case_hashes(suite)


def test_the_raw_digest_is_of_the_bytes_as_they_are(tmp_path, write_suite, suite_document):
    path = write_suite(tmp_path, text="\ufeff" + json.dumps(suite_document()).replace("60", "6e1") + "\r\n")
    assert digests(path)[0]["raw"] == hashlib.sha256(path.read_bytes()).hexdigest()
    suites.check_fixtures(suites.load(path))


def test_one_number_written_in_two_ways_means_one_thing(tmp_path, write_suite, suite_document):
    document = suite_document()
    document["trials"]["per_case"] = 2.0
    document["scoring"]["aggregate_threshold"] = 1
    before, _ = digests(write_suite(tmp_path, document))
    document["trials"]["per_case"] = 2
    document["scoring"]["aggregate_threshold"] = 1.0
    after, _ = digests(write_suite(tmp_path, document))
    assert {layer for layer in LAYERS if before[layer] != after[layer]} == {"raw"}
    assert suites.load(tmp_path / "evals/door").trials_per_case == 2


@pytest.mark.parametrize("name", ["evals/door/skill.md", "evals/door/notes"])
def test_what_an_arm_brings_is_part_of_what_is_asked(tmp_path, write_suite, suite_document, name):
    document = suite_document()
    document["arms"]["skill-on"]["files"] = [name]
    path = write_suite(tmp_path, document)
    (tmp_path / "evals/door/notes/deep").mkdir(parents=True)
    file = tmp_path / ("evals/door/skill.md" if name.endswith(".md") else "evals/door/notes/deep/a.md")
    met = []
    for change in (file.touch, lambda: file.write_text("x"), lambda: file.rename(file.with_name("b.md"))):
        change()
        met.append(digests(path))
    assert len({layers["scoring"] for layers, _ in met}) == 3
    assert len({str({**layers, "scoring": ""}) + str(cases) for layers, cases in met}) == 1


def test_a_missing_fixture_changes_the_scoring_digest(tmp_path, write_suite):
    path = write_suite(tmp_path)
    before, _ = digests(path)
    (path.parent / "door.txt").unlink()
    after, _ = digests(path)
    assert {layer for layer in LAYERS if before[layer] != after[layer]} == {"scoring"}


def test_the_order_of_cases_is_part_of_the_suite_but_not_of_a_case(tmp_path, write_suite, suite_document):
    document = suite_document()
    before, cases_before = digests(write_suite(tmp_path, document))
    document["cases"].reverse()
    after, cases_after = digests(write_suite(tmp_path, document))
    assert before["scoring"] != after["scoring"] and cases_before == cases_after


# --- real suites ----------------------------------------------------------------------------------

HERE = Path(__file__).parent
ARCHIVES = HERE.parents[1] / "shared/data/agentops/snapshots"
with open(HERE / "agentops/snapshots.csv", newline="", encoding="utf-8") as file:
    TABLE = list(csv.DictReader(line for line in file if not line.startswith("#")))
SNAPSHOTS = {"00ebd7ce": (54, 274, 212, 54, 8), "9c4e32a1": (57, 283, 220, 54, 0)}


@pytest.mark.parametrize("snapshot", SNAPSHOTS)
def test_the_table_holds_the_published_totals(snapshot):
    rows = [row for row in TABLE if row["snapshot"] == snapshot]
    assert (
        len({row["suite_id"] for row in rows}),
        sum(int(row["cases"]) for row in rows),
        sum(int(row["critical_cases"]) for row in rows),
        sum(row["baseline_digest_fresh"] != "" for row in rows),
        sum(row["baseline_digest_fresh"] == "no" for row in rows),
    ) == SNAPSHOTS[snapshot]
    assert all(0 <= int(row["critical_cases"]) <= int(row["cases"]) for row in rows)


@pytest.fixture(scope="module")
def unpacked(tmp_path_factory):
    if not ARCHIVES.is_dir():
        pytest.skip("the public snapshots lie beside the repository only where they were fetched")
    folders = {}
    for snapshot in SNAPSHOTS:
        folders[snapshot] = tmp_path_factory.mktemp(snapshot)
        with tarfile.open(ARCHIVES / f"agentops-evals@{snapshot}.tar.gz") as archive:
            archive.extractall(folders[snapshot], filter="data")
    return folders


@pytest.mark.parametrize("snapshot", SNAPSHOTS)
def test_every_public_suite_loads_with_the_digest_of_its_baseline(unpacked, snapshot):
    root = unpacked[snapshot]
    found = []
    for path in (root / "evals").glob("*/*.json"):
        suite = suites.load(path, root=root)
        baseline = root / f".agents/evals/baselines/{suite.id}.baseline.json"
        fresh = ""
        if baseline.is_file():
            promoted = json.loads(baseline.read_text("utf-8"))["suite"]["sha256"]
            fresh = "yes" if promoted == suites.hashes(suite)["raw"] else "no"
        critical = sum(case.critical for case in suite.cases)
        found.append((suite.id, str(len(suite.cases)), str(critical), fresh))
    rows = [tuple(row.values())[1:] for row in TABLE if row["snapshot"] == snapshot]
    assert sorted(found) == sorted(rows)
