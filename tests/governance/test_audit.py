"""An audit names what does not belong together, counts as the contract counts, and no file stops it."""

import json
import os
import subprocess
import sys
import tarfile
from pathlib import Path

import pytest

from evalstats import contract, suite
from evalstats.errors import UsageError
from evalstats.governance.audit import audit_baselines
from evalstats.governance.audit_record import WAYS_OUT, Kind, Severity
from evalstats.governance.staleness import Layer

ARCHIVES = Path(__file__).parents[3] / "shared/data/agentops/snapshots"
LISTS = (
    "missing_compare_baselines",
    "unexpected_baselines_for_none",
    "orphan_baselines",
    "stale_suite_hashes",
    "unloadable_baselines",
    "filename_mismatch",
    "shadowed_promotions",
    "schema_invalid_suites",
)


def numbers(document):
    """Return suites, baselines, missing, unexpected, orphan, stale."""
    return (
        document["suite_count"],
        document["baseline_count"],
        *(len(document[name]) for name in LISTS[:4]),
    )


def lists(document):
    return {name: document[name] for name in LISTS if document[name]}


class Repository:
    """A repository with suites under ``evals`` and baselines beside them, and its own history."""

    def __init__(self, root, document):
        self.root, self.document = root, document
        self.git("init", "-q", "-b", "main")

    def git(self, *words):
        name = ("-c", "user.name=Tester", "-c", "user.email=tester@example.org")
        subprocess.run(["git", "-C", self.root, *name, *words], check=True, capture_output=True)

    def commit(self, message):
        self.git("add", "-A")
        self.git("commit", "-qm", message)

    def path(self, name):
        return self.root / "evals" / name / "suite.json"

    def suite(self, name, /, edit=None, indent=1, **changes):
        document = {**self.document(), "id": name, **changes}
        if edit:
            edit(document)
        self.path(name).parent.mkdir(parents=True, exist_ok=True)
        self.path(name).write_text(json.dumps(document, indent=indent), "utf-8")
        return self.path(name)

    def baseline(self, name, path=None, *, layers=True, **about):
        """Write a baseline of a suite as it is now; its checks are recorded as the source system records them."""
        loaded = suite.load(self.path(name))
        document = loaded.document
        told = {key: document[key] for key in ("id", "visibility", "tier")}
        told |= {"path": f"evals/{name}/suite.json", "sha256": contract.digest(loaded.raw)}
        told |= {"hashes": suite.hashes(loaded)} if layers else {}
        cases = [
            {
                "id": case["id"],
                "status": "pass",
                "score": 1,
                "diagnostics": [
                    f"exit_code matched {e.get('value', 0)}"
                    if e["type"] == "exit_code"
                    else f"stdout contains {json.dumps(e['value'])}"
                    for e in case["expectations"]
                ],
            }
            for case in document["cases"]
        ]
        record = {
            "schema_version": 1,
            "run_id": f"{name}-1",
            "suite": {**told, **about},
            "status": "pass",
            "case_results": cases,
            "aggregate_score": 1,
            "dimension_scores": {},
        }
        path = path or self.root / f"evals/{name}/baselines/{name}.baseline.json"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(json.dumps(record), "utf-8")
        return path

    def audit(self, baselines=None, git=False):
        return audit_baselines(self.root / "evals", baselines, git=git).as_record()


@pytest.fixture
def repository(tmp_path, suite_document, write_suite):
    def document():
        made = suite_document()
        made["cases"][1]["expectations"] = [{"type": "stdout_contains", "value": "no"}]
        return made

    write_suite(tmp_path / "repository")  # for the files that the suites stand on
    (tmp_path / "repository/evals/door/suite.json").unlink()
    for path in sorted((tmp_path / "repository/.git").rglob("*"), reverse=True):
        path.rmdir() if path.is_dir() else path.unlink()
    return Repository(tmp_path / "repository", document)


# --- the contract's figures ------------------------------------------------------------------------


@pytest.fixture(scope="module")
def snapshots(tmp_path_factory):
    if not ARCHIVES.is_dir():
        pytest.skip("the public snapshots lie beside the repository only where they were fetched")
    roots = {}
    for name in ("00ebd7ce", "9c4e32a1"):
        roots[name] = tmp_path_factory.mktemp(name)
        with tarfile.open(ARCHIVES / f"agentops-evals@{name}.tar.gz") as archive:
            archive.extractall(roots[name], filter="data")
    return roots


def run(root, *words, **environment):
    command = [sys.executable, "-m", "evalstats", "baseline", "audit", *words]
    place = str(Path(__file__).parents[2])
    return subprocess.run(
        command,
        cwd=root,
        env={**os.environ, "PYTHONPATH": place, "COLUMNS": "80", **environment},
        capture_output=True,
        text=True,
        check=False,
    )


SNAPSHOT = ("--suites", "evals", "--baselines", ".agents/evals/baselines")


def test_the_first_snapshot(snapshots):
    done = run(snapshots["00ebd7ce"], *SNAPSHOT, "--json")
    document = json.loads(done.stdout)
    contract.validate(document, "baseline-audit.v1")
    assert (done.returncode, done.stderr) == (1, "")
    assert numbers(document) == (54, 54, 0, 54, 0, 8)
    assert document["policy_mismatch_count"] == 54
    assert document["staleness_counts"] == dict.fromkeys(Layer, 0) | {"fresh": 46, "scoring": 8}
    for item in document["stale_suite_hashes"]:
        assert (item["staleness"], item["changed"]) == ("scoring", ["scoring"])
        assert item["evidence"].startswith("recorded diagnostics: ")
        assert item["evidence"].endswith("; case set unchanged")
        raw = (snapshots["00ebd7ce"] / item["suite_path"]).read_bytes()
        record = json.loads((snapshots["00ebd7ce"] / item["baseline_path"]).read_text("utf-8"))
        assert item["actual_sha"] == contract.digest(raw) != item["expected_sha"]
        assert item["expected_sha"] == record["suite"]["sha256"]


def test_the_second_snapshot(snapshots):
    done = run(snapshots["9c4e32a1"], *SNAPSHOT, "--json")
    document = json.loads(done.stdout)
    assert (done.returncode, done.stderr) == (0, "")
    assert numbers(document) == (57, 54, 0, 0, 0, 0)
    assert lists(document) == {}
    assert [(s["suite_id"], s["mode"]) for s in document["suites_without_baseline"]] == [
        ("agentops-core.hook-context-value", "none"),
        ("agentops-core.lid-primitives-demo", "none"),
        ("agentops-core.remote-compute-contracts", "none"),
    ]


def test_the_terminal_shows_the_figures_in_80_columns(snapshots):
    first = run(snapshots["00ebd7ce"], *SNAPSHOT).stdout
    assert first.splitlines()[1].split() == ["54", "54", "0", "54", "0", "8"]
    assert "staleness: 46 fresh, 8 scoring" in first
    second = run(snapshots["9c4e32a1"], *SNAPSHOT).stdout
    assert second.splitlines()[1].split() == ["57", "54", "0", "0", "0", "0"]
    assert "agentops-core.lid-primitives-demo       none" in second
    assert max(map(len, [*first.splitlines(), *second.splitlines()])) <= 80


def test_checks_taken_from_the_record_leave_nothing_to_prove_it_by(snapshots, tmp_path):
    root = tmp_path / "copy"
    with tarfile.open(ARCHIVES / "agentops-evals@00ebd7ce.tar.gz") as archive:
        archive.extractall(root, filter="data")
    for path in (root / ".agents/evals/baselines").iterdir():
        record = json.loads(path.read_text("utf-8"))
        for case in record["case_results"]:
            case.pop("diagnostics", None)
        path.write_text(json.dumps(record), "utf-8")
    done = run(root, *SNAPSHOT)
    assert done.stdout.splitlines()[1].split() == ["54", "54", "0", "54", "0", "8"]
    assert done.stdout.count("unknown (raw digest only)") == 8
    assert "staleness: 46 fresh, 8 unknown" in done.stdout


# --- a history of edits ----------------------------------------------------------------------------

EDITS = {
    "formatting": {"indent": 3},
    "metadata": {"name": "Another name"},
    "policy": {"baseline_policy": {"mode": "compare", "max_aggregate_regression": 0.2}},
    "scoring": {"edit": lambda d: d["cases"][1]["expectations"][0].update(value="no!")},
    "weights": {"edit": lambda d: d["scoring"]["dimensions"][0].update(weight=0.6)},
    "case-set": {"edit": lambda d: d["cases"].append({**d["cases"][1], "id": "again"})},
}
LAYER = {**{name: name for name in EDITS}, "weights": "scoring"}


@pytest.fixture(params=[True, False], ids=["layers", "raw"])
def edited(repository, request):
    """Return a repository whose suites were each edited once after their baseline was promoted."""
    for name in (*EDITS, "untouched"):
        repository.suite(name)
        repository.baseline(name, layers=request.param)
    repository.commit("promote")
    for name, change in EDITS.items():
        repository.suite(name, **change)
        repository.commit(f"edit {name}")
    repository.git("mv", "evals/policy", "evals/moved")
    repository.git("mv", "evals/moved", "evals/policy")
    return repository, request.param


def test_a_history_of_edits_is_classified_exactly(edited):
    repository, layers = edited
    document = repository.audit(git=True)
    assert {s["suite_id"]: s["staleness"] for s in document["stale_suite_hashes"]} == LAYER
    assert {s["evidence"] for s in document["stale_suite_hashes"]} == {
        "recorded digests" if layers else "git history"
    }
    assert numbers(document) == (7, 7, 0, 0, 0, 6)
    assert document["notes"] == []


def test_without_the_history_the_same_or_unknown(edited):
    repository, layers = edited
    found = {s["suite_id"]: s["staleness"] for s in repository.audit()["stale_suite_hashes"]}
    blind = {} if layers else dict.fromkeys(("formatting", "metadata", "policy", "weights"), "unknown")
    assert found == LAYER | blind


def test_severity_follows_what_a_gate_stands_on(edited):
    repository, _ = edited
    document = repository.audit(git=True)
    severity = {s["suite_id"]: s["severity"] for s in document["stale_suite_hashes"]}
    assert severity == dict.fromkeys(LAYER, "warning") | {"formatting": "info", "metadata": "info"}
    assert document["severity"] == {"policy": None, "staleness": "warning", "files": None}
    blocking = {"mode": "compare", "max_aggregate_regression": 0.05, "blocking_gate": "ci"}
    repository.suite("scoring", baseline_policy=blocking, **EDITS["scoring"])
    repository.suite("bare", baseline_policy=blocking)
    repository.suite("lax", baseline_policy={**blocking, "blocking_gate": "none"})
    document = repository.audit(git=True)
    assert (
        next(s for s in document["stale_suite_hashes"] if s["suite_id"] == "scoring")["severity"] == "error"
    )
    missing = {s["suite_id"]: s["severity"] for s in document["missing_compare_baselines"]}
    assert missing == {"bare": "error", "lax": "warning"}
    assert document["severity"] == {"policy": "error", "staleness": "error", "files": None}


def test_a_version_that_was_never_committed_is_unknown(repository):
    repository.suite("solver", name="Never committed")
    repository.baseline("solver", layers=False)
    repository.suite("solver")
    repository.commit("first")
    (item,) = repository.audit(git=True)["stale_suite_hashes"]
    assert (item["staleness"], item["evidence"]) == ("unknown", "raw digest only")


def test_an_audit_without_history_says_so_and_goes_on(repository, monkeypatch, tmp_path):
    repository.suite("solver")
    repository.baseline("solver", layers=False)
    repository.suite("solver", edit=EDITS["scoring"]["edit"])
    subprocess.run(["rm", "-r", repository.root / ".git"], check=True)
    done = run(repository.root, "--git", GIT_CEILING_DIRECTORIES=str(tmp_path))
    assert done.returncode == 1
    assert done.stderr == "evalstats: there is no git history here to search\n"
    assert "scoring (recorded diagnostics: 1 check(s) gone, 1 new; case set unchanged)" in done.stdout


# --- the lists -------------------------------------------------------------------------------------

NONE = {"mode": "none"}


def test_modes_decide_what_must_be_there(repository):
    modes = ("none", "compare", "promotable")
    for mode in modes:
        for name in (f"{mode}.with", f"{mode}.without"):
            repository.suite(name, baseline_policy={"mode": mode})
        repository.baseline(f"{mode}.with")
    document = repository.audit()
    assert numbers(document) == (6, 3, 1, 1, 0, 0)
    assert document["policy_mismatch_count"] == 2
    assert document["missing_compare_baselines"] == [
        {
            "suite_id": "compare.without",
            "suite_path": "evals/compare.without/suite.json",
            "mode": "compare",
            "problem": "no file evals/compare.without/baselines/compare.without.baseline.json",
            "severity": "warning",
        }
    ]
    assert document["unexpected_baselines_for_none"] == [
        {
            "suite_id": "none.with",
            "suite_path": "evals/none.with/suite.json",
            "baseline_path": "evals/none.with/baselines/none.with.baseline.json",
            "mode": "none",
            "severity": "warning",
        }
    ]
    bare = [entry["suite_id"] for entry in document["suites_without_baseline"]]
    assert bare == ["compare.without", "none.without", "promotable.without"]


@pytest.mark.parametrize("flat", [True, False])
def test_baselines_lie_beside_their_suite_or_in_one_folder(repository, tmp_path, flat):
    folder = tmp_path / "flat" if flat else None
    for name in ("a", "b"):
        repository.suite(name)
        repository.baseline(name, folder / f"{name}.baseline.json" if folder else None)
    assert numbers(repository.audit(folder)) == (2, 2, 0, 0, 0, 0)
    if folder:
        assert numbers(repository.audit()) == (2, 0, 2, 0, 0, 0)


def test_the_policy_may_name_the_place(repository):
    policy = {"mode": "compare", "baseline_path": "evals/kept/here.json"}
    repository.suite("solver", baseline_policy=policy)
    assert numbers(repository.audit()) == (1, 0, 1, 0, 0, 0)
    repository.baseline("solver", repository.root / "evals/kept/here.json")
    assert numbers(repository.audit()) == (1, 1, 0, 0, 0, 0)
    repository.suite("solver", baseline_policy={**policy, "baseline_path": "../../elsewhere.json"})
    (item,) = repository.audit()["schema_invalid_suites"]
    assert item["suite_id"] == "solver" and "baseline_path" in item["problem"]


def test_an_orphan_has_no_suite(repository):
    repository.suite("solver")
    repository.suite("gone")
    repository.baseline("solver")
    path = repository.baseline("gone")
    repository.path("gone").unlink()
    document = repository.audit()
    assert numbers(document) == (1, 2, 0, 0, 1, 0)
    assert lists(document) == {
        "orphan_baselines": [
            {
                "suite_id": "gone",
                "baseline_path": path.relative_to(repository.root).as_posix(),
                "severity": "warning",
            }
        ]
    }


def test_a_record_of_another_suite_is_named(repository, tmp_path):
    flat = tmp_path / "flat"
    for name in ("a", "b"):
        repository.suite(name)
        repository.baseline(name, flat / f"{name}.baseline.json")
    repository.baseline("a", flat / "b.baseline.json")
    repository.baseline("a", flat / "ghost.baseline.json")
    document = repository.audit(flat)
    assert numbers(document) == (2, 3, 0, 0, 1, 0)
    found = {item["suite_id"]: item["problem"] for item in document["filename_mismatch"]}
    assert found == {"b": "its record is of a", "ghost": "its record is of a"}
    assert document["staleness_counts"]["fresh"] == 1  # b cannot be held against a run of a


def test_a_promotion_where_nothing_looks_is_named(repository, tmp_path):
    flat = tmp_path / "flat"
    repository.suite("a")
    repository.baseline("a", flat / "a.json")
    repository.baseline("a", flat / "old/a.baseline.json")
    (flat / "notes.json").write_text('{"suite": "a"}', "utf-8")
    (flat / "broken.json").write_text("{", "utf-8")
    document = repository.audit(flat)
    assert numbers(document) == (1, 1, 1, 0, 0, 0)
    paths = [(i["baseline_path"], i["problem"]) for i in document["shadowed_promotions"]]
    looked = "its suite looks at flat/a.baseline.json"
    assert paths == [("flat/a.json", looked), ("flat/old/a.baseline.json", looked)]


BAD = {
    "empty": b"",
    "not-json": b"{",
    "not-utf8": b"\xff\xfe",
    "list": b"[]",
    "number": b"7",
    "deep": b"[" * 100_000,
    "repeated-key": b'{"run_id": 1, "run_id": 2}',
    "no-digest": b'{"schema_version": 1, "run_id": "x", "suite": {"id": "x"}}',
}


def test_no_bad_baseline_stops_the_audit(repository):
    for name, raw in BAD.items():
        repository.suite(name)
        repository.baseline(name).write_bytes(raw)
    repository.suite("sound")
    repository.baseline("sound")
    repository.suite("folder")
    (repository.root / "evals/folder/baselines/folder.baseline.json").mkdir(parents=True)
    repository.suite("dangling")
    link = repository.root / "evals/dangling/baselines/dangling.baseline.json"
    link.parent.mkdir()
    link.symlink_to("nowhere")
    document = repository.audit()
    assert {item["suite_id"] for item in document["unloadable_baselines"]} == {*BAD, "folder", "dangling"}
    assert all(item["severity"] == "error" and item["problem"] for item in document["unloadable_baselines"])
    assert document["staleness_counts"]["fresh"] == 1


def test_no_bad_suite_stops_the_audit(repository):
    for name in ("sound", "invalid", "twin"):
        repository.suite(name)
        repository.baseline(name)
    repository.suite("invalid", tier="bespoke", baseline_policy={"mode": "compare", "blocking_gate": 7})
    repository.suite("twin", edit=lambda d: d.update(id="sound"))
    for name, raw in BAD.items():
        path = repository.path(name)
        path.parent.mkdir()
        path.write_bytes(raw)
    done = run(repository.root, "--json")
    document = json.loads(done.stdout)
    assert done.returncode == 1 and done.stderr == ""
    paths = {item["suite_path"] for item in document["schema_invalid_suites"]}
    assert paths == {f"evals/{name}/suite.json" for name in (*BAD, "invalid", "twin")}
    assert "bespoke" not in done.stdout and "run_id" not in done.stdout
    (stale,) = document["stale_suite_hashes"]
    assert (stale["suite_id"], stale["staleness"]) == ("invalid", "unknown")
    assert stale["evidence"] == "the suite breaks its schema"
    assert [item["suite_id"] for item in document["orphan_baselines"]] == ["twin"]
    twin = next(i for i in document["schema_invalid_suites"] if i["suite_path"] == "evals/twin/suite.json")
    assert twin["problem"] == "its id is also that of evals/sound/suite.json"


def test_a_private_suite_is_passed_over_and_not_named(repository, tmp_path):
    repository.suite("open")
    repository.baseline("open")
    secret = "vermilion-4711"
    for index, breaks in enumerate((False, True)):
        name = f"{secret}-{index}"
        repository.suite(name, visibility="private_holdout", name=secret, owners=[secret])
        repository.baseline(name)
        repository.baseline(name, repository.root / f"evals/open/baselines/{secret}.baseline.json")
        repository.suite(
            name,
            visibility="private_holdout",
            name=secret,
            edit=lambda d: d["cases"].append({**d["cases"][0], "id": secret}),
            **({"tier": secret} if breaks else {}),
        )
    for words in ((), ("--json",), ("--git",)):
        done = run(repository.root, *words)
        assert secret not in done.stdout + done.stderr
        assert done.returncode == 0
    document = json.loads(run(repository.root, "--json").stdout)
    assert numbers(document) == (1, 1, 0, 0, 0, 0)
    assert document["private_count"] == 2


def test_paths_and_digests_do_not_depend_on_where_the_repository_lies(repository, tmp_path):
    for name, change in EDITS.items():
        repository.suite(name)
        repository.baseline(name)
        repository.suite(name, **change)
    first = repository.audit()
    moved = tmp_path / "elsewhere"
    repository.root.rename(moved)
    repository.root = moved
    assert repository.audit() == first
    assert str(tmp_path) not in json.dumps(first)
    repository.suite("policy")
    assert repository.audit()["inputs"]["suites"] != first["inputs"]["suites"]
    assert repository.audit()["inputs"]["baselines"] == first["inputs"]["baselines"]


def test_a_file_name_that_is_no_text_is_printed_all_the_same(repository):
    repository.suite("solver")
    path = repository.baseline("solver")
    path.rename(os.fsdecode(os.fsencode(path.parent) + b"/\xff\x1b.baseline.json"))
    for words in ((), ("--json",)):
        done = run(repository.root, *words)
        assert done.returncode == 1 and done.stderr == ""
        assert "\x1b" not in done.stdout
    assert contract.canonical_digest(repository.audit())


@pytest.mark.parametrize("name", ["x" * 5000, "..", "a/b", "\0", "", "\u202e", 7, None, ["x"]])
def test_an_id_that_names_no_file_stops_nothing(repository, name):
    repository.suite("solver", id=name)
    (item,) = repository.audit()["schema_invalid_suites"]
    assert item["suite_path"] == "evals/solver/suite.json"
    assert run(repository.root).returncode == 1


def test_a_path_too_long_for_the_system_stops_nothing(repository):
    repository.suite(
        "solver", baseline_policy={"mode": "compare", "baseline_path": "/".join(["x" * 199] * 30)}
    )
    assert numbers(repository.audit()) == (1, 0, 1, 0, 0, 0)


def test_a_lift_suite_is_held_against_its_history_like_any_other(repository):
    check = {"id": "e1", "kind": "cites_card", "value": "card"}
    prompt = {"id": "A1-bucket", "archetype": "A1", "prompt": "Make a bucket", "expectations": [check]}
    made = {"schema_version": 1, "skill_name": "lift", "evals": [prompt]}
    path = repository.path("lift")
    path.parent.mkdir(parents=True)
    path.write_text(json.dumps(made), "utf-8")
    repository.commit("first")
    before = path.read_bytes()
    path.write_text(json.dumps({**made, "comment": "Said otherwise."}), "utf-8")
    loaded = suite.load(path)
    repository.suite("door")  # a record to begin with
    record = json.loads(repository.baseline("door", layers=False).read_text("utf-8"))
    record["suite"] |= {"id": loaded.id, "sha256": contract.digest(before)}
    place = path.parent / f"baselines/{loaded.id}.baseline.json"
    place.parent.mkdir()
    place.write_text(json.dumps(record), "utf-8")
    (stale,) = repository.audit(git=True)["stale_suite_hashes"]
    assert (stale["suite_id"], stale["staleness"], stale["evidence"]) == (
        loaded.id,
        "metadata",
        "git history",
    )


@pytest.mark.parametrize(
    "words", [("--suites", "nowhere"), ("--baselines", "nowhere"), ("--suites", "empty")]
)
def test_a_folder_that_is_not_there_is_an_error_in_one_line(repository, words):
    repository.suite("solver")
    (repository.root / "empty").mkdir()
    done = run(repository.root, *words)
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.count("\n") == 1 and words[1] in done.stderr


def test_a_clean_repository_is_clean(repository):
    repository.suite("solver")
    repository.baseline("solver")
    done = run(repository.root)
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.splitlines()[1].split() == ["1", "1", "0", "0", "0", "0"]


def test_a_folder_without_suites_is_no_clean_audit(tmp_path):
    with pytest.raises(UsageError, match="no suite below"):
        audit_baselines(tmp_path)


# --- words -----------------------------------------------------------------------------------------


def test_words_are_those_of_the_schema():
    schema = contract.schema("baseline-audit.v1")
    assert [layer.value for layer in Layer] == schema["$defs"]["staleness"]["enum"]
    assert [severity.value for severity in Severity] == schema["$defs"]["severity"]["enum"]
    assert tuple(kind.value for kind in Kind) == LISTS
    assert set(LISTS) <= schema["properties"].keys()
    assert set(WAYS_OUT) == set(Kind)
