"""The folder is put in place whole, is the same wherever it is built, works alone, and is small."""

import os
import stat
import time

import pytest

from evalstats.errors import UsageError
from evalstats.site import writing


def test_nothing_published_is_said_with_the_way_on(build, read):
    built = build()
    assert built.pages == 1 and built.problems == ()
    assert "Nothing has been published yet. `evalstats run SUITE" in read(built.path / "index.html")


def files_of(built):
    every = [path for path in built.path.rglob("*") if path.is_file()]
    return {path.relative_to(built.path).as_posix(): path.read_bytes() for path in every}


def test_the_same_twice_whatever_the_place_the_zone_and_the_umask(publish, decide, build, monkeypatch):
    publish("lift", "demo")
    publish("lift", "demo", nights=4)  # two: one figure is drawn here
    decide("demo")
    first = build("one/site")
    monkeypatch.setenv("TZ", "Asia/Kolkata")
    monkeypatch.setenv("LC_ALL", "de_DE.UTF-8")
    time.tzset()
    old = os.umask(0o077)
    try:
        second = build("two/elsewhere")
    finally:
        os.umask(old)
    assert files_of(first) == files_of(second) and len(files_of(first)) > 4
    modes = {stat.S_IMODE(path.stat().st_mode) for path in [second.path, *second.path.rglob("*")]}
    assert modes == {0o644, 0o755}


def names(folder):
    return sorted(path.name for path in folder.iterdir())


@pytest.mark.parametrize("can_exchange", [True, False])
def test_a_dashboard_is_replaced_whole(publish, build, tmp_path, monkeypatch, can_exchange):
    publish("lift", "demo")
    build("one/site")
    publish("lift", "demo", nights=4)
    if not can_exchange:
        monkeypatch.setattr(writing, "_exchanged", lambda one, other: False)
    build("one/site")
    assert names(tmp_path / "one") == ["site"]
    assert len(names(tmp_path / "one/site/reports/lift/demo")) == 2


def test_a_folder_can_be_exchanged_here_without_a_gap(tmp_path):
    for name in ("a", "b"):
        (tmp_path / name).mkdir()
        (tmp_path / name / name).touch()
    if not writing._exchanged(tmp_path / "a", tmp_path / "b"):
        pytest.skip("this file system cannot exchange two folders")
    assert names(tmp_path / "a") == ["b"] and names(tmp_path / "b") == ["a"]


def test_the_folder_behind_a_link_is_replaced_not_the_link(publish, build, tmp_path):
    publish("lift", "demo")
    (tmp_path / "real").mkdir()
    (tmp_path / "site").symlink_to("real")
    build()
    build()
    assert (tmp_path / "site").is_symlink() and (tmp_path / "real/index.html").is_file()


def test_a_folder_of_something_else_is_left_alone(build, tmp_path):
    mine = tmp_path / "site"
    mine.mkdir()
    (mine / "thesis.txt").write_text("years of work")
    with pytest.raises(UsageError, match="is there and is no dashboard"):
        build()
    assert (mine / "thesis.txt").read_text() == "years of work"


def test_a_build_that_fails_leaves_the_old_dashboard(publish, build, tmp_path, monkeypatch):
    publish("lift", "demo")
    before = files_of(build())

    def full(*_):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(writing, "_copy_reports", full)
    with pytest.raises(UsageError, match="cannot be written: No space left on device"):
        build()
    monkeypatch.undo()
    assert names(tmp_path).count("site") == 1 and not [name for name in names(tmp_path) if name[0] == "."]
    assert (tmp_path / "site/index.html").read_bytes() == before["index.html"]


def test_two_hundred_nights_of_twelve_archetypes_fit_into_two_megabytes(publish, decide, build, read):
    version = publish("lift", "demo", nights=199)
    publish("lift", "demo", nights=200)
    publish("nightly", "demo", nights=200)
    publish("variance_bands", "demo", nights=200)
    for day in range(200):
        decide("demo", report=f"lift/demo/{version.name}", day=1 + day % 28)
    built = build()
    page = read(built.path / "suites/demo.html")
    assert "200 decisions: 200 pass." in page and "skill-on: 200 nights" in page and "A12" in page
    own = [built.path / "index.html", *(built.path / "suites").iterdir()]
    assert built.bytes == sum(path.stat().st_size for path in own)
    assert 100_000 < built.bytes < 2_000_000
