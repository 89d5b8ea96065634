"""Reviews: who looked at what, valid for the record that was looked at."""

import json

import pytest

from evalstats.errors import JournalError, UsageError
from evalstats.governance import reviews
from evalstats.governance.reviews import LookedAt, Opinion, Outcome


def opinion(**changes):
    given = {"reviewer": "bob", "outcome": Outcome.ACCEPTED, "looked_at": [LookedAt.CASES, LookedAt.HOLDOUTS]}
    return Opinion(**{**given, **changes})


@pytest.fixture
def run(ran):
    return lambda: ran.places().run("r1")


def test_reviews_are_kept_in_their_order(ran, run):
    reviews.review(run(), opinion(), ran.data)
    reviews.review(run(), opinion(reviewer=" Zoë ", outcome=Outcome.REJECTED, notes="a\nb"), ran.data)
    first, second = reviews.valid(run(), ran.data)
    assert (first["reviewer"], first["looked_at"]) == ("bob", ["cases", "holdouts"])
    assert (second["reviewer"], second["outcome"], second["notes"]) == ("Zoë", "rejected", "a\nb")


def test_a_review_is_void_for_another_record(ran, run):
    reviews.review(run(), opinion(), ran.data)
    path = ran.data / "runs/r1/record.json"
    path.write_text(json.dumps({**json.loads(path.read_text()), "notes": ["edited"]}))
    assert reviews.valid(run(), ran.data) == []


def test_a_review_that_was_edited_is_found(ran, run):
    for _ in range(2):
        reviews.review(run(), opinion(outcome=Outcome.REJECTED), ran.data)
    path = reviews.place(ran.data, run())
    path.write_text(path.read_text().replace("rejected", "accepted", 1))
    with pytest.raises(JournalError, match="does not follow"):
        reviews.valid(run(), ran.data)


@pytest.mark.parametrize(
    ("changes", "field"), [({"reviewer": " "}, "--by"), ({"looked_at": []}, "--looked-at")]
)
def test_a_review_without_reviewer_or_object_is_refused(ran, run, changes, field):
    with pytest.raises(UsageError, match=field):
        reviews.review(run(), opinion(**changes), ran.data)
