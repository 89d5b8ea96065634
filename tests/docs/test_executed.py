"""Pages that are executed from top to bottom: what they say is typed is typed, and what they say is printed is."""

import doctest

import pytest

from tests.docs import pages

EXECUTED = ("tutorial.md", "how-to/quarterly-review.md")
EVERY = [(page, command) for page in EXECUTED for command in pages.commands(pages.DOCS / page)]
PYTHON = [
    (path.relative_to(pages.DOCS).as_posix(), number)
    for path in sorted(pages.DOCS.rglob("*.md"))
    for number, _ in enumerate(pages.python_blocks(path))
    if path.stem
    not in ("write-a-runtime", "write-an-importer")  # files of their own, with tests of their own
]


@pytest.fixture(scope="module")
def outputs(tmp_path_factory):
    """Return a function that gives what the commands of a page do, run one after the other in a fresh clone."""
    ran = {}

    def of(page):
        if page not in ran:
            ran[page] = dict(pages.outputs(pages.DOCS / page, tmp_path_factory.mktemp("newcomer")))
        return ran[page]

    return of


@pytest.mark.parametrize(("page", "command"), EVERY, ids=[f"{page}: {c.line[:50]}" for page, c in EVERY])
def test_a_page_says_what_is_printed(page, command, outputs):
    done = outputs(page)[command]
    assert done.returncode == 0, done.stderr
    assert pages.agrees(command, done.stdout), done.stdout


@pytest.mark.parametrize(("page", "number"), PYTHON)
def test_a_block_of_python_runs(page, number):
    exec(compile(pages.python_blocks(pages.DOCS / page)[number], page, "exec"), {"__name__": "page"})


def test_three_dots_stand_for_anything_and_nothing_else():
    checker = doctest.OutputChecker()
    assert checker.check_output("a\n...\nb\n", "a\nx\nb\n", doctest.ELLIPSIS)
    assert not pages.agrees(pages.Command("x", "a\n...\nb\n"), "a\nx\n")


def test_the_figure_of_the_readme_is_the_one_of_the_page():
    from docs.building.figures import DROPS, HISTORY, PROMPTS, gates

    reading = gates().reading
    assert "older gate, it blocks an unchanged suite 31% of the time" in reading
    assert (PROMPTS.cases, PROMPTS.trials, HISTORY, DROPS[0]) == (50, 3, 28, 0.0)
    assert "31%" in (pages.ROOT / "README.md").read_text("utf-8")
    kept = (pages.DOCS / "images/gates.svg").read_text("utf-8")
    assert all(f">{word}<" in kept for word in ("older gate", "three verdicts", "true drop"))
