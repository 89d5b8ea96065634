"""The words are one list in three places, the schemas mean what an independent validator says they mean,
and a document is refused at the door with all its problems, each on its line, never with its values.
"""

import copy
import enum
import json
import re
from pathlib import Path

import jsonschema
import pytest
import referencing
from hypothesis import given, settings
from hypothesis import strategies as st

from evalstats import contract, store
from evalstats.errors import DocumentError, Problem

ENUMERATIONS = [
    value
    for value in vars(contract).values()
    if isinstance(value, enum.EnumMeta) and value is not enum.StrEnum
]
SCHEMAS = sorted(path.stem for path in contract.packaged("schemas").glob("*.json"))
WORDS = contract.schema("words.v1")["$defs"]


def snake(name: str) -> str:
    return re.sub(r"(?<!^)(?=[A-Z])", "_", name).lower()


# --- the words ------------------------------------------------------------------------------------


@pytest.mark.parametrize("enumeration", ENUMERATIONS, ids=lambda e: e.__name__)
def test_python_spells_the_words_of_the_schema(enumeration):
    assert [str(word) for word in enumeration] == WORDS[snake(enumeration.__name__)]["enum"]


def test_every_enumeration_was_met():
    names = {e.__name__ for e in ENUMERATIONS}
    assert {"Arm", "Axis", "CaseKind", "Outcome", "Status", "Tier", "Verdict", "Visibility"} <= names


def test_sql_spells_the_words_of_the_schema():
    spelled = store.enum_values()
    assert {"arm", "axis", "outcome", "status", "tier", "visibility"} <= set(spelled)
    assert spelled == {name: WORDS[name]["enum"] for name in spelled}


def test_a_member_is_named_as_it_is_spelled():
    for enumeration in ENUMERATIONS:
        assert [w.name for w in enumeration] == [w.value.upper().replace("-", "_") for w in enumeration]


def test_usable_outcomes_are_the_subjects_doing():
    usable = [outcome for outcome in contract.Outcome if outcome.usable]
    assert usable == ["ok", "timeout", "limit"] == WORDS["outcome"]["enum"][:3]


# --- the schemas, held against an independent validator -------------------------------------------


def oracle(schema_id: str) -> jsonschema.Draft202012Validator:
    words = referencing.Resource.from_contents(contract.schema("words.v1"))
    registry = referencing.Registry().with_resource("urn:evalstats:words.v1", words)
    return jsonschema.Draft202012Validator(contract.schema(schema_id), registry=registry)


@pytest.mark.parametrize("schema_id", SCHEMAS)
def test_a_schema_is_valid_and_named_after_its_file(schema_id):
    document = contract.schema(schema_id)
    jsonschema.Draft202012Validator.check_schema(document)
    assert document["$id"] == f"urn:evalstats:{schema_id}"


@pytest.mark.parametrize("schema_id", SCHEMAS)
def test_every_reference_of_a_schema_leads_somewhere(schema_id):
    references = set(re.findall(r'"\$ref": "([^"]+)"', json.dumps(contract.schema(schema_id))))
    for reference in references:
        name, _, pointer = reference.rpartition("#/$defs/")
        assert pointer in (contract.schema("words.v1") if name else contract.schema(schema_id))["$defs"]


PLACES = st.lists(st.integers(0, 30), min_size=0, max_size=6)
# No newline: the oracle's "$" also matches before one, which ours, rightly, does not allow.
TEXTS = st.text(st.characters(exclude_characters="\n", exclude_categories=["Cs"]), max_size=5)
VALUES = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(-2, 9),
    st.floats(allow_nan=False, allow_infinity=False),
    TEXTS,
    st.sampled_from(["live", "skill-off", "judge", "A1", "x" * 200, [], {}, [""], [{}], {"a": "b"}]),
)


def mutated(document, place, value, drop):
    """Walk down by the numbers of `place`, then drop what is there or put `value` in its stead or beside it."""
    node = document
    for step in place:
        keys = list(node) if isinstance(node, dict) else list(range(len(node)))
        child = node[keys[step % len(keys)]] if keys else None
        if not isinstance(child, dict | list):
            break
        node = child
    keys = list(node) if isinstance(node, dict) else list(range(len(node)))
    if drop and keys:
        del node[keys[len(place) % len(keys)]]
    elif isinstance(node, dict):
        node[keys[sum(place) % len(keys)] if keys and value != [] else "unknown"] = value
    else:
        node.append(value)
    return document


@settings(max_examples=300, deadline=None)
@given(edits=st.lists(st.tuples(PLACES, VALUES, st.booleans()), min_size=0, max_size=3))
def test_both_validators_agree_about_every_document(suite_document, edits):
    document = suite_document()
    for edit in edits:
        document = mutated(document, *copy.deepcopy(edit))  # or a drawn list could end up inside itself
    valid = oracle("eval-suite.v1").is_valid(document)
    assert (contract.problems(document, "eval-suite.v1") == []) == valid


@pytest.mark.parametrize("schema_id", SCHEMAS)
@pytest.mark.parametrize("document", [None, [], {}, 1, "x", {"schema_version": 2}], ids=json.dumps)
def test_both_validators_agree_about_every_schema(schema_id, document):
    assert (contract.problems(document, schema_id) == []) == oracle(schema_id).is_valid(document)


# --- reading --------------------------------------------------------------------------------------


def refused(tmp_path: Path, raw: bytes) -> Problem:
    path = tmp_path / "document.json"
    path.write_bytes(raw)
    with pytest.raises(DocumentError) as caught:
        contract.read_json(path)
    assert caught.value.path == path
    assert str(caught.value).startswith(str(path))
    return caught.value.problems[0]


@pytest.mark.parametrize(
    ("raw", "line", "words"),
    [
        (b'{"a": 1,\n "a": 2}', 2, "key 'a' stands twice"),
        (b'{"x": {"a": 1,\n "a": 2},\n "y": {"a": 3}}', 2, "key 'a' stands twice"),
        (b'[{"a/b": 1},\n {"a/b": 1,\n "a\\u002fb": 2}]', 3, "key 'a/b' stands twice"),
        (b'{"": 1,\n "": 2}', 2, "key '' stands twice"),
        (b'{"n":\n NaN,\n "t": "NaN"}', 2, "NaN is not JSON"),
        (b'["Infinity",\n Infinity]', 2, "Infinity is not JSON"),
        (b"[\n\n-Infinity]", 3, "-Infinity is not JSON"),
        (b'["1e999",\n 1e999]', 2, "beyond 1.8e308"),
        (b"[1,\n -1E+400]", 2, "beyond 1.8e308"),
        (b"[9007199254740991,\n 9007199254740992]", 2, "beyond 2^53 - 1"),
        (b"[-9007199254740991,\n -9007199254740992]", 2, "beyond 2^53 - 1"),
        (b"[" + b"9" * 10_000 + b"]", 1, "beyond 2^53 - 1"),
        (b'{"a": 1,\n "b"}', 2, "is not JSON"),
        (b"", 1, "is not JSON"),
        (b" \n\n", 3, "is not JSON"),
        (b"{}\n{}", 2, "is not JSON"),
        (b"[" * 201 + b"]" * 201, None, "deeper than 200"),
        (b'{"a":' * 100_000, None, "deeper than 200"),
        (b'"\\ud800"', None, "half of a surrogate pair"),
        (b'{"a\\uDfff": 1}', None, "half of a surrogate pair"),
        ("{}".encode("utf-16"), None, "is not UTF-8 (byte 0)"),
        ("{}".encode("utf-16-le"), 1, "is not JSON"),
        (b'{"a": "\xff"}', None, "is not UTF-8 (byte 7)"),
        (b'["\xed\xa0\x80"]', None, "is not UTF-8 (byte 2)"),
    ],
)
def test_what_json_does_not_promise_is_refused(tmp_path, raw, line, words):
    problem = refused(tmp_path, raw)
    assert words in problem.message
    assert problem.line == line


def test_a_folder_and_a_missing_file_are_named(tmp_path):
    for path, words in ((tmp_path, "Is a directory"), (tmp_path / "none.json", "No such file")):
        with pytest.raises(DocumentError, match=words) as caught:
            contract.read_json(path)
        assert caught.value.path == path


@pytest.mark.parametrize(
    ("raw", "document"),
    [
        (b'\xef\xbb\xbf{"a": 1}', {"a": 1}),
        (b'"\\ud83d\\ude00 \\\\ud800"', "\U0001f600 \\ud800"),
        (b"[9007199254740991, -9007199254740991, 1.5e308, 1e-999]", [2**53 - 1, 1 - 2**53, 1.5e308, 0.0]),
        (b"[" * 200 + b"]" * 200, json.loads("[" * 200 + "]" * 200)),
        (b'{"a": {"b": 1}, "b": {"b": 1}}', {"a": {"b": 1}, "b": {"b": 1}}),
    ],
)
def test_what_json_promises_is_read(tmp_path, raw, document):
    path = tmp_path / "document.json"
    path.write_bytes(raw)
    assert contract.read_json(path) == (document, raw.decode("utf-8-sig"))


# --- lines ----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "lines"),
    [
        ("1", {"": 1}),
        ("\n\n{}", {"": 3}),
        ('{"a": 1,\n"b": [2,\n3]}', {"": 1, "/a": 1, "/b": 2, "/b/0": 2, "/b/1": 3}),
        ('{"a/b": {"c~d":\n1}}', {"": 1, "/a~1b": 1, "/a~1b/c~0d": 1}),
        ("[[],\n[[1],\n[{}]]]", {"": 1, "/0": 1, "/1": 2, "/1/0": 2, "/1/0/0": 2, "/1/1": 3, "/1/1/0": 3}),
        ('{"a": "}{][,:\\"",\n"b": 1}', {"": 1, "/a": 1, "/b": 2}),
        ('{"x": {"k": 1},\n"y": {"k": 2},\n"k": 3}', {"": 1, "/x": 1, "/x/k": 1, "/y": 2, "/y/k": 2, "/k": 3}),
        ('{"":\n{"": 1}}', {"": 1, "/": 1, "//": 2}),
        ('{"\\u0061\\n": [\n{"b": null}]}', {"": 1, "/a\n": 1, "/a\n/0": 2, "/a\n/0/b": 2}),
        ('["a", "\\\\",\n"b"]', {"": 1, "/0": 1, "/1": 1, "/2": 2}),
    ],
)  # fmt: skip
def test_pointer_lines_by_hand(text, lines):
    json.loads(text)
    assert contract.pointer_lines(text) == lines


def pointers(node, pointer=""):
    yield pointer
    children = node.items() if isinstance(node, dict) else enumerate(node) if isinstance(node, list) else ()
    for key, child in children:
        yield from pointers(child, f"{pointer}/{str(key).replace('~', '~0').replace('/', '~1')}")


KEYS = st.text('ab/~\\"{:,\n', max_size=3)
JSON = st.recursive(
    st.none() | st.integers(-9, 9) | st.text(max_size=4) | st.sampled_from(["}", '"', "\\", "[,:"]),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(KEYS, inner, max_size=4),
)


@given(document=JSON, indent=st.sampled_from([None, 0, 2]), ascii_only=st.booleans())
def test_every_value_has_a_line_where_its_key_stands(document, indent, ascii_only):
    text = json.dumps(document, indent=indent, ensure_ascii=ascii_only)
    lines = contract.pointer_lines(text)
    assert list(lines) == list(pointers(document))
    rows = text.split("\n")
    for pointer, line in lines.items():
        parent, _, key = pointer.rpartition("/")
        assert lines.get(parent, 1) <= line <= len(rows)
        if pointer and isinstance(at(document, parent), dict):
            key = json.dumps(key.replace("~1", "/").replace("~0", "~"), ensure_ascii=ascii_only)
            assert f"{key}:" in rows[line - 1]


def at(document, pointer):
    for part in pointer.split("/")[1:]:
        key = part.replace("~1", "/").replace("~0", "~")
        document = document[int(key)] if isinstance(document, list) else document[key]
    return document


# --- all problems at once -------------------------------------------------------------------------

SECRET = "swordfish"
BAD = f"""{{
 "schema_version": 2,
 "id": "{SECRET}!",
 "name": "{SECRET}",
 "domain": "",
 "visibility": "{SECRET}",
 "tier": "live",
 "surplus": 1,
 "metadata": {{"free": ["{SECRET}"]}},
 "scoring": {{"aggregate_threshold": 1.5,
   "dimensions": [{{"name": "safety", "weight": 0, "threshold": "{SECRET}"}}]}},
 "baseline_policy": {{}},
 "cases": [
  {{"id": "one", "title": "t", "kind": "command", "objective": "o",
    "expectations": [{{"type": "{SECRET}"}}, {{"typ": "exit_code"}}]}}
 ]
}}"""


def test_all_problems_come_at_once_with_pointer_and_line(tmp_path):
    path = tmp_path / "suite.json"
    with pytest.raises(DocumentError) as caught:
        contract.validate(json.loads(BAD), "eval-suite.v1", path=path, text=BAD)
    assert [(p.pointer, p.line) for p in caught.value.problems] == [
        ("", 1),  # the surplus key
        ("/baseline_policy", 12),
        ("/cases/0/expectations/0/type", 15),
        ("/cases/0/expectations/1", 15),  # type is missing, typ is unknown
        ("/cases/0/expectations/1", 15),
        ("/domain", 5),
        ("/id", 3),
        ("/schema_version", 2),
        ("/scoring/aggregate_threshold", 10),
        ("/scoring/dimensions/0/threshold", 11),
        ("/scoring/dimensions/0/weight", 11),
        ("/visibility", 6),
    ]
    assert "(and 11 more)" in str(caught.value)
    assert len(caught.value.lines()) == 12
    assert caught.value.lines()[1].startswith(f"{path}:12: /baseline_policy: ")


def test_no_value_of_the_document_is_told():
    for problem in contract.problems(json.loads(BAD), "eval-suite.v1"):
        assert SECRET not in str(problem)
        assert "1.5" not in str(problem)


def test_a_pointer_without_a_line_takes_its_parents():
    text = '{\n"a": {\n"b": 1}}'
    found = contract.with_lines([Problem("/a/c/0", "is missing"), Problem("/z", "is missing")], text)
    assert [problem.line for problem in found] == [2, 1]


def test_a_valid_document_passes_in_silence(suite_document):
    assert contract.problems(suite_document(), "eval-suite.v1") == []
    contract.validate(suite_document(), "eval-suite.v1")


# --- digests --------------------------------------------------------------------------------------


def test_canonical_is_rfc_8785():
    # the example of RFC 8785, section 3.2.2
    text = (
        '{"numbers": [333333333.33333329, 1E30, 4.50, 2e-3, 0.000000000000000000000000001],'
        ' "string": "\\u20ac$\\u000F\\u000aA\'\\u0042\\u0022\\u005c\\\\\\"\\/",'
        ' "literals": [null, true, false]}'
    )
    assert contract.canonical(contract.parse_json(text)).decode() == (
        '{"literals":[null,true,false],"numbers":[333333333.3333333,1e+30,4.5,0.002,1e-27],'
        '"string":"€$\\u000f\\nA\'B\\"\\\\\\\\\\"/"}'
    )


def test_digest_is_sha256():
    abc = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"  # FIPS 180-4, appendix
    assert contract.digest(b"abc") == abc
    assert contract.canonical_digest({"b": 1.0, "a": []}) == contract.digest(b'{"a":[],"b":1}')


@given(document=JSON)
def test_whatever_is_read_can_be_digested(document):
    assert json.loads(contract.canonical(contract.parse_json(json.dumps(document)))) == document
