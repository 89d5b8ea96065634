"""A probe tells the truth: what is missing, fails, or lies is not taken for the means it pretends to be."""

import pytest

from evalstats import runner
from evalstats.errors import AdapterError
from evalstats.runner import sweeping
from evalstats.runner.isolation import cgroups, probes

ONLY_THE_COMMAND = 'while test "$1" != --; do shift; done; shift; exec "$@"'
LESS = 'for word; do shift; case $word in {drop}) ;; *) set -- "$@" "$word" ;; esac; done; exec /usr/bin/bwrap "$@"'


@pytest.fixture
def refusal(make_suite, case, go, tmp_path):
    """Return a function that gives back why a level is refused, and sees to it that nothing is begun."""

    def ask(level):
        with pytest.raises(AdapterError) as refused:
            go(make_suite(case("a", shell="true")), require_isolation=level)
        assert (refused.value.exit_code, refused.value.field) == (3, "--require-isolation")
        assert not (tmp_path / "data").exists()
        return str(refused.value)

    return ask


def test_what_is_not_installed(refusal, no_bwrap):
    assert (
        refusal("bwrap") == "--require-isolation: this machine cannot give bwrap: bwrap: it is not installed"
    )


@pytest.mark.parametrize(
    ("script", "why"),
    [
        (
            "echo 'bwrap: setting up uid map: Permission denied' >&2; exit 1",
            "bwrap: setting up uid map: Permission denied",
        ),
        ("exit 0", "it says nothing"),
        ("sleep 30", "it says nothing"),
        (ONLY_THE_COMMAND, "it leaves trials among the processes of the machine"),
    ],
)
def test_what_fails_or_only_runs_the_command(refusal, fake_bwrap, monkeypatch, script, why):
    monkeypatch.setattr(probes, "SLOW_SECONDS", 1.0)
    fake_bwrap(script)
    assert why in refusal("bwrap")


@pytest.mark.usefixtures("needs_bwrap")
@pytest.mark.parametrize(
    ("drop", "why"),
    [
        ("--unshare-pid", "it leaves trials among the processes of the machine"),
        ("--die-with-parent", "what trials start outlives it"),
        ("--ro-bind", "it fails"),
    ],
)
def test_what_does_less_than_it_is_asked(refusal, fake_bwrap, drop, why):
    fake_bwrap(LESS.format(drop=drop))
    assert why in refusal("bwrap")


@pytest.mark.usefixtures("needs_bwrap")
def test_what_leaves_the_files_writable(refusal, fake_bwrap):
    fake_bwrap(LESS.replace("{drop}) ;;", '--ro-bind) set -- "$@" --bind ;;'))
    assert "it leaves the files of the machine as they are" in refusal("bwrap")


def test_a_subreaper_that_gets_no_orphans_is_none(make_suite, case, go, monkeypatch):
    monkeypatch.setattr(sweeping, "_listed", lambda children: [])
    (trial,) = go(make_suite(case("a", shell="true"))).trials
    assert trial.isolation == "killpg"


def test_the_next_rung_is_taken_where_one_is_missing(make_suite, case, go, needs_bwrap, no_groups):
    (trial,) = go(make_suite(case("a", shell="true")), require_isolation="cgroup").trials
    assert trial.isolation == "bwrap"


def test_each_rung_that_was_tried_says_why_not(refusal, no_bwrap, no_groups):
    said = refusal("cgroup")
    assert (
        "cgroup: no group can be made: no control groups of version 2 are mounted; bwrap: it is not" in said
    )


@pytest.mark.usefixtures("needs_groups")
def test_a_group_that_does_not_take_the_process_in(monkeypatch):
    monkeypatch.setattr(cgroups, "_JOIN", 'exec "$@"')
    groups = cgroups.opened()
    try:
        assert probes.of_groups(groups) == "what is started in a group is not in it"
    finally:
        groups.close()
    assert not groups.folder.exists()


@pytest.mark.parametrize("level", ["subreaper", "killpg"])
def test_less_than_the_usual_costs_nothing(make_suite, case, go, no_bwrap, no_groups, level):
    (trial,) = go(make_suite(case("a", shell="true")), require_isolation=level).trials
    assert (trial.isolation, trial.artifacts) == ("subreaper", {})


def test_a_resumed_run_asks_for_the_same(make_suite, case, go, needs_groups):
    limits = {"require_isolation": "cgroup", "memory_limit": 1 << 30}
    ran = go(make_suite(case("a", shell="true")), run_id="r", **limits)
    terms = runner.resume_plan(ran.data, "r").terms
    assert {name: getattr(terms, name) for name in limits} == limits
