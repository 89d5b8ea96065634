"""Who carries a case out, with what prompt, on what terms."""

import sys
from pathlib import Path
from types import SimpleNamespace

import pytest

from evalstats import runner
from evalstats.contract import SUPPRESSION, Arm, Outcome
from evalstats.errors import DocumentError, UsageError
from evalstats.runner import casting, prices, prompts, runtimes
from evalstats.runner.prices import Price, Tokens

OTHERS = """
from evalstats.runner.runtimes import Answer, Runtime

class Echo(Runtime):
    name = "echo"
    is_live = True

    async def answer(self, asked, room):
        if asked.inputs.get("burst"):
            raise RuntimeError("a secret text")
        if asked.inputs.get("junk"):
            return eval(asked.inputs["junk"])
        return Answer(text=(asked.prompt or "").encode(), duration_s=0.0, model="parrot")

class Plain:
    pass

def broken():
    raise ValueError("no parrots today")
"""


@pytest.fixture
def others(tmp_path, monkeypatch):
    """Install a distribution that brings runtimes."""
    (tmp_path / "parrots.py").write_text(OTHERS, "utf-8")
    info = tmp_path / "parrots-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: parrots\nVersion: 1.0\n", "utf-8")
    points = "[evalstats.runtimes]\necho = parrots:Echo\nplain = parrots:Plain\nbroken = parrots:broken\n"
    (info / "entry_points.txt").write_text(points, "utf-8")
    monkeypatch.syspath_prepend(str(tmp_path))
    yield
    sys.modules.pop("parrots", None)


@pytest.mark.parametrize(
    ("document", "chosen", "name"),
    [
        ({"kind": "command", "shell": "true"}, None, "shell"),
        ({"kind": "command", "shell": "true", "runtime": "shell"}, "claude", "shell"),
        ({"kind": "artifact_check"}, "claude", "static"),
        ({"kind": "artifact_check", "prompt": "p"}, "claude", "claude"),
        ({"kind": "artifact_check", "prompt": "p"}, None, "static"),
        ({"kind": "runtime_prompt", "prompt": "p"}, None, None),
        ({"kind": "runtime_prompt", "prompt": "p"}, "codex", "codex"),
        ({"kind": "runtime_prompt", "prompt": "p", "runtime": "mock"}, None, "mock"),
        ({"kind": "runtime_prompt", "prompt": "p", "runtime": "mock"}, "openai", "openai"),
        ({"kind": "runtime_prompt", "prompt": "p", "runtime": "mock"}, "shell", "mock"),
        ({"kind": "runtime_prompt", "prompt": "p", "runtime": "manual"}, "openai", None),
    ],
)
def test_who_carries_a_case(make_suite, case, document, chosen, name):
    prompt = {"prompt": document.pop("prompt")} if "prompt" in document else {}
    (made,) = make_suite({**case("a", **document), **prompt}).cases
    assert casting.runtime_name(made, made.inputs, chosen) == name


def test_the_sentence_is_for_live_runtimes_in_the_off_arm(make_suite, case):
    arms = {"skill-on": {"prompt_suffix": " Use it."}, "skill-off": {"inputs": {"prompt": "Else?"}}}
    suite = make_suite({**case("a", kind="runtime_prompt"), "prompt": "So?"}, arms=arms)
    (made,) = suite.cases

    def text(arm, *, live, **given):
        given = {**made.inputs, **suite.document["arms"].get(arm, {}).get("inputs", {}), **given}
        return prompts.prompt(suite, made, arm, given, live=live)

    assert text(Arm.SKILL_ON, live=True) == "So? Use it."
    assert text(Arm.SKILL_OFF, live=False) == "Else?"
    assert text(Arm.SKILL_OFF, live=True) == f"Else?\n\n{SUPPRESSION}"
    assert text(Arm.CONTEXT_OFF, live=True) == "So?"
    assert text(Arm.SKILL_OFF, live=True, prompt_prefix="<", prompt_end=">") == f"<Else?\n\n{SUPPRESSION}>"
    assert SUPPRESSION == (
        "Constraint: Do NOT load additional skills or plugins. Work only with base agent capabilities."
    )


def test_the_names_of_skills(make_suite, case):
    files = ["a/skills/one/SKILL.md", "skills/two/x/y.md", "skills", "c/skills.md"]
    suite = make_suite(
        case("a", shell="true"), arms={"skill-on": {"files": files}}, metadata={"skills": ["three", 4]}
    )
    assert prompts.skill_names(suite) == {"one", "two", "three"}
    assert prompts.skill_names(make_suite(case("a", shell="true"), metadata={"skills": "x"})) == frozenset()


def test_a_runtime_of_others(others, make_suite, case, go):
    echoed = {
        **case("a", {"type": "stdout_contains", "value": "yes"}, kind="runtime_prompt"),
        "prompt": "yes",
    }
    burst = {**case("b", kind="runtime_prompt", burst=True), "prompt": "yes"}
    ran = go(make_suite(echoed, burst, tier="headless"), runtime="echo", trials=2)
    first, second = ({t.case_id: t for t in ran.trials}[c] for c in "ab")
    assert (first.passed, first.duration_s, second.outcome) == (True, 0.0, Outcome.INFRASTRUCTURE)
    assert (second.reason, second.error_class) == ("the runtime echo failed: RuntimeError", "runtime-error")
    (record,) = ran.result.records
    assert (record["runtime"]["name"], record["runtime"]["live"], record["runtime"]["models"]) == (
        "echo",
        True,
        ["parrot"],
    )
    assert {"echo", "claude", "mock"} <= set(runtimes.known())
    with pytest.raises(UsageError, match=r"'broken' \(parrots:broken\) cannot be loaded: no parrots today"):
        runtimes.load("broken")
    with pytest.raises(UsageError, match=r"'plain' \(parrots:Plain\) has no answer"):
        runtimes.load("plain")


def test_the_runtime_of_the_documentation_runs(tmp_path, monkeypatch, make_suite, case, go):
    page = Path(__file__).parents[2] / "docs/how-to/write-a-runtime.md"
    names: dict[str, object] = {}
    exec(page.read_text("utf-8").split("```python\n")[1].split("```")[0], names)
    parrot = tmp_path / "bin" / "parrot"
    parrot.parent.mkdir()
    parrot.write_text('#!/bin/sh\n[ "$2" = busy ] && exit 75\necho "$2 $PARROT_KEY"\n', "utf-8")
    parrot.chmod(0o755)
    monkeypatch.setenv("PATH", f"{parrot.parent}:/usr/bin:/bin")
    monkeypatch.setitem(runtimes.BUILT_IN, "parrot", "parrots:Parrot")
    monkeypatch.setitem(sys.modules, "parrots", SimpleNamespace(**names))
    monkeypatch.setattr("evalstats.runner.attempt.RETRY_SECONDS", 0.01)
    wanted = {"type": "stdout_contains", "value": "polly"}
    cases = [
        {**case(c, wanted, kind="runtime_prompt"), "prompt": p} for c, p in (("a", "polly"), ("b", "busy"))
    ]
    suite = make_suite(*cases, tier="headless")
    assert {t.reason for t in go(suite, runtime="parrot").trials} == {
        "no credentials for parrot: set PARROT_KEY"
    }
    monkeypatch.setenv("PARROT_KEY", "cracker-0123")
    said, busy = sorted(go(suite, runtime="parrot").trials, key=lambda t: t.case_id)
    assert (said.passed, said.tokens_in, said.tokens_out) == (True, 12, 3)
    assert (busy.outcome, busy.error_class, busy.attempt) == (Outcome.INFRASTRUCTURE, "rate-limit", 3)


@pytest.mark.parametrize(
    "junk",
    ["None", "'yes'", "Answer(text='yes')", "Answer(outcome='sunny')", "Answer(outcome='timeout')", "1 / 0"],
)
def test_a_runtime_that_answers_nonsense_loses_its_trials_and_no_others(others, make_suite, case, go, junk):
    odd = {**case("a", kind="runtime_prompt", junk=junk), "prompt": "yes"}
    ran = go(make_suite(odd, case("b", shell="true"), tier="headless"), runtime="echo")
    lost, other = sorted(ran.trials, key=lambda t: t.case_id)
    assert (lost.outcome, lost.error_class, other.passed) == (Outcome.INFRASTRUCTURE, "runtime-error", True)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"runtime": "abacus"}, "--runtime: unknown runtime 'abacus'; known: claude, codex, inspect, mock"),
        ({"runtime": "codex"}, "--runtime: the suite allows mock, not codex"),
        ({"model": " "}, "--model: a model has a name"),
        ({"budget": 0.0}, "--budget: must be a number above 0"),
        ({"budget": float("nan")}, "--budget: must be a number above 0"),
        ({"max_rpm": -1.0}, "--max-rpm: must be a number above 0"),
    ],
)
def test_terms_that_cannot_be(make_suite, case, options, message):
    suite = make_suite(case("a", shell="true"), allowed_runtimes=["mock"])
    with pytest.raises(UsageError, match=message):
        runner.plan(suite, runner.Options(**options))


def test_a_price_table(tmp_path, make_suite, case):
    path = tmp_path / "prices.json"
    path.write_text('{"as_of": "2026-11-01", "models": {"m": {"input": 3, "output": 15}}}', "utf-8")
    plan = runner.plan(make_suite(case("a", shell="true")), runner.Options(prices=path))
    price = plan.terms.price("m")
    assert price == Price(input=3, output=15, cached_input=None, as_of="2026-11-01")
    assert plan.terms.price("n") is None
    assert price.cost(Tokens(sent=1_000_000, received=100_000, cached=500_000)) == 4.5
    assert price.cost(Tokens(sent=1)) is None
    path.write_text('{"as_of": "today", "models": {"m": {"input": -3}}, "x": 1}', "utf-8")
    with pytest.raises(DocumentError) as caught:
        prices.read(path)
    assert {p.pointer for p in caught.value.problems} == {"", "/as_of", "/models/m", "/models/m/input"}
