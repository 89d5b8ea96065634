"""No secret leaves: its exact value in any of the forms it travels in, and anything shaped like a token."""

import base64
import json
import urllib.parse

import pytest
from hypothesis import given
from hypothesis import strategies as st

from evalstats.redact import Redactor, credential_names

SECRET = 'p@ss/wörd+"q"='
redact = Redactor({"DB_PASSWORD": SECRET, "PATH": "/usr/local/bin", "API_KEY": "short"})


@pytest.mark.parametrize(
    "form",
    [
        SECRET,
        json.dumps(SECRET)[1:-1],
        json.dumps(SECRET, ensure_ascii=False)[1:-1],
        urllib.parse.quote(SECRET),
        urllib.parse.quote(SECRET, safe=""),
        urllib.parse.quote_plus(SECRET),
    ],
)
def test_a_secret_is_replaced_by_its_name_in_every_form(form):
    assert redact(f"<{form}>".encode()) == b"<[redacted:DB_PASSWORD]>"


@pytest.mark.parametrize("encode", [base64.b64encode, base64.urlsafe_b64encode])
@pytest.mark.parametrize("text", ["{}", "{}\n", "u:{}", "me:{}", "you:{}:x"])
def test_base64_hides_nothing_at_any_offset(encode, text):
    shown = redact(encode(text.format(SECRET).encode()))
    assert b"[redacted:DB_PASSWORD]" in shown
    left = shown.replace(b"[redacted:DB_PASSWORD]", b"")
    # at most two bytes of the secret share a group of four characters with their neighbours, on each side
    assert len(left) <= 4 * (2 + len(text) // 3)


def test_short_values_and_other_variables_stay():
    text = b"a short walk in /usr/local/bin"
    assert redact(text) == text


def test_bytes_that_are_not_utf8_pass_through():
    assert redact(b"\xff\x00" + SECRET.encode() + b"\xfe") == b"\xff\x00[redacted:DB_PASSWORD]\xfe"


def test_a_secret_that_is_not_utf8_is_found():
    raw = b"\xff\xfe-hidden-\xf0"
    assert Redactor({"A_TOKEN": raw.decode("utf-8", "surrogateescape")})(b"=" + raw) == b"=[redacted:A_TOKEN]"


def test_a_secret_inside_another_goes_with_it():
    both = Redactor({"A_KEY": "sesame-open", "B_KEY": "sesame-open-now"})
    assert both(b"sesame-open-now sesame-open") == b"[redacted:B_KEY] [redacted:A_KEY]"


def test_without_secrets_nothing_changes_but_tokens():
    assert Redactor({})(b"plain") == b"plain"


@pytest.mark.parametrize(
    "token",
    [
        "sk-ant-api03-" + "a1B2" * 6,
        "sk-" + "a1B2" * 12,
        "sk-proj-" + "a1B2" * 12,
        *(f"gh{kind}_" + "a1B2" * 9 for kind in "pousr"),
        "github_pat_" + "a1B2_" * 9,
        "hf_" + "aBcD" * 9,
        "AIza" + "a1-_" * 9,
        "AKIA" + "A1B2" * 4,
        *(f"xox{kind}-1234567890-abc" for kind in "abprs"),
        "npm_" + "a1B2" * 9,
        "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0In0.dozjgNryP4J3jVmNHl0w5N",
    ],
)
def test_token_families_are_known_by_shape(token):
    assert Redactor({})(f"key={token}.\n".encode()) == b"key=[redacted:token].\n"
    assert token not in Redactor({})(f"\x1b[31m{token}\x1b[0m".encode()).decode()


@pytest.mark.parametrize(
    "text",
    ["task-implement-the-whole-feature", "disk-usage-of-the-first-partition", "hf_short", "AKIA1234", "eyJhbGci"],
)  # fmt: skip
def test_words_are_not_tokens(text):
    assert Redactor({})(text.encode()) == text.encode()


def test_names_that_look_like_credentials():
    names = ["HOME", "GITHUB_TOKEN", "api_key", "AWS_SECRET_ACCESS", "PGPASSWORD", "Authorization", "LANG"]
    assert credential_names(names) == sorted(set(names) - {"HOME", "LANG"})
    assert credential_names({"X_CREDENTIALS": "1", "TERM": "2"}) == ["X_CREDENTIALS"]


@given(secret=st.text(min_size=8, max_size=40), before=st.binary(max_size=20), after=st.binary(max_size=20))
def test_no_secret_survives(secret, before, after):
    shown = Redactor({"THE_SECRET": secret})(before + secret.encode() + after)
    assert b"[redacted:" in shown
    assert secret.encode() not in shown.replace(b"[redacted:THE_SECRET]", b"")
