"""Every type of expectation: met, not met, and what lies at the edge."""

import json

import pytest

from evalstats.contract import ExpectationType
from evalstats.runner import expectations
from evalstats.runner.evidence import Evidence
from evalstats.suite import Expectation


@pytest.fixture
def look(make_suite, case, tmp_path):
    """Return a function that checks one expectation against given traces: (passed, detail)."""
    root = tmp_path / "repo"
    suite = make_suite(case("a", shell="true"), folder="repo/evals/tiny", root=root)

    def check(kind, *, stdout="", stderr="", exit_code=0, has_output=True, **fields):
        evidence = Evidence(
            suite=suite,
            folder=str(suite.folder),
            has_output=has_output,
            exit_code=exit_code,
            stdout=stdout,
            stderr=stderr,
        )
        result = expectations.check(Expectation(type=ExpectationType(kind), **fields), evidence)
        assert len(result.detail) < 200
        return result.passed, result.detail

    check.folder = suite.folder
    check.root = root
    return check


def test_an_answer_without_an_exit_code_has_output_all_the_same(look):
    assert look("stdout_contains", exit_code=None, stdout="yes", value="yes")[0] is True
    assert look("exit_code", exit_code=None) == (None, "exit_code is undecided: the runtime has none")


def test_every_type_has_a_check():
    assert set(expectations._CHECKS) == set(ExpectationType)


@pytest.mark.parametrize(
    "code, value, passed", [(0, None, True), (1, None, False), (3, 3, True), (-9, -9, True), (0, 1, False)]
)
def test_exit_code(look, code, value, passed):
    assert look("exit_code", exit_code=code, value=value)[0] is passed


def test_exit_code_details(look):
    assert look("exit_code", value=0) == (True, "exit_code matched 0")
    assert look("exit_code", exit_code=2, value=0) == (False, "exit_code was 2, expected 0")


@pytest.mark.parametrize("stream", ["stdout", "stderr"])
def test_stream_contains(look, stream):
    kind = f"{stream}_contains"
    assert look(kind, value="two", **{stream: "one two"}) == (True, f"{stream} holds the expected text")
    assert look(kind, value="Two", **{stream: "one two"}) == (False, f"{stream} lacks the expected text")
    other = {"stdout": "stderr", "stderr": "stdout"}[stream]
    assert look(kind, value="two", **{other: "one two"})[0] is False
    assert look(kind, value=42, **{stream: "is 42"})[0] is True


def test_auto_detect_reads_json_strings(look):
    kind, text = "stdout_contains_auto_detect", 'say "hi"\nthere'
    assert look(kind, value="plain", stdout="so plain")[0] is True
    assert look(kind, value=text, stdout=json.dumps({"a": [{"result": f"I {text}."}]}))[0] is True
    lines = json.dumps({"type": "init"}) + "\nnoise\n" + json.dumps({"result": text}) + "\n"
    assert look(kind, value=text, stdout=lines)[0] is True
    assert look(kind, value=text, stdout=json.dumps({text: 1}))[0] is False  # a key is no value
    assert look(kind, value="x", stdout="")[0] is False
    assert look(kind, value="x", stdout='{"a": ')[0] is False


def test_files(look):
    (look.folder / "here.txt").write_text("x")
    (look.folder / "dir").mkdir()
    (look.folder / "broken").symlink_to("nowhere")
    assert look("file_exists", target="here.txt") == (True, "here.txt exists")
    assert look("file_exists", target="dir")[0] is True
    assert look("file_exists", target="gone.txt") == (False, "gone.txt does not exist")
    assert look("file_absent", target="gone.txt") == (True, "gone.txt does not exist")
    assert look("file_absent", target="here.txt") == (False, "here.txt exists")
    assert look("file_exists", target="broken")[0] is False


def test_targets_may_leave_the_folder_but_not_the_repository(look):
    (look.root / "docs").mkdir()
    (look.root / "docs/x.md").write_text("text")
    (look.root.parent / "outside.md").write_text("text")
    (look.folder / "link.md").symlink_to(look.root.parent / "outside.md")
    assert look("artifact_contains", target="../../docs/x.md", value="text")[0] is True
    for target in ("../../../outside.md", str(look.root.parent / "outside.md"), "link.md"):
        for kind in ("artifact_contains", "file_exists", "file_absent"):
            passed, detail = look(kind, target=target, value="text")
            assert passed is False and detail.endswith("lies outside the repository")


def test_without_a_repository_there_is_nothing_to_stay_in(make_suite, case, tmp_path):
    suite = make_suite(case("a", shell="true"), folder="alone")
    (tmp_path / "beside.md").write_text("text")
    evidence = Evidence(suite=suite, folder=str(suite.folder))
    wanted = Expectation(type=ExpectationType.FILE_EXISTS, target="../beside.md")
    assert expectations.check(wanted, evidence).passed is True


def test_artifact_contains(look):
    import os

    (look.folder / "a.md").write_bytes(b"caf\xe9 and tea\n")
    os.mkfifo(look.folder / "pipe")
    assert look("artifact_contains", target="a.md", value="tea") == (
        True,
        "file a.md holds the expected text",
    )
    assert look("artifact_contains", target="a.md", value="milk")[0] is False
    assert look("artifact_contains", target="b.md", value="x") == (False, "file b.md is missing")
    assert look("artifact_contains", target="pipe", value="x") == (False, "file pipe is missing")
    long = "n" * 200
    assert look("artifact_contains", target=long, value="x")[1] == f"file {'n' * 77}... is missing"


DOCUMENT = json.dumps({"a": {"b": [10, {"c": True}], "n": None}, "x.y": 1.0, "0": "zero"})


@pytest.mark.parametrize(
    "target, value, passed",
    [
        ("$.a.b[0]", 10, True),
        ("a.b.0", 10, True),
        ("$.a.b[0]", 10.0, True),
        ("$.a.b[1].c", True, True),
        ("$.a.b[1].c", 1, False),
        ("$.a.b[1]", {"c": True}, True),
        ("$.a.b", [10], False),
        ("$.a.n", None, True),
        ('$["x.y"]', 1, True),
        ("$.0", "zero", True),
        ("$.a.b[2]", None, False),
        ("$.a.b.-1", None, False),
        ("$.a.z", None, False),
        ("$.a.b.c", None, False),
        ("$", None, True),
    ],
)
def test_json_path(look, target, value, passed):
    assert look("json_path", stdout=DOCUMENT, target=target, value=value)[0] is passed


def test_json_path_details(look):
    assert look("json_path", stdout="no json", target="a") == (False, "stdout is not JSON")
    assert look("json_path", stdout="{}", target="$.a") == (False, "nothing at $.a")
    assert look("json_path", stdout='{"a": 1}', target="$.a", value=2) == (
        False,
        "$.a is not the expected value",
    )


def test_schema_valid(look):
    (look.folder / "list.schema.json").write_text('{"type": "array", "items": {"type": "integer"}}')
    (look.folder / "good.json").write_text("[1, 2]")
    (look.folder / "bad.json").write_text('[1, "2", "3"]')
    (look.folder / "torn.json").write_text("[1,")
    assert look("schema_valid", target="suite", value="eval-suite")[0] is True
    assert look("schema_valid", target="suite.json", value="eval-suite.v1")[0] is True
    assert look("schema_valid", target="suite.json", value="eval-run.v1")[0] is False
    assert look("schema_valid", target="good.json", value="list.schema.json")[0] is True
    assert look("schema_valid", target="bad.json", value="list.schema.json") == (
        False,
        "bad.json breaks its schema in 2 place(s)",
    )
    assert (
        look("schema_valid", target="torn.json", value="list.schema.json")[1] == "file torn.json is not JSON"
    )
    assert look("schema_valid", target="good.json", value="gone.json")[1] == "file gone.json is missing"


def test_a_schema_is_never_fetched(look):
    (look.folder / "good.json").write_text("[1, 2]")
    (look.folder / "far.json").write_text('{"$ref": "http://127.0.0.1:9/schema.json"}')
    assert look("schema_valid", target="good.json", value="far.json") == (
        False,
        "file far.json is not a JSON Schema that stands alone",
    )


@pytest.mark.parametrize(
    "stdout, target, passed",
    [
        ("0.75\n", None, True),
        ("0.7\n", None, False),
        ('{"score": 0.75}', "$.score", True),
        ('{"score": 0.5}', "$.score", False),
        ('{"score": true}', "$.score", False),
        ('{"score": "0.9"}', "$.score", False),
        ('{"score": null}', "$.score", False),
        ("{}", "$.score", False),
        ("about 0.9", None, False),
        ("NaN", None, False),
        ("", None, False),
    ],
)
def test_score_at_least(look, stdout, target, passed):
    assert look("score_at_least", stdout=stdout, target=target, threshold=0.75)[0] is passed


def test_regex_looks_where_it_is_told(look):
    (look.folder / "log.txt").write_text("line one\nerror 42\n")
    assert look("regex", stdout="error 42", value=r"error \d+")[0] is True
    assert look("regex", stdout="a\nerror 42\nb", value=r"(?m)^error \d+$")[0] is True
    assert look("regex", stderr="error 42", value=r"error \d+")[0] is False
    assert look("regex", stderr="error 42", value=r"error \d+", target="stderr")[0] is True
    assert look("regex", value=r"error \d+", target="log.txt")[0] is True
    assert look("regex", value="x", target="gone.txt") == (False, "file gone.txt is missing")


def test_regex_takes_linear_time(look):
    assert look("regex", stdout="a" * 50_000, value="(a+)+$x")[0] is False


def test_not_contains(look):
    assert look("not_contains", stdout="fine", value="error") == (True, "stdout lacks the unwanted text")
    assert look("not_contains", stdout="error", value="error") == (False, "stdout holds the unwanted text")
    assert look("not_contains", stderr="error", value="error", target="stderr")[0] is False
    assert look("not_contains", value="error", target="gone.txt") == (False, "file gone.txt is missing")


@pytest.mark.parametrize(
    "kind, reason",
    [
        ("manual_review", "manual review has not been done"),
        ("judge", "no judge was run"),
        ("manifest_check", "there is no manifest to check against"),
    ],
)
def test_what_nobody_has_decided_is_undecided(look, kind, reason):
    assert look(kind, value="x") == (None, reason)


@pytest.mark.parametrize("kind", ["exit_code", "stdout_contains", "not_contains", "cites_card", "json_path"])
def test_without_a_command_output_is_undecided(look, kind):
    fields = {"value": None if kind == "exit_code" else "x", "target": "$.a" if kind == "json_path" else None}
    assert look(kind, has_output=False, **fields) == (None, f"{kind} is undecided: no command ran")


def test_without_a_command_files_are_checked(look):
    assert look("file_exists", has_output=False, target="suite.json")[0] is True
    assert look("not_contains", has_output=False, target="suite.json", value="zzz")[0] is True


ANSWER = """
See card aws-s3-versioning-split and recipe `mongo-atlas-aws-privatelink`; path aws/r/eks_cluster.

resource "aws_s3_bucket" "logs" {
  bucket = "logs"
  versioning {
    enabled = true
  }
}
data "aws_caller_identity" "me" {}
output "arn" { value = data.aws_iam_role.app.arn }
terraform import cloudflare_dns_record.api abc/def
"""


@pytest.mark.parametrize(
    "kind, value, target, passed",
    [
        ("resource_present", "aws_s3_bucket", None, True),
        ("resource_present", "aws_s3_bucket.logs", None, True),
        ("resource_present", "aws_s3_bucket.other", None, False),
        ("resource_present", "aws_iam_role", None, False),
        ("resource_present", "cloudflare_dns_record", None, True),
        ("no_resource", "cloudflare_record", None, True),
        ("no_resource", "aws_s3_bucket", None, False),
        ("cites_card", "aws-s3-versioning-split", None, True),
        ("cites_card", "aws-s3-versioning", None, False),
        ("cites_recipe", "mongo-atlas-aws-privatelink", None, True),
        ("cites_recipe", "atlas-aws", None, False),
        ("cites_path", "aws/r/eks_cluster", None, True),
        ("cites_path", "aws/r/eks", None, False),
        ("argument_present", "versioning", "aws_s3_bucket", True),
        ("argument_present", "enabled", None, True),
        ("argument_present", "value", "aws_s3_bucket", False),
        ("argument_absent", "acl", None, True),
        ("argument_absent", "versioning", "aws_s3_bucket", False),
        ("import_syntax_match", "cloudflare_dns_record", None, True),
        ("import_syntax_match", "aws_s3_bucket", None, False),
    ],
)
def test_lift_checks(look, kind, value, target, passed):
    assert look(kind, stdout=ANSWER, value=value, target=target)[0] is passed


def test_an_empty_answer_passes_only_what_asks_for_absence(look):
    kinds = ["resource_present", "cites_card", "cites_recipe", "cites_path", "argument_present"]
    for kind in [*kinds, "import_syntax_match"]:
        assert look(kind, value="x")[0] is False
    assert look("no_resource", value="x")[0] is True
    assert look("argument_absent", value="x")[0] is True


def test_details_never_quote_the_output(look):
    secret = "hush-hush-hush"
    for kind in ExpectationType:
        _, detail = look(kind, stdout=secret, stderr=secret, value="x", target="$.a", threshold=1.0)
        assert "hush" not in detail


@pytest.mark.parametrize("target", ["stdout.field", "stdout.deep.list[1]"])
def test_stdout_is_the_root_of_its_json(trial_of, target):
    wanted = {"type": "json_path", "target": target, "value": 3}
    least = {"type": "score_at_least", "target": target, "threshold": 3}
    trial, _, _ = trial_of(wanted, least, argv=["echo", '{"field": 3, "deep": {"list": [1, 3]}}'])
    assert [e.passed for e in trial.expectations] == [True, True]
