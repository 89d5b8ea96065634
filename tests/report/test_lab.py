"""JupyterLab as a person meets it: the notebook open, every cell run, charts drawn, and nothing asked of the world."""

import json
import os
import socket
import subprocess
import sys
import time
import urllib.request
from pathlib import Path

import pytest

from evalstats import contract, store
from evalstats.errors import UsageError
from evalstats.journal import encode
from evalstats.report import lab
from evalstats.trials import Judgement

PACKAGED = {path.name for path in contract.packaged("notebooks").glob("*.ipynb")}


def test_missing_notebooks_are_copied_and_others_left_alone(tmp_path):
    mine = tmp_path / "notebooks" / "variance_bands.ipynb"
    mine.parent.mkdir()
    mine.write_text("mine")
    copied = lab.prepare(tmp_path)
    assert {path.name for path in copied} == PACKAGED - {"variance_bands.ipynb"}
    assert mine.read_text() == "mine" and lab.prepare(tmp_path) == []


def test_an_unknown_notebook_lists_the_known_ones(tmp_path):
    lab.prepare(tmp_path)
    with pytest.raises(UsageError, match=r"no notebook 'nope'; known: .*variance_bands"):
        with lab.command(tmp_path, "nope"):
            pass


def test_settings_are_ours_only_as_long_as_needed(tmp_path, monkeypatch):
    monkeypatch.setenv("JUPYTER_CONFIG_PATH", "/theirs")
    lab.prepare(tmp_path)
    with lab.command(tmp_path, "variance_bands", "--port=1") as (words, environment):
        ours, theirs = environment["JUPYTER_CONFIG_PATH"].split(os.pathsep)
        said = json.loads((Path(ours) / "labconfig" / "page_config.json").read_text())
        assert said == {"disabledExtensions": {"@jupyterlab/apputils-extension:announcements": True}}
        assert theirs == "/theirs" and words[0] == sys.executable and words[-1] == "--port=1"
        assert "--LabApp.default_url=/lab/tree/notebooks/variance_bands.ipynb" in words
    assert not Path(ours).exists()


# --- for real ------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def running(tmp_path_factory):
    """The address of a Lab over the data of a small demo, started as the command line does."""
    root, home = Path(lab.evalstats.__path__[0]).parent, tmp_path_factory.mktemp("lab")
    (home / "evals").symlink_to(root / "evals")
    environment = {**os.environ, "HOME": str(home), "PYTHONPATH": str(root), "RUNS": "3", "TRIALS": "2"}
    environment["PATH"] = f"{Path(sys.executable).parent}{os.pathsep}{environment['PATH']}"
    demo = ["sh", str(root / "evals" / "demo.sh")]
    subprocess.run(demo, cwd=home, env=environment, check=True, capture_output=True, timeout=600)
    _judge(home / "data")
    lab.prepare(home)
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    with lab.command(
        home, "", f"--port={port}", "--no-browser", "--allow-root",
        "--IdentityProvider.token=t", "--ServerApp.ip=127.0.0.1",
    ) as (words, settings):  # fmt: skip
        server = subprocess.Popen(
            words, env={**environment, **settings, "HOME": str(home)},
            stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
        )  # fmt: skip
        address = f"http://127.0.0.1:{port}"
        _wait_for(f"{address}/api?token=t", server)
        yield address
        server.terminate()
        server.wait(20)


def _judge(data):
    """Put verdicts beside the trials of the demo, so that the judge notebook has something to draw."""
    for place in sorted((data / "runs").glob("*/manifest.json")):
        manifest = json.loads(place.read_text())
        said = (
            Judgement(
                run_id=manifest["run_id"], case_id=case, arm=manifest["arm"], trial_index=1, expectation=0,
                judge="judge-model", judge_sha256="a" * 64, rubric_sha256="b" * 64, repeat=repeat,
                passed=(number + repeat) % 3 > 0, started_at="2026-11-01T03:00:00.000Z",
            )
            for number, case in enumerate(sorted(manifest["case_hashes"]))
            for repeat in (1, 2, 3)
        )  # fmt: skip
        (place.parent / "judgements").mkdir()
        (place.parent / "judgements/host-1-1.jsonl").write_bytes(
            b"".join(encode(v.as_record()) for v in said)
        )
    store.ingest(data / "evalstats.duckdb", data / "runs")


def _wait_for(address, server, seconds=90):
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline and server.poll() is None:
        try:
            urllib.request.urlopen(address, timeout=2).close()
            return
        except OSError:
            time.sleep(0.2)
    pytest.fail("JupyterLab did not start")


def _end_kernels(address):
    """Let go of every kernel: ten of them would take more memory than a small machine has."""
    with urllib.request.urlopen(f"{address}/api/sessions?token=t") as answer:
        sessions = json.load(answer)
    for session in sessions:
        place = f"{address}/api/sessions/{session['id']}?token=t"
        urllib.request.urlopen(urllib.request.Request(place, method="DELETE")).close()


ERROR = ".jp-OutputArea-output[data-mime-type*=error], .jp-OutputArea-output[data-mime-type*=stderr]"
ENDED = f"""() => document.querySelector('{ERROR}') ||
    [...document.querySelectorAll('.jp-Notebook .jp-InputArea-prompt')]
    .filter(prompt => prompt.textContent.includes('[')).at(-1)?.textContent.match(/\\[\\d+\\]/)"""


@pytest.mark.slow
@pytest.mark.browser
@pytest.mark.parametrize("notebook", sorted(PACKAGED))
def test_lab_runs_every_cell_and_draws_offline(running, browser, notebook):
    context = browser.new_context(viewport={"width": 1440, "height": 1000})
    tab, asked = context.new_page(), []
    tab.on("request", lambda request: asked.append(request.url))
    tab.goto(f"{running}/lab/tree/notebooks/{notebook}?token=t&reset")
    tab.wait_for_selector(".jp-Notebook .jp-CodeCell", timeout=90_000)
    tab.get_by_text("| Idle").wait_for(timeout=90_000)
    tab.get_by_role("menuitem", name="Run", exact=True).click()
    tab.get_by_role("menuitem", name="Run All Cells", exact=True).click()
    tab.wait_for_function(ENDED, timeout=180_000)
    assert tab.locator(ERROR).all_inner_texts() == []
    tab.wait_for_selector(".jp-OutputArea-output .vega-embed", timeout=90_000, state="attached")
    tab.wait_for_timeout(2000)
    assert tab.locator(".Toastify__toast").count() == 0  # no news, no updates
    outside = [
        url for url in asked if not url.startswith((running, "data:", "blob:", running.replace("http", "ws")))
    ]
    assert outside == []
    shot = os.environ.get("EVALSTATS_SCREENSHOTS")
    if shot:
        tab.screenshot(path=f"{shot}/lab-{Path(notebook).stem}.png")
    context.close()
    _end_kernels(running)
