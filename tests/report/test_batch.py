import pytest

from evalstats import report
from evalstats.errors import ReportError
from evalstats.report import BuiltReport, Request
from evalstats.report.batch import build_all, requests_for


def test_one_that_fails_stops_no_other(write_notebook, tmp_path):
    good = str(write_notebook())
    bad = str(write_notebook("bad", work="raise ValueError('no')", save=None))
    requests = [
        Request(notebook=good, parameters={"seed": 1}),
        Request(notebook=bad, subject="demo"),
        Request(notebook="nothing"),
        Request(notebook=good, parameters={"seed": 2}),
    ]
    built = list(build_all(requests, reports=tmp_path / "reports", jobs=3))
    assert [type(one) for one in built] == [BuiltReport, ReportError, ReportError, BuiltReport]
    assert "ValueError: no" in str(built[1]) and "no notebook 'nothing'" in str(built[2])
    versions = report.list_reports(tmp_path / "reports")
    assert [(v.notebook, v.status) for v in versions] == [("bad", "failed"), ("small", "ok"), ("small", "ok")]
    for version in versions:
        assert report.verify(version.path) == []


def test_two_at_once_with_the_same_content_are_one_version(write_notebook, tmp_path):
    requests = [Request(notebook=str(write_notebook()))] * 3
    built = list(build_all(requests, reports=tmp_path / "reports", jobs=3))
    assert len({one.path for one in built}) == 1 and sum(not one.unchanged for one in built) == 1


def test_nothing_to_build_is_nothing(tmp_path):
    assert list(build_all([], reports=tmp_path)) == []


def test_each_notebook_gets_the_parameters_it_knows(write_notebook):
    one = str(write_notebook("one", parameters="suite = 'a'\nseed = 1"))
    two = str(write_notebook("two", parameters="seed = 1\nlevel = 0.5"))
    given = {"suite": "b", "seed": "3", "level": "0.9"}
    found = requests_for([one, two, one], given)
    assert [(r.notebook, r.parameters) for r in found] == [
        (one, {"suite": "b", "seed": "3"}), (two, {"seed": "3", "level": "0.9"}),
    ]  # fmt: skip
    with pytest.raises(ReportError, match=r"unknown parameter 'nope'; none of .* knows it"):
        requests_for([one, two], {**given, "nope": "1"})
    (alone,) = requests_for([one], {"nope": "1"})  # the build itself will say what it knows
    assert alone.parameters == {"nope": "1"}
