"""Folders of trials: empty when they are opened, gone when they are removed, whatever a trial did to them."""

import os

import pytest

from evalstats.runner.folders import Scratch, place, remove_tree


def test_a_folder_that_was_left_as_it_was_is_handed_on(tmp_path):
    scratch = Scratch()
    one, two = str(tmp_path / "one"), str(tmp_path / "two")
    scratch.open(one)
    assert scratch.close(one)
    scratch.open(two)
    assert (os.path.exists(one), sorted(os.listdir(two))) == (False, ["home", "tmp"])


@pytest.mark.parametrize("change", ["home/x", "tmp/x", "x"])
def test_a_folder_that_was_used_is_not(tmp_path, change):
    scratch = Scratch()
    scratch.open(str(tmp_path / "one"))
    (tmp_path / "one" / change).touch()
    assert not scratch.close(str(tmp_path / "one"))


def test_a_tree_without_permissions_goes_too(tmp_path):
    (tmp_path / "a/b").mkdir(parents=True)
    (tmp_path / "a/b/file").touch()
    (tmp_path / "a/b").chmod(0)
    (tmp_path / "a").chmod(0o555)
    remove_tree(str(tmp_path / "a"))
    assert not (tmp_path / "a").exists()


def test_what_a_link_leads_to_stays(tmp_path):
    (tmp_path / "kept").mkdir(mode=0o755)
    (tmp_path / "a").mkdir()
    (tmp_path / "a/link").symlink_to(tmp_path / "kept")
    remove_tree(str(tmp_path / "a"))
    assert (tmp_path / "kept").stat().st_mode & 0o777 == 0o755
    remove_tree(str(tmp_path / "never"))


def test_files_and_folders_are_placed(tmp_path):
    (tmp_path / "from/deep").mkdir(parents=True)
    (tmp_path / "from/deep/x").write_text("x")
    place(tmp_path / "from", tmp_path / "to/here")
    place(tmp_path / "from/deep/x", tmp_path / "to/there/y")
    assert (tmp_path / "to/here/deep/x").read_text() + (tmp_path / "to/there/y").read_text() == "xx"
