import json
import os
import re
import time
from concurrent.futures import ThreadPoolExecutor

import pytest

from evalstats import report, store
from evalstats.errors import ReportError
from evalstats.report import builder
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
    assert again.unchanged and again.path == first.path and not first.unchanged
    assert len(report.list_reports(tmp_path / "one")) == 1

    manifest = json.loads(one["manifest.json"])
    assert manifest["parameters"] == {"level": 0.8, "loud": False, "seed": 9, "subject": "demo"}
    assert (
        manifest["seed"] == 9
        and manifest["status"] == "ok"
        and manifest["packages"]["altair"].startswith("6.")
    )
    assert b"The seed is 9." in one["report.html"]
    assert set(first.as_record()) == {"path", "version", "content_hash", "status", "unchanged"}


BAD = {
    "deep": {"work": "def deep():\n    raise RuntimeError('<b>the\\nreason')\ndeep()", "save": None},
    "silent": {"work": None, "save": "x = 1"},
    "broken": {
        "work": None,
        "save": "import os\nopen(os.environ['EVALSTATS_BUNDLE'] + '/report.json', 'w').write('{')",
    },
    "dead": {"work": "import os\nos._exit(1)", "save": None},
    "slow": {"work": "import time\ntime.sleep(99)", "save": None},
}


@pytest.fixture(scope="module")
def failed(tmp_path_factory, save_notebook_in):
    """Build every bad notebook, several at a time; return the folder of reports and name -> what build said."""
    folder = tmp_path_factory.mktemp("bad")

    def build(name):
        notebook = save_notebook_in(folder, name, **BAD[name])
        limits = Limits(cell_seconds=1 if name == "slow" else 60)
        with pytest.raises(ReportError) as caught:
            report.build(notebook, reports=folder / "reports", subject="demo", limits=limits)
        return str(caught.value)

    with ThreadPoolExecutor(3) as pool:
        return folder / "reports", dict(zip(BAD, pool.map(build, BAD), strict=True))


@pytest.mark.parametrize(
    ("name", "status", "message"),
    [
        ("deep", "failed", r"deep.ipynb: failed: cell 3: RuntimeError: reason; see .*/report.html$"),
        ("silent", "failed", r"the notebook saved no report; end it with draft.save\(\)"),
        ("broken", "failed", r"is not JSON"),
        ("dead", "dead-kernel", r"dead-kernel: the kernel died"),
        ("slow", "timeout", r"timeout: a cell took longer than 1 s"),
    ],
)
def test_what_did_not_end_well_is_kept_and_never_the_latest(failed, name, status, message):
    reports, said = failed
    assert re.search(message, said[name])
    (version,) = [found for found in report.list_reports(reports) if found.notebook == name]
    assert version.status == status and version.version.startswith("0001-failed-")
    assert report.verify(version.path) == []
    with pytest.raises(ReportError, match=f"no report {name}/demo here"):
        report.resolve(reports, f"{name}/demo")


def test_the_page_of_a_failure_shows_the_cell_and_not_the_machine(failed):
    (version,) = [found for found in report.list_reports(failed[0]) if found.notebook == "deep"]
    page = (version.path / "report.html").read_text()
    assert "&lt;b&gt;the" in page and "in deep()" in page
    assert str(failed[0].parent) not in page and "/tmp/" not in page


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
    built = report.build(
        "variance_bands", store=path, reports=tmp_path / "reports", parameters={"suite": "demo"}
    )
    assert report.verify(built.path) == []
    document = json.loads((built.path / "report.json").read_text())
    assert document["data"]["n_runs"] == 12 and document["data"]["n_trials"] == 288
    manifest = json.loads((built.path / "manifest.json").read_text())
    assert manifest["parameters"]["store"] == "inputs" and set(manifest["inputs"]) == {"runs", "trials"}
    assert manifest["suite_scoring"] == ["3" * 64]
    page = (built.path / "report.html").read_text()
    assert "eval-06-skill-on" in page and str(tmp_path) not in page


def test_the_same_rows_from_a_file_or_a_lake_are_the_same_inputs(fill_store, tmp_path):
    path, lake = fill_store(), tmp_path / "lake"
    with store.open(path, read_only=True) as opened:
        store.export_parquet(opened, lake)
    notebook = builder.find_notebook("variance_bands")
    jobs = []
    for place in (path, lake):
        work = tmp_path / f"work-{place.stem}"
        work.mkdir()
        jobs.append(builder._prepare(notebook, {"suite": "demo"}, place, work))
    assert jobs[0] == jobs[1] and set(jobs[0].inputs) == {"runs", "trials"}


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
