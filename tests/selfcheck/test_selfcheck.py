"""The certificate: right numbers pass, a wrong one and a broken one fail, and the exit code says so."""

import json

import pytest

from evalstats import contract, selfcheck
from evalstats.cli import run_command
from evalstats.selfcheck import numbers, storage
from evalstats.selfcheck.numbers import CHECKS, Check


@pytest.fixture(scope="module")
def certificate():
    return selfcheck.certify()


def test_every_number_comes_out_here(certificate):
    assert [check for check in certificate["checks"] if not check["passed"]] == []
    assert certificate["passed"] and certificate["n_checks"] == len(CHECKS) + 1 > 30
    assert contract.validate(certificate, "selfcheck.v1") is None


def test_each_check_has_a_name_and_a_source_of_its_own_words(certificate):
    names = [check["name"] for check in certificate["checks"]]
    assert len(set(names)) == len(names) and all(check["source"] for check in certificate["checks"])


@pytest.mark.parametrize(
    ("expected", "found", "agrees"),
    [
        ("0.5", 0.5499, True),
        ("0.5", 0.5501, False),
        ("0.50", 0.506, False),
        ("4", 4.4, True),
        ("4", 5, False),
    ],
)
def test_a_number_is_met_to_its_last_printed_digit(expected, found, agrees):
    assert Check("x", "y", expected, lambda: found).tried()[1] is agrees


def test_nan_agrees_with_nothing():
    assert Check("x", "y", "0.5", lambda: float("nan")).tried() == ("nan", False)


def test_a_check_that_breaks_has_failed_and_the_others_go_on():
    def broken():
        raise ZeroDivisionError("no")

    document = selfcheck.certify([Check("broken", "nobody", "1", broken), *CHECKS[:2]])
    assert [check["passed"] for check in document["checks"]] == [False, True, True, True]
    assert (document["checks"][0]["found"], document["n_failed"]) == ("ZeroDivisionError: no", 1)
    assert not document["passed"]


def test_lost_trials_are_seen(monkeypatch):
    whole = storage._write

    def cut(folder):
        whole(folder)
        path = folder / "journal/host-1-1.jsonl"
        path.write_bytes(path.read_bytes().split(b"\n")[0] + b"\n")

    monkeypatch.setattr(storage, "_write", cut)
    assert storage.trials_survive() == ("1 trials", False)


def test_the_command_prints_and_writes_it(tmp_path, capsys):
    out = tmp_path / "certificate.json"
    assert run_command(["selfcheck", "--out", str(out)]) == 0
    assert "36 of 36 agree: evalstats" in capsys.readouterr().out
    assert json.loads(out.read_text())["passed"]


def test_a_wrong_number_ends_with_exit_code_1(monkeypatch, capsys):
    wrong = (Check("wrong", "nobody", "1", lambda: 2), *CHECKS[:1])
    monkeypatch.setattr(numbers, "CHECKS", wrong)
    monkeypatch.setattr("evalstats.selfcheck.certificate.certify.__defaults__", (wrong,), raising=False)
    assert run_command(["selfcheck"]) == 1
    assert "2 of 3 agree" in capsys.readouterr().out


def test_where_it_cannot_be_written_is_one_line(tmp_path, capsys):
    assert run_command(["selfcheck", "--out", str(tmp_path / "no/where.json")]) == 2
    assert "cannot be written: No such file" in capsys.readouterr().err
