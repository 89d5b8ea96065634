import json
import os
import time

import pytest

from evalstats import report, store
from evalstats.errors import ReportError
from evalstats.report.kernel import Limits

PRINTS = "values = [seed, seed + 1]\nprint('from the notebook', level)\nprint(object())"


def files(folder):
    return {
        path.relative_to(folder).as_posix(): path.read_bytes() for path in folder.rglob("*") if path.is_file()
    }


@pytest.fixture
def away(monkeypatch):
    """Change time zone and umask for the rest of the test."""
    monkeypatch.setenv("TZ", "Pacific/Kiritimati")
    monkeypatch.setenv("PYTHONHASHSEED", "99")
    time.tzset()
    before = os.umask(0o077)
    yield
    os.umask(before)
    monkeypatch.undo()
    time.tzset()


def test_a_notebook_becomes_a_version_byte_for_byte(write_notebook, tmp_path, request):
    notebook = write_notebook(work=PRINTS)
    first = report.build(notebook, reports=tmp_path / "one", parameters={"seed": "9"})
    request.getfixturevalue("away")
    second = report.build(notebook, reports=tmp_path / "two" / "deeper", parameters={"seed": 9})
    one, two = files(first.path), files(second.path)
    assert set(one) == {
        "manifest.json",
        "notebook.ipynb",
        "report.html",
        "report.json",
        "run.json",
        "tables/t.csv",
    }
    assert {name: data for name, data in one.items() if name != "run.json"} == {
        name: data for name, data in two.items() if name != "run.json"
    }
    assert first.version == second.version == f"0001-{first.content_hash[:12]}"
    assert report.verify(first.path) == report.verify(second.path) == []
    assert (second.path / "report.html").stat().st_mode & 0o777 == 0o644
    assert str(tmp_path).encode() not in b"".join(data for data in two.values())

    again = report.build(notebook, reports=tmp_path / "one", parameters={"seed": 9})
    assert again.unchanged and again.path == first.path
    assert len(report.list_reports(tmp_path / "one")) == 1

    manifest = json.loads(one["manifest.json"])
    assert manifest["parameters"] == {"level": 0.8, "loud": False, "seed": 9, "subject": "demo"}
    assert (
        manifest["seed"] == 9
        and manifest["status"] == "ok"
        and manifest["packages"]["altair"].startswith("6.")
    )
    assert b"The seed is 9." in one["report.html"]
    assert set(again.as_record()) == {"path", "version", "content_hash", "status", "unchanged"}


def test_a_failed_cell_is_kept_and_never_the_latest(write_notebook, tmp_path):
    notebook = write_notebook(
        work="def deep():\n    raise RuntimeError('<b>the\\nreason')\ndeep()", save=None
    )
    with pytest.raises(
        ReportError, match=r"small.ipynb: failed: cell 3: RuntimeError: reason; see .*/report.html$"
    ):
        report.build(notebook, reports=tmp_path / "reports", subject="demo")
    (version,) = report.list_reports(tmp_path / "reports")
    assert version.status == "failed" and version.version.startswith("0001-failed-")
    assert report.verify(version.path) == []
    page = (version.path / "report.html").read_text()
    assert (
        "&lt;b&gt;the" in page and "in deep()" in page and str(tmp_path) not in page and "/tmp/" not in page
    )
    with pytest.raises(ReportError, match="no report small/demo here"):
        report.resolve(tmp_path / "reports", "small/demo")


@pytest.mark.parametrize(
    ("save", "message"),
    [
        ("x = 1", r"the notebook saved no report; end it with draft.save\(\)"),
        ("import os\nopen(os.environ['EVALSTATS_BUNDLE'] + '/report.json', 'w').write('{')", "is not JSON"),
    ],
)
def test_a_notebook_that_says_nothing_is_a_failure(write_notebook, tmp_path, save, message):
    with pytest.raises(ReportError, match=message):
        report.build(write_notebook(work=None, save=save), reports=tmp_path / "reports")
    assert [v.status for v in report.list_reports(tmp_path / "reports")] == ["failed"]


def test_a_dead_kernel_and_a_timeout_have_their_own_status(write_notebook, tmp_path):
    dead = write_notebook("dead", work="import os\nos._exit(1)", save=None)
    with pytest.raises(ReportError, match="dead-kernel: the kernel died"):
        report.build(dead, reports=tmp_path / "reports")
    slow = write_notebook("slow", work="import time\ntime.sleep(99)", save=None)
    with pytest.raises(ReportError, match="timeout: a cell took longer than 1 s"):
        report.build(slow, reports=tmp_path / "reports", limits=Limits(cell_seconds=1))
    statuses = {v.notebook: v.status for v in report.list_reports(tmp_path / "reports")}
    assert statuses == {"dead": "dead-kernel", "slow": "timeout"}


@pytest.mark.parametrize(
    ("given", "message"),
    [
        (
            {"parameters": {"nope": 1}},
            "unknown parameter 'nope'; this notebook knows: level, loud, seed, subject",
        ),
        ({"parameters": {"seed": 1.5}}, "seed: must be int"),
        ({"parameters": {"level": "2"}}, "small.ipynb: level: must lie between 0 and 1; got 2"),
    ],
)
def test_wrong_parameters_run_nothing(write_notebook, tmp_path, given, message):
    with pytest.raises(ReportError, match=message):
        report.build(write_notebook(), reports=tmp_path / "reports", **given)
    assert not (tmp_path / "reports").exists()


def test_an_unknown_notebook_lists_the_known_ones(tmp_path):
    with pytest.raises(ReportError, match=r"no notebook 'nope'; known: .*variance_bands"):
        report.build("nope", reports=tmp_path)


# --- with a store --------------------------------------------------------------------------------


def test_the_variance_notebook_becomes_a_report(fill_store, tmp_path):
    path = fill_store(nights=6)
    given = {"store": path, "reports": tmp_path / "reports", "parameters": {"suite": "demo"}}
    built = report.build("variance_bands", **given)
    assert report.verify(built.path) == []
    document = json.loads((built.path / "report.json").read_text())
    assert document["data"]["n_runs"] == 12 and document["data"]["n_trials"] == 288
    manifest = json.loads((built.path / "manifest.json").read_text())
    assert manifest["parameters"]["store"] == "inputs" and set(manifest["inputs"]) == {"runs", "trials"}
    assert manifest["suite_scoring"] == ["3" * 64]
    page = (built.path / "report.html").read_text()
    assert "eval-06-skill-on" in page and str(tmp_path) not in page

    lake = tmp_path / "lake"
    with store.open(path, read_only=True) as opened:
        store.export_parquet(opened, lake)
    again = report.build("variance_bands", **{**given, "store": lake})
    assert again.unchanged and again.content_hash == built.content_hash


def test_a_private_suite_has_no_public_report(fill_store, tmp_path):
    path = fill_store(visibility="private_holdout")
    with pytest.raises(ReportError, match="private suites have no public report yet"):
        report.build("variance_bands", store=path, reports=tmp_path / "reports", parameters={"suite": "demo"})
    assert not (tmp_path / "reports").exists()


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"parameters": {"suite": "demo"}}, "this notebook needs a store; say which with --store"),
        (
            {"parameters": {"suite": "demo", "store": "x"}},
            "store: is set by the build; say which store with --store",
        ),
    ],
)
def test_the_store_is_named_once(tmp_path, given, message):
    with pytest.raises(ReportError, match=message):
        report.build("variance_bands", reports=tmp_path / "reports", **given)
