import re

import pytest

from evalstats.report.markdown import LONG_TABLE, as_markdown, escaped


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("<script>alert(1)</script>", r"\<script\>alert(1)\</script\>"),
        ("a|b", r"a\|b"),
        ("*a* _b_ `c` ~d~", r"\*a\* \_b\_ \`c\` \~d\~"),
        ("[x](javascript:y)", r"\[x\](javascript:y)"),
        ("![x](y)", r"\!\[x\](y)"),
        ("@everyone #12", r"\@everyone \#12"),
        ("https://e.example/x", "https:&#47;//e.example/x".replace("//e", "/e")),
        ("two\nlines\n\n# and a title", r"two lines \# and a title"),
        ("- a list", r"\- a list"),
        ("1. a list", r"1\. a list"),
        ("&lt;", r"\&lt;"),
        ("−0.05 [−0.10, 0.00]", r"−0.05 \[−0.10, 0.00\]"),
        ("a\x1b[31m\u202e", r"a\\x1b\[31m\\u202e"),
    ],
)
def test_text_stays_text(text, shown):
    assert escaped(text) == shown


def test_the_same_content_in_the_same_order(draft):
    text = as_markdown(draft.document())
    order = [
        "## How far does terraform-50 move when nothing changes?",
        "28 runs, 50 cases, 4,200 trials, 4,188 usable (infrastructure 12).",
        "**An unchanged night of skill-on lands between 0.60 and 0.70, four times in five.",
        "| What the skill adds | +0.11 | 80% interval \\[+0.08, +0.15\\], 50 cases |",
        "### Is the latest run unusual?",
        "### Where does the skill help?",
        "### Which cases are settled?",
        "70 more rows in tables/cases.csv.",
        "### Method and caveats",
        "- **What was estimated, and for whom it holds**: FIXED",
        "- Caveat: one case: no spread",
    ]
    place = 0
    for part in order:
        place = text.index(part, place)


def test_tables_are_tables(draft):
    """A blank line before, as many cells in each row, and no row beyond the limit."""
    blocks = [b.splitlines() for b in as_markdown(draft.document()).split("\n\n") if b.startswith("|")]
    assert len(blocks) == 3 and len(blocks[-1]) == LONG_TABLE + 2
    for lines in blocks:
        assert re.fullmatch(r"\|( (---|--:) \|)+", lines[1])
        assert len({len(re.findall(r"(?<!\\)\|", line)) for line in lines}) == 1


def test_mock_runs_are_announced(draft):
    assert "Mock runs" not in as_markdown(draft.document())
    draft.document()["data"]["contains_mock"] = True
    assert "> **Mock runs.**" in as_markdown(draft.document())


def test_hostile_text_brings_no_markup(hostile):
    text = as_markdown(hostile("<img src=x onerror=alert(1)> | [a](b) @all `x`\n# t").document())
    assert not re.search(r"(?<!\\)<|(?<!\\)\[|(?<!\\)@|(?<!\\)`", text)
    assert not re.search(r"^# t", text, re.MULTILINE)
