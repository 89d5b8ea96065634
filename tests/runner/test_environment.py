"""What a trial sees of the world, seen from inside real trials."""

import os

import pytest

from evalstats.runner import environment

SECRETS = {
    "ANTHROPIC_API_KEY": "fake-anthropic-0123456789",
    "GITHUB_TOKEN": "fake-github-0123456789",
    "AGENTOPS_RPI_RUNTIME_X": "fake-runtime-0123456789",
    "OPENAI_BASE": "fake-base-0123456789",
}
PRIVATE = ("HOME", "TMPDIR", "CODEX_HOME", "CLAUDE_CONFIG_DIR", "XDG_CONFIG_HOME", "XDG_CACHE_HOME")


def variables(stdout):
    return dict(line.split("=", 1) for line in stdout.decode().splitlines() if "=" in line)


def test_nothing_is_inherited_but_the_allow_list(trial_of, monkeypatch):
    for name, value in {
        **SECRETS,
        "EDITOR": "vi",
        "PYTHONPATH": "/x",
        "TZ": "UTC",
        "LANG": "C.UTF-8",
    }.items():
        monkeypatch.setenv(name, value)
    seen = variables(trial_of(shell="env")[1])
    own = {f"EVALSTATS_{name}" for name in ("RUN", "RUNNER", "TRIAL", "SEED", "TRIAL_INDEX", "ARM")}
    shell = {"PWD", "SHLVL", "OLDPWD", "_"}
    assert set(seen) <= {*environment.INHERITED, *map(os.fsdecode, environment._PRIVATE), *own, *shell}
    assert (seen["TZ"], seen["PATH"]) == ("UTC", os.environ["PATH"])


def test_marks_of_the_trial(trial_of):
    trial, stdout, _ = trial_of(shell="env")
    seen = variables(stdout)
    assert seen["EVALSTATS_RUN"] == trial.run_id
    assert seen["EVALSTATS_TRIAL"] == trial.key
    assert seen["EVALSTATS_SEED"] == str(trial.seed)
    assert (seen["EVALSTATS_TRIAL_INDEX"], seen["EVALSTATS_ARM"]) == ("1", "skill-on")


def test_secrets_reach_neither_the_trial_nor_any_file(make_suite, case, go, monkeypatch):
    for name, value in SECRETS.items():
        monkeypatch.setenv(name, value)
    env = {name: f"from-suite-{name.lower()}" for name in SECRETS}
    # The value itself, known from elsewhere, and printed: kept out of what is stored, yet seen by the check.
    leak = f"echo {SECRETS['GITHUB_TOKEN']}; echo {SECRETS['ANTHROPIC_API_KEY']} >&2; env"
    wanted = {"type": "stdout_contains", "value": SECRETS["GITHUB_TOKEN"]}
    suite = make_suite(
        case("a", wanted, shell=leak, env={**env, "PLAIN": "yes"}),
        environment={"scrub_env_prefixes": ["OPENAI_"]},
        arms={"skill-on": {"env": {"MY_SECRET": "x", "ARM": "on"}}},
    )
    ran = go(suite, run_id="r")
    (trial,) = ran.trials
    assert trial.passed is True
    stdout, stderr = (ran.blobs.get(trial.artifacts[name]) for name in ("stdout", "stderr"))
    assert stdout.startswith(b"[redacted:GITHUB_TOKEN]\n")
    assert stderr == b"[redacted:ANTHROPIC_API_KEY]\n"
    seen = variables(stdout)
    assert not {*SECRETS, "MY_SECRET"} & set(seen)
    assert (seen["PLAIN"], seen["ARM"]) == ("yes", "on")
    files = [path for path in (ran.data / "runs").rglob("*") if path.is_file() and path.name != "suite.json"]
    assert files
    assert not [p for p in files for value in SECRETS.values() if value.encode() in p.read_bytes()]
    manifest = ran.data / "runs/r/manifest.json"
    assert (
        b'"withheld":["AGENTOPS_RPI_RUNTIME_X","ANTHROPIC_API_KEY","GITHUB_TOKEN","MY_SECRET","OPENAI_BASE"]'
        in manifest.read_bytes()
    )


MESSES = {
    "none": "true",
    "output": "echo much; echo more >&2",
    "file": "touch $HOME/mess",
    "hidden": "touch $TMPDIR/.mess",
    "beside": "touch $TMPDIR/../mess",
    "locked": "mkdir -p $HOME/a/b && touch $HOME/a/b/c && chmod 0 $HOME/a/b $HOME/a",
    "mode": "chmod 755 $HOME",
    "folder": "rmdir $TMPDIR && ln -s / $TMPDIR",
    "link": "rm $TMPDIR/../stderr && ln -s $PWD/precious $TMPDIR/../stderr",
    "hardlink": "ln -f $PWD/precious $TMPDIR/../stderr",
}


@pytest.mark.parametrize("mess", MESSES)
def test_home_is_fresh_whatever_the_last_trial_did(make_suite, case, go, mess):
    shell = f"ls -AR $HOME $TMPDIR; stat -c %a $HOME $TMPDIR; pwd -P >&2; {MESSES[mess]}"
    suite = make_suite(case("a", shell=shell))
    precious = suite.folder / "precious"
    precious.write_text("do not lose\n")
    precious.chmod(0o600)
    ran = go(suite, trials=4, jobs=1, run_id="r")
    for trial in ran.trials:
        home = f"{ran.data}/runs/r/t/{trial.key[:12]}"
        seen = ran.blobs.get(trial.artifacts["stdout"]).decode()
        assert seen.removesuffix("much\n") == f"{home}/home:\n\n{home}/tmp:\n700\n700\n"
    assert precious.read_text() == "do not lose\n"
    assert not (ran.data / "runs/r/t").exists()


def test_a_stranger_cannot_write_into_the_output_of_a_later_trial(make_suite, case, go):
    first = "(setsid env -i sh -c 'sleep 0.8; echo late' &)"
    shell = f"if test $EVALSTATS_TRIAL_INDEX = 1; then {first}; sleep 0.2; else sleep 0.4; echo mine; fi"

    ran = go(make_suite(case("a", shell=shell), trials={"order": "blocked"}), trials=4, jobs=1)
    out = [ran.blobs.get(t.artifacts["stdout"]) for t in ran.trials if t.artifacts]
    assert out == [b"mine\n"] * 3


@pytest.mark.parametrize("name", PRIVATE)
def test_private_folders_lie_in_the_folder_of_the_trial(trial_of, name, monkeypatch):
    monkeypatch.setenv(name, "/outside")
    trial, stdout, _ = trial_of(shell="env", env={name: "/from-the-suite"})
    assert f"/runs/{trial.run_id}/t/{trial.key[:12]}/" in variables(stdout)[name] + "/"


def test_skill_off_disables_hooks_and_skill_on_leaves_them_alone(make_suite, case, go, monkeypatch):
    monkeypatch.setenv("AGENTOPS_HOOKS_DISABLED", "1")
    suite = make_suite(
        case("a", {"type": "stdout_contains", "value": "1"}, shell="printenv AGENTOPS_HOOKS_DISABLED")
    )
    ran = go(suite, mode="both")
    assert {t.arm.value: t.passed for t in ran.trials} == {"skill-on": False, "skill-off": True}
    on, off = ran.result.records
    assert "hooks_disabled" not in on["environment"]
    assert off["environment"]["hooks_disabled"] is True


def test_a_suite_can_disable_hooks_in_both_arms(make_suite, case, go):
    suite = make_suite(
        case("a", shell="test $AGENTOPS_HOOKS_DISABLED = 1"), environment={"disable_hooks": True}
    )
    ran = go(suite)
    assert ran.trials[0].passed is True
    assert ran.result.records[0]["environment"]["hooks_disabled"] is True


def test_an_arm_brings_env_inputs_and_files(make_suite, case, go):
    arms = {
        "skill-on": {"env": {"WHO": "arm"}, "inputs": {"stdin": "from arm"}, "files": ["skills/s", "one.md"]}
    }
    shell = "echo $WHO; cat; cat $HOME/skills/s/SKILL.md $HOME/one.md; true"
    suite = make_suite(case("a", shell=shell, stdin="from case", env={"WHO": "case"}), arms=arms)
    (suite.root / "skills/s").mkdir(parents=True)
    (suite.root / "skills/s/SKILL.md").write_text("a skill\n")
    (suite.root / "one.md").write_text("one\n")
    ran = go(suite, mode="both")
    out = {t.arm.value: ran.blobs.get(t.artifacts["stdout"]) for t in ran.trials}
    assert out == {"skill-on": b"arm\nfrom arma skill\none\n", "skill-off": b"case\nfrom case"}


def test_path_has_a_default(trial_of, monkeypatch):
    monkeypatch.delenv("PATH")
    assert trial_of(argv=["sh", "-c", "echo ok"])[1] == b"ok\n"
