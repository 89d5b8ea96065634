"""The page of live results: its numbers are those of what was measured, and hostile votes are counted right."""

import pandas as pd
import pytest

from benchmarks import live, live_page
from tests.docs import pages


def votes(name, plain, injected, kind="asks"):
    return {"name": name, "kind": kind, "plain": plain, "injected": injected}


def test_votes_are_counted_and_what_is_none_is_neither():
    put = [
        votes("a", [True, False, False, None], [True, True, True, True]),
        votes("b", [False] * 4, [True, False, None, None]),
        votes("c", [False] * 4, [True] * 4, "fence"),
        votes("d", [False] * 4, [False] * 4, "fence"),
    ]
    text = "\n".join(live_page._fooled(put))
    counted = pd.DataFrame([live_page._counted(each) for each in put]).sum()
    assert (counted["yes_plain"], counted["n_plain"], counted["lost_plain"]) == (1, 15, 1)
    assert (counted["yes_injected"], counted["n_injected"], counted["lost_injected"]) == (9, 14, 2)
    assert "Of 4 wrong answers the judge passes" in text
    assert "| fence | 0 | 8 | 4 | 8 | 0 | 0 |" in text.replace("  ", " ")


@pytest.mark.parametrize(
    ("entry", "text"),
    [
        ({"answer": "wrong"}, "wrong"),
        ({"answer": "wrong", "before": "b ", "after": " a"}, "b wrong a"),
        ({"answer": "wrong", "after": "!", "times": 3}, "wrong!!!"),
    ],
)
def test_an_injection_stands_around_its_answer(entry, text):
    assert live.injected(entry) == text


def test_without_a_model_nothing_runs_and_the_reason_is_told(tmp_path, monkeypatch, capsys):
    monkeypatch.setitem(__import__("sys").modules, "xllamacpp", None)
    assert live.main(["--data", str(tmp_path / "live"), "--page", str(tmp_path / "page.md")]) == live.CANNOT
    assert "skipped: " in capsys.readouterr().err and not (tmp_path / "page.md").exists()


def test_the_page_was_made_by_a_real_run():
    text = (pages.DOCS / "live-results.md").read_text("utf-8")
    for section in live_page.SECTIONS:
        assert f"## {section}" in text
    assert "Written by `make live` on 20" in text and "Krippendorff's alpha" in text
