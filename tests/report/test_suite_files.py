import dataclasses

from evalstats import suite as suites
from evalstats.report import suite_files
from evalstats.report.provenance import Job


def job(**parameters):
    return Job(name="small", source=b"{}", parameters=parameters, inputs={"runs": "0" * 64})


def test_the_suite_of_this_id_is_found_here_and_above(tmp_path, write_suite, monkeypatch):
    write_suite(tmp_path)
    below = tmp_path / "notebooks"
    below.mkdir()
    for place in (tmp_path, below):
        monkeypatch.chdir(place)
        assert suite_files.find("evals", "door").id == "door"
    assert suite_files.find("evals", "window") is None
    assert suite_files.find("nowhere", "door") is None
    assert suite_files.find("", "door") is None


def test_a_broken_neighbour_does_not_matter(tmp_path, write_suite, monkeypatch):
    write_suite(tmp_path)
    (tmp_path / "evals/broken").mkdir()
    (tmp_path / "evals/broken/suite.json").write_text('{"schema_version": 1, "scoring": {}, "cases": []}')
    monkeypatch.chdir(tmp_path)
    assert suite_files.find("evals", "door").id == "door"


def test_a_private_suite_is_not_handed_out(tmp_path, write_suite, suite_document, monkeypatch):
    write_suite(tmp_path, suite_document() | {"visibility": "private_holdout"})
    monkeypatch.chdir(tmp_path)
    assert suite_files.find("evals", "door") is None


def test_the_copy_is_the_same_suite_and_its_digests_are_inputs(tmp_path, write_suite, monkeypatch):
    write_suite(tmp_path / "one")
    monkeypatch.chdir(tmp_path / "one")
    original = suite_files.find("evals", "door")
    frozen = suite_files.freeze(job(suites="evals"), "door", tmp_path / "work/suites")
    monkeypatch.chdir(tmp_path / "work")
    copied = suite_files.find(str(frozen.parameters["suites"]), "door")
    assert suites.hashes(copied) == suites.hashes(original)
    assert suites.fixture_problems(copied) == [] and copied.root == (tmp_path / "work/suites").resolve()
    assert frozen.parameters == {"suites": "suites"}
    hashes = suites.hashes(original)
    assert frozen.inputs == {"runs": "0" * 64, "suite raw": hashes["raw"], "suite scoring": hashes["scoring"]}


def test_without_a_file_the_notebook_is_told_so(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    asked = job(suites="evals")
    assert suite_files.freeze(asked, "door", tmp_path / "work") == dataclasses.replace(
        asked, parameters={"suites": ""}
    )
    assert not (tmp_path / "work").exists()
