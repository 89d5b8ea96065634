"""What a private suite says when it is not as it must be."""

import json

import pytest

from evalstats import runner, suite
from evalstats.errors import SuiteError


@pytest.fixture
def private(tmp_path, suite_document, write_suite):
    """Return a function that writes the suite, private and changed, and returns its path."""

    def write(change=lambda document: None, **changes):
        document = suite_document()
        document["visibility"] = "private_holdout"
        document |= changes
        change(document)
        return write_suite(tmp_path, document)

    return write


def said(path):
    with pytest.raises(SuiteError) as caught:
        loaded = suite.load(path)
        runner.check(loaded)
    return caught.value.lines()


def test_a_missing_file_is_told_by_its_place(private, tmp_path):
    path = private(fixtures=[{"path": "evals/door/secret.txt", "purpose": "secret"}])
    (line,) = said(path)
    assert line.startswith(f"{path}:") and line.endswith(": /fixtures/0/path: the file is missing")


def test_an_id_that_stands_twice_is_not_named(private):
    path = private(lambda d: d["cases"][1].update(id=d["cases"][0]["id"]))
    (line,) = said(path)
    assert line.endswith(": /cases/1/id: this case id stands twice; rename one")


def test_what_cannot_be_checked_is_told_by_its_rule(private):
    path = private(lambda d: d["cases"][0].update(expectations=[{"type": "regex", "value": "(secret"}]))
    (line,) = said(path)
    told = line.removeprefix(str(path))
    assert "/cases/0/expectations/0/value: is not a pattern of RE2" in told
    assert "secret" not in told and "open" not in told


def test_an_archetype_that_is_not_there_does_not_call_up_the_others(private):
    from evalstats.errors import UsageError

    with pytest.raises(UsageError, match=r"unknown archetype 'A9'$"):
        suite.select(suite.load(private()), archetype="A9")


@pytest.mark.parametrize("fault", ["broken JSON", "bad tier", "no visibility"])
def test_who_names_a_folder_is_not_told_where_in_it_a_private_suite_lies(private, tmp_path, fault):
    path = private(**({"tier": "secret"} if fault == "bad tier" else {}))
    text = path.read_text()
    if fault == "broken JSON":
        path.write_text(text[:-20])
    if fault == "no visibility":
        path.write_text(text.replace('"visibility": "private_holdout",', ""))
    hidden = path.parent.rename(path.parent.with_name("secret-folder"))
    found, (error,) = suite.load_all(tmp_path / "evals")
    assert found == []
    (line,) = error.lines()
    assert line.startswith(f"{tmp_path / 'evals'}: (document): holds a private suite with 1 problem(s)")
    assert (error.path, error.hidden) == (tmp_path / "evals", hidden / "suite.json")
    with pytest.raises(SuiteError) as caught:
        suite.load_below(hidden / "suite.json", tmp_path / "evals")
    assert "secret-folder" not in str(caught.value)


def test_other_json_beside_suites_is_no_private_suite(tmp_path):
    (tmp_path / "evals").mkdir()
    (tmp_path / "evals/suite.json").write_text(json.dumps({"run_id": "x"}))
    _, (error,) = suite.load_all(tmp_path / "evals")
    assert error.path == tmp_path / "evals/suite.json"
