"""The page on importers builds one that works, installed as any other package is."""

import re
import sys
from pathlib import Path

import pytest

from evalstats import importers
from evalstats.contract import Outcome
from evalstats.errors import LogError, UsageError

PAGE = Path(__file__).parents[2] / "docs/how-to/write-an-importer.md"


def blocks(language):
    return re.findall(rf"```{language}\n(.*?)```", PAGE.read_text("utf-8"), flags=re.DOTALL)


@pytest.fixture
def install(tmp_path, monkeypatch):
    """Return a function that installs a module with an entry point for as long as a test lasts."""

    def installed(code, name="shopbot_logs", value="shopbot_logs"):
        site = tmp_path / "site"
        info = site / "shopbot_logs-1.0.dist-info"
        info.mkdir(parents=True)
        (site / f"{name}.py").write_text(code, "utf-8")
        (info / "METADATA").write_text("Metadata-Version: 2.1\nName: shopbot-logs\nVersion: 1.0\n")
        (info / "entry_points.txt").write_text(f"[evalstats.importers]\nshopbot = {value}\n")
        monkeypatch.syspath_prepend(str(site))
        importers.formats.cache_clear()

    yield installed
    sys.modules.pop("shopbot_logs", None)
    importers.formats.cache_clear()


def test_the_page_is_right(install, tmp_path):
    (example,), (code,), (toml,) = blocks("text"), blocks("python"), blocks("toml")
    assert sum(bool(line.strip()) for line in code.splitlines()) <= 30 and "shopbot_logs" in toml
    install(code)
    path = tmp_path / "night.log"
    path.write_text(example)
    reading = importers.read([path])
    found = [each.trial for each in reading]
    assert [(t.case_id, t.trial_index, t.outcome, t.score, t.reason) for t in found] == [
        ("buy-milk", 1, Outcome.OK, 0.8, None),
        ("buy-milk", 2, Outcome.INFRASTRUCTURE, None, "crash"),
    ]
    (file,) = reading.files
    assert (file.format, file.why) == ("shopbot", "the first line of shopbot")
    path.write_text(example + "oops\n")
    with pytest.raises(LogError, match=r"night.log:4: a line has a case"):
        list(importers.read([path]))


def test_without_it_the_format_is_unknown(tmp_path):
    importers.formats.cache_clear()
    path = tmp_path / "night.log"
    path.write_text(blocks("text")[0])
    with pytest.raises(LogError, match="no known format"):
        list(importers.read([path]))


@pytest.mark.parametrize(
    ("code", "value", "message"),
    [
        ("1/0", "shopbot_logs", "division by zero"),
        ("x = 1", "shopbot_logs:y", "cannot be loaded"),
        ("x = 1", "shopbot_logs", "lacks NAME"),
    ],
)
def test_a_broken_one_is_named(code, value, message, install):
    install(code, value=value)
    with pytest.raises(UsageError, match=message):
        importers.formats()


def test_the_built_in_ones_are_whole():
    importers.formats.cache_clear()
    found = importers.formats()
    names = [each.NAME for each in found]
    assert names == list(importers.BUILT_IN)
    text = (PAGE.parent / "import-logs.md").read_text("utf-8")
    assert [name for name in names if f"`{name}`" not in text] == []


def test_of_our_own_only_the_one_that_is_asked_for_is_loaded():
    found = {name: [each.NAME for each in importers.formats(name)] for name in importers.BUILT_IN}
    assert found == {name: [name] for name in importers.BUILT_IN}


def test_one_of_others_comes_before_our_own_of_the_same_name(install, tmp_path):
    (code,) = blocks("python")
    install(code.replace('NAME = "shopbot"', 'NAME = "table"'))
    path = tmp_path / "night.log"
    path.write_text(blocks("text")[0])
    assert {each.trial.case_id for each in importers.read([path], format="table")} == {"buy-milk"}
