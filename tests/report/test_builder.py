import json
import os
import re
import subprocess
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor

import pytest

from evalstats import report, store
from evalstats.errors import EvalstatsError, ReportError
from evalstats.report import builder
from evalstats.report.kernel import Execution

PRINTS = "values = [seed, seed + 1]\nprint('from the notebook', level)\nprint(object())"


def files(folder):
    return {
        path.relative_to(folder).as_posix(): path.read_bytes() for path in folder.rglob("*") if path.is_file()
    }


@pytest.fixture
def away(monkeypatch):
    """Change time zone, locale and umask for the rest of the test."""
    monkeypatch.setenv("TZ", "Pacific/Kiritimati")
    for name in ("LANG", "LC_ALL", "LC_NUMERIC", "LANGUAGE"):
        monkeypatch.setenv(name, "tr_TR.ISO-8859-9")
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
    second = report.build(
        notebook, reports=tmp_path / "two" / "deeper", parameters={"seed": 9}, execution=Execution(cold=True)
    )
    starts = [json.loads((built.path / "run.json").read_text())["kernel"] for built in (first, second)]
    assert starts == ["warm", "cold"]
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
        execution = Execution(cell_seconds=1 if name == "slow" else 60)
        with pytest.raises(ReportError) as caught:
            report.build(notebook, reports=folder / "reports", subject="demo", execution=execution)
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


# --- interruptions -------------------------------------------------------------------------------


@pytest.mark.parametrize(("name", "cold"), [("dead", False), ("slow", False), ("dead", True)])
def test_the_latest_stays_what_it_was(write_notebook, tmp_path, name, cold):
    subject = tmp_path / "reports" / "small" / "demo"
    good = report.build(write_notebook(), reports=tmp_path / "reports").path
    before = files(good)
    how = Execution(cell_seconds=1, cold=cold)
    with pytest.raises(ReportError, match=r"dead-kernel|timeout"):
        report.build(
            write_notebook(work=BAD[name]["work"]),
            reports=tmp_path / "reports",
            subject="demo",
            execution=how,
        )
    assert report.latest(tmp_path / "reports", "small", "demo") == good
    assert files(good) == before and report.verify(good) == []
    assert sorted(entry.name[:11] for entry in subject.iterdir()) == sorted(
        [good.name[:11], "0002-failed", "chain.jsonl"]
    )


@pytest.fixture
def small_disk(tmp_path):
    """Return a function that mounts a folder on a file system of so many KiB."""
    mounted = []

    def mount(size):
        folder = tmp_path / f"disk-{len(mounted)}"
        folder.mkdir()
        words = ["mount", "-t", "tmpfs", "-o", f"size={size}k", "tmpfs", folder]
        if os.geteuid() or subprocess.run(words, check=False, capture_output=True).returncode:
            pytest.skip("only root may mount a small disk")
        mounted.append(folder)
        return folder

    yield mount
    for folder in mounted:
        subprocess.run(["umount", "-l", folder], check=True)


def test_a_full_disk_leaves_no_half_version(write_notebook, small_disk):
    reports = small_disk(256)
    good = report.build(write_notebook(), reports=reports).path
    before = files(reports)
    (reports / "filler").write_bytes(b"x" * 1024 * (os.statvfs(reports).f_bavail * 4 - 16))
    with pytest.raises(ReportError, match="cannot be written: No space left on device"):
        report.build(write_notebook(), reports=reports, parameters={"seed": 8})
    (reports / "filler").unlink()
    assert files(reports) == before and report.latest(reports, "small", "demo") == good
    assert not [entry for entry in good.parent.iterdir() if entry.name.startswith(".")]
    assert report.build(write_notebook(), reports=reports, parameters={"seed": 8}).version.startswith("0002-")


@pytest.mark.parametrize("cold", [False, True])
def test_no_room_to_work_in_is_one_clear_line(write_notebook, small_disk, tmp_path, monkeypatch, cold):
    room = small_disk(64)
    monkeypatch.setattr(tempfile, "tempdir", str(room))
    fills = "open('filler', 'wb').write(b'x' * 500_000)"
    with pytest.raises(ReportError, match=r"No space left on device|ended before the notebook did"):
        report.build(
            write_notebook(work=fills),
            reports=tmp_path / "reports",
            subject="demo",
            execution=Execution(cold=cold),
        )
    assert all("failed" in version.version for version in report.list_reports(tmp_path / "reports"))
    assert list(room.iterdir()) == []


# --- with a store --------------------------------------------------------------------------------


def test_the_variance_notebook_becomes_a_report(fill_store, tmp_path, request):
    path = fill_store(nights=6)
    asked = {"store": path, "reports": tmp_path / "reports", "parameters": {"suite": "demo"}}
    built = report.build("variance_bands", **asked)
    request.getfixturevalue("away")
    assert report.build("variance_bands", **asked, execution=Execution(cold=True)).unchanged
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
    with pytest.raises(EvalstatsError, match="private suites"):
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
