"""Files that lie about themselves: too large, too deep, cut, in another encoding, packed to burst."""

import io
import json
import random
import zipfile

import pytest

from evalstats.errors import LogError
from evalstats.importers import Archive, Log, archives, logs, streams
from evalstats.importers.marks import Marks


@pytest.fixture
def log(tmp_path):
    """Return a function that writes a file and returns it as a log."""
    made = []

    def make(content, name="x"):
        path = tmp_path / name
        path.write_bytes(content if isinstance(content, bytes) else content.encode())
        made.append(Log(path))
        return made[-1]

    yield make
    for each in made:
        each.close()


# --- JSON at once and a piece at a time -----------------------------------------------------------

DOCUMENTS = [
    {},
    [],
    {"a": []},
    {"a": [1]},
    {"a": [{"b": "]},{"}, [1, [2]], "x", -1.5e-7]},
    {"k": {"a": [1, 2]}, "z": '\\" \U0001f600'},
    {"a": [float("inf"), True, None], "b": {"c": {"d": 1}}},
    {"é": ["ü" * 1000], "a": ["y" * 5000, 2]},
]


@pytest.mark.parametrize("document", DOCUMENTS)
@pytest.mark.parametrize("indent", [None, 1])
@pytest.mark.parametrize("chunk", [1, 7, 1 << 18])
def test_a_walk_gives_what_reading_at_once_gives(document, indent, chunk, log, monkeypatch):
    monkeypatch.setattr(streams, "_CHUNK", chunk)
    found = log(json.dumps(document, indent=indent, ensure_ascii=False).encode())
    assert found.json() == document
    walked = dict(found.members("/a")) if isinstance(document, dict) else dict(found.members(""))
    if isinstance(document, list):
        assert walked == {f"/{i}": each for i, each in enumerate(document)}
        return
    expected = {f"/{key}": value for key, value in document.items() if key != "a"}
    for i, each in enumerate(document.get("a", [])):
        expected[f"/a/{i}"] = each
    assert walked == expected


def test_a_walk_keeps_little_of_a_large_document(log):
    found = log(
        '{"id": 1, "rows": [' + ",".join(json.dumps({"i": i, "x": "y" * 1000}) for i in range(3000)) + "]}"
    )
    assert [value["i"] for name, value in found.members("/rows") if name.startswith("/rows/")] == list(
        range(3000)
    )


@pytest.mark.parametrize(
    "text",
    [
        "",
        "{",
        '{"a"',
        '{"a":',
        '{"a":1',
        '{"a":[',
        '{"a":[1',
        '{"a":[1,',
        '{"a":[1,]}',
        '{"a":[1}',
        "{'a': 1}",
        '{"a" 1}',
        '{"a":[1]} x',
        '{"a":[tru]}',
        '{"a":["\\x"]}',
        "[1 2]",
        '{"a":1,}',
        "nul",
        '{"a":[1]}{"b":2}',
        "{1:2}",
    ],
)
def test_broken_json_is_one_line_either_way(text, log):
    for read in (lambda found: found.json(), lambda found: list(found.members("/a"))):
        with pytest.raises(LogError) as caught:
            read(log(text))
        assert "is not JSON" in str(caught.value) and "\n" not in str(caught.value)


@pytest.mark.parametrize("text", ['{"a": 1, "a": 2}', '{"b": [{"a": 1, "a": 2}]}', '{"a": [], "a": []}'])
def test_a_key_that_stands_twice_is_refused(text, log):
    for read in (lambda found: found.json(), lambda found: list(found.members("/a"))):
        with pytest.raises(LogError, match="a key stands twice"):
            read(log(text))


def test_nan_and_large_integers_are_let_in_and_endless_ones_are_not(log):
    assert log('{"a": [NaN, -Infinity, 1e999, ' + "9" * 3000 + "]}").json()["a"][3] == int("9" * 3000)
    for read in (lambda found: found.json(), lambda found: list(found.members("/a"))):
        with pytest.raises(LogError, match="more than 4000 digits"):
            read(log('{"a": [' + "9" * 5000 + "]}"))


@pytest.mark.parametrize("depth", [202, 1000, 200_000])
def test_deep_nesting_is_refused(depth, log):
    for opening, closing in (("[", "]"), ('{"a":', "}")):
        found = log(opening * depth + "1" + closing * depth)
        assert set(found.first.values()) <= {None}  # recognising looks no further than the keys
        for read in (lambda found: found.json(), lambda found: list(found.members("/a"))):
            with pytest.raises(LogError, match="nested deeper than 200"):
                read(found)


def test_two_hundred_levels_are_deep_enough(log):
    assert log("[" * 200 + "]" * 200).json()


# --- sizes ----------------------------------------------------------------------------------------


def test_limits_of_size(log, monkeypatch):
    monkeypatch.setattr(logs, "MAX_DOCUMENT", 100)
    monkeypatch.setattr(logs, "MAX_LINE", 50)
    with pytest.raises(LogError, match="one JSON document of more than"):
        log("[" + "1," * 60 + "1]").json()
    with pytest.raises(LogError, match=":2: is a line of more than"):
        list(log(b"a\n" + b"x" * 60 + b"\n").lines())
    monkeypatch.setattr(streams, "_CHUNK", 16)
    with pytest.raises(streams.Malformed, match="one value of more than"):
        list(streams.walk(streams.Window(io.BytesIO(b'{"a": ["' + b"x" * 200 + b'"]}'), limit=64), ["/a"]))


def test_recognising_looks_at_little_of_a_large_document(log, monkeypatch):
    monkeypatch.setattr(logs, "_MAX_GLIMPSE", 1 << 19)
    found = log('{"a": 1, "rows": [' + "1," * 600_000 + '1], "late": 2}')
    assert found.top_keys == ("a", "rows") and found.first == {"a": 1, "rows": None}
    assert log('{"a": 1, "b": [2').top_keys == ("a", "b") and log("[1]").top_keys == () == log("x").top_keys
    assert log('[{"a": 1}]').first == {"a": 1} and log('[{"a": 1}]').top_keys == ()
    assert log('{"a": 1}\n{"b": 2}\n').first == {"a": 1}


# --- lines ----------------------------------------------------------------------------------------


def test_lines_end_at_newlines_only_and_keep_their_number(log):
    found = list(log("\ufeffa\x0b\x0c\u2028\x85b\r\n\n \r\nc").lines())
    assert [(number, line.decode().strip("\r\n")) for number, line in found] == [
        (1, "a\x0b\x0c\u2028\x85b"),
        (4, "c"),
    ]


def test_a_cut_last_line_needs_leave(log):
    found = log('{"a": 1}\n{"a": 2}\n{"a"')
    with pytest.raises(LogError, match=r":3: .*--allow-truncated"):
        list(found.json_lines([], allow_truncated=False))
    notes = []
    assert len(list(found.json_lines(notes, allow_truncated=True))) == 2 and notes == [
        "line 3 is cut off and was left out"
    ]
    with pytest.raises(LogError, match=":2: is not JSON"):  # a whole line that is bad is no cut
        list(log('{"a": 1}\n{"a"\n').json_lines([], allow_truncated=True))


@pytest.mark.parametrize("place", [0, 5, 70_000, 1_100_000])
def test_the_offset_of_the_first_byte_that_is_not_utf8(place, log):
    content = bytearray(b"\xc3\xa9" * 600_000)
    content[place // 2 * 2] = 0xFF
    assert f"byte {place // 2 * 2};" in str(log(bytes(content)).not_utf8())


# --- archives -------------------------------------------------------------------------------------


def archive(*members, method=zipfile.ZIP_DEFLATED):
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", method) as file:
        for name, content in members:
            file.writestr(name, content)
    return buffer.getvalue()


def test_a_bomb_is_not_unpacked(log, monkeypatch):
    bomb = archive(("header.json", b"0" * 20_000_000))
    with pytest.raises(LogError, match="unpacks to more than a log can hold"):
        Archive(log(bomb)).read("header.json")
    monkeypatch.setattr(archives, "MAX_RATIO", 10)  # many small ones are one large one
    many = archive(*((f"samples/{i}.json", b"0" * 9_000) for i in range(2000)))
    with pytest.raises(LogError, match="unpacks to more than a log can hold"):
        Archive(log(many))


def test_too_many_members_are_refused_unread(log, monkeypatch):
    content = archive(*((str(i), b"") for i in range(30)))
    monkeypatch.setattr(archives, "MAX_MEMBERS", 29)
    with pytest.raises(LogError, match="more than 29 members"):
        Archive(log(content))


def test_an_encrypted_member_and_a_bad_checksum(log):
    plain = archive(("header.json", b"{}"), method=zipfile.ZIP_STORED)
    locked = bytearray(plain)
    for mark, flags in ((b"PK\x03\x04", 6), (b"PK\x01\x02", 8)):
        locked[plain.index(mark) + flags] |= 1
    with pytest.raises(LogError, match="cannot be unpacked"):
        Archive(log(bytes(locked))).read("header.json")
    wrong = plain.replace(b"{}", b"[]", 1)
    with pytest.raises(LogError, match="CRC"):
        Archive(log(wrong)).read("header.json")


@pytest.mark.filterwarnings("ignore:Duplicate name")
def test_the_last_of_a_name_counts(log):
    found = Archive(log(archive(("a", b"1"), ("b", b"2"), ("a", b"3"))))
    assert (found.names(), found.read("a"), found.superseded) == (["a", "b"], b"3", 1)


@pytest.mark.parametrize(
    "content",
    [b"PK\x03\x04", b"PK\x05\x06" + bytes(18), b"PK\x05\x06" + b"\xff" * 18, b"PK\x03\x04" + b"\xff" * 500],
)
def test_what_only_begins_like_an_archive(content, log):
    try:
        assert Archive(log(content)).names() == []
    except LogError as error:
        assert "\n" not in str(error)


# --- a map that stays small -----------------------------------------------------------------------


def test_marks_are_a_map_also_when_there_are_many(monkeypatch):
    from evalstats.importers import marks

    monkeypatch.setattr(marks, "_MANY", 50)
    rng, real, small = random.Random(1), {}, Marks()
    for _ in range(5000):
        key, mark = (rng.randrange(900), "x"), rng.randrange(2**64)
        assert small.get(key) == real.get(key)
        if mark % 2:
            assert small.add(key, mark) == real.get(key)
            real.setdefault(key, mark)
        else:
            small.set(key, mark)
            real[key] = mark
    assert len(small) == len(real) == 900 - sum((i, "x") not in real for i in range(900))
    assert all(small.get(key) == mark for key, mark in real.items()) and small.get("none") is None
    small.set(0, 3)  # whose hash is 0
    assert small.get(0) == 3


def test_marks_keep_a_key_whose_hash_is_0_when_they_become_many(monkeypatch):
    from evalstats.importers import marks

    monkeypatch.setattr(marks, "_MANY", 50)
    small, keys = Marks(), [0, *range(2, 100)]
    assert [small.add(key, key + 3) for key in keys] == [None] * len(keys)
    assert [small.add(key, 0) for key in keys] == [key + 3 for key in keys]
