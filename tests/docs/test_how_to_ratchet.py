"""The how-to page on the ratchet does what it says: its commands are run, and its output is what they print."""

from __future__ import annotations

import re

import pytest

from tests.docs import pages

PAGE = pages.DOCS / "how-to/ratchet.md"
FOUR = ["monitor", "ratchet", "ratchet promote", "ratchet log"]
COMMANDS = pages.commands(PAGE)


@pytest.fixture(scope="module")
def outputs(tmp_path_factory):
    """Return what each command of the page does, run one after the other."""
    return dict(pages.outputs(PAGE, tmp_path_factory.mktemp("repository")))


@pytest.mark.parametrize("command", COMMANDS, ids=[command.line for command in COMMANDS])
def test_the_page_says_what_is_printed(command, outputs):
    done = outputs[command]
    assert (done.returncode, done.stderr) == (0, "")
    assert pages.agrees(command, done.stdout), done.stdout


def test_four_commands_lead_to_the_signature():
    numbered = PAGE.read_text().partition("## 1. ")[2].partition("## Taking")[0]
    asked = re.findall(r"^\$ evalstats (.*)$", numbered, re.MULTILINE)
    assert [re.match(r"(ratchet (?:promote|log)|ratchet|monitor)\b", line).group() for line in asked] == FOUR
