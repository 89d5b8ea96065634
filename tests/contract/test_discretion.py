"""A problem of a private document is told with its place and its rule; nothing of what it holds."""

import copy
import json

import pytest

from evalstats import contract
from evalstats.contract.discretion import UNTOLD, discreet, discreet_pointer, is_private, may_be_private
from evalstats.errors import DocumentError, Problem

SUITE = "eval-suite.v1"


@pytest.mark.parametrize(
    ("document", "schema", "private"),
    [
        ({"visibility": "private_holdout"}, "", True),
        ({"visibility": "public_canary"}, SUITE, False),
        ({"visibility": "private_holdut"}, "", True),  # whatever it was meant to be, it is not public
        ({"visibility": ["public_canary"]}, "", True),
        ({}, SUITE, True),  # a suite that does not say
        ({}, "trial.v1", False),
        ({"visibility": None}, "", False),
        ({"suite": {"visibility": "private_holdout"}}, "eval-run.v1", True),
        ({"suite": {"visibility": "public_canary"}, "visibility": "private_holdout"}, "", False),
        ([], SUITE, False),
        ("private_holdout", "", False),
    ],
)
def test_what_is_private(document, schema, private):
    assert is_private(document, schema) is private


@pytest.mark.parametrize("encoding", ["utf-8", "utf-16", "utf-16-be", "utf-32"])
def test_a_file_that_cannot_be_read_may_be_private(encoding):
    assert may_be_private('{"visibility": "private_holdout'.encode(encoding))
    assert not may_be_private('{"visibility": "public_canary"'.encode(encoding))


@pytest.mark.parametrize(
    ("pointer", "told"),
    [
        ("", ""),
        ("/cases/3/inputs/secret", "/cases/3/inputs/*"),
        ("/cases/3/inputs/env/SECRET", "/cases/3/inputs/env/*"),
        ("/arms/skill-on/env/SECRET", "/arms/skill-on/env/*"),
        ("/metadata/a~1b/c", "/metadata/*/*"),
        ("/cases/0/expectations/12/value", "/cases/0/expectations/12/value"),
    ],
)
def test_a_pointer_keeps_only_words_of_our_own(pointer, told):
    assert discreet_pointer(pointer) == told


def test_a_problem_keeps_its_line_and_its_rule():
    found = [
        Problem("/cases/0/inputs/secret", "secret is bad", 7, rule="is bad"),
        Problem("/id", "no 'secret'", 1),
    ]
    assert discreet(found) == [
        Problem("/cases/0/inputs/*", "is bad", 7, rule="is bad"),
        Problem("/id", UNTOLD, 1),
    ]


def broken(document, visibility):
    """Return a suite that breaks one rule of each kind, with a secret at each place."""
    document = copy.deepcopy(document)
    document |= {"visibility": visibility, "secret-key": 1, "domain": "", "tier": "secret-tier"}
    document["arms"] = {"skill-on": {"env": {"secret-name": "x", "OK": 3}}, "secret-arm": {}}
    document["cases"][0] |= {"id": "secret id", "secret-too": 3, "tags": ["", 7], "timeout_seconds": -5}
    del document["name"]
    return document


def test_no_problem_of_a_private_suite_quotes_it(suite_document):
    found = contract.problems(broken(suite_document(), "private_holdout"), SUITE)
    assert len(found) >= 10
    assert "secret" not in json.dumps([str(problem) for problem in found]).casefold()
    assert '"name" is a required property' in [problem.message for problem in found]
    with pytest.raises(DocumentError) as caught:
        contract.validate(broken(suite_document(), "private_holdout"), SUITE, path="suite.json")
    assert "secret" not in "".join(caught.value.lines())


def test_a_public_suite_is_told_which_key(suite_document):
    found = contract.problems(broken(suite_document(), "public_canary"), SUITE)
    assert "'secret-key'" in "".join(problem.message for problem in found)


@pytest.mark.parametrize("visibility", ["private_holdout", "public_canary"])
def test_a_repeated_key_is_named_only_where_nothing_is_private(visibility):
    text = f'{{"visibility": "{visibility}",\n "secret": 1,\n "secret": 2}}'
    with pytest.raises(DocumentError) as caught:
        contract.parse_json(text, "suite.json")
    assert ("secret" in str(caught.value)) is (visibility == "public_canary")
    assert "suite.json:3: " in str(caught.value) and "stands twice" in str(caught.value)
