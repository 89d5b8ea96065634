"""A forgetful clerk: answers a question from the notes in its context root, and guesses where it found none.

``clerk.py TOPIC CHOICE CHOICE ...`` prints one JSON object. Notes are lines ``topic: answer`` in the files of
``EVALSTATS_CONTEXT_ROOT``; a line that ends in ``(superseded)`` is out of date and is passed over. The clerk
overlooks a note once in OVERLOOKS times, and guesses among the choices; both follow EVALSTATS_SEED alone.
"""

import json
import os
import random
import sys
from pathlib import Path

OVERLOOKS = 7
SUPERSEDED = "(superseded)"


def notes(root):
    """Return topic -> answer of all notes that are in force, in the order of their files."""
    found = {}
    for path in sorted(Path(root).rglob("*.md")) if root else ():
        for line in path.read_text("utf-8").splitlines():
            topic, colon, answer = line.partition(": ")
            if colon and not answer.endswith(SUPERSEDED):
                found[topic] = answer
    return found


def main(topic, *choices):
    """Answer one question."""
    random.seed(f"{os.environ.get('EVALSTATS_SEED', '')} {topic}")
    known = notes(os.environ.get("EVALSTATS_CONTEXT_ROOT")).get(topic)
    looked_up = known is not None and random.randrange(OVERLOOKS) > 0
    answer = known if looked_up else random.choice(choices)
    hooks = os.environ.get("AGENTOPS_HOOKS_DISABLED", "0") == "1"
    print(json.dumps({"answer": answer, "looked_up": looked_up, "hooks_disabled": hooks}))


if __name__ == "__main__":
    main(*sys.argv[1:])
