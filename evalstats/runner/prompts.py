"""The text that a live runtime is asked: the case's prompt, what the arm adds, the sentence of the skill-off arm."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from evalstats.contract import SUPPRESSION, Arm
from evalstats.runner import commands
from evalstats.suite import Case, Suite

SKILLS = "skills"


def prompt(suite: Suite, case: Case, arm: Arm, given: Mapping[str, Any], *, live: bool) -> str | None:
    """Return the whole prompt; None where neither the case nor the arm has one.

    In this order: ``prompt_prefix``, the prompt, the ``prompt_suffix`` of the arm, the sentence, ``prompt_end``,
    which is where a text to be gone on with asks for its answer.
    """
    own = given.get("prompt")
    text = own if isinstance(own, str) else case.prompt
    if text is None:
        return None
    suffix = commands.arm_section(suite, arm).get("prompt_suffix", "")
    sentence = f"\n\n{SUPPRESSION}" if live and arm is Arm.SKILL_OFF else ""
    return f"{given.get('prompt_prefix', '')}{text}{suffix}{sentence}{given.get('prompt_end', '')}"


def skill_names(suite: Suite) -> frozenset[str]:
    """Return the names of the skills that the skill-on arm has: ``metadata.skills``, and files below ``skills/``."""
    named = suite.document.get("metadata", {}).get(SKILLS, ())
    names = {name for name in named if isinstance(name, str)} if isinstance(named, list) else set()
    for file in commands.arm_section(suite, Arm.SKILL_ON).get("files", ()):
        parts = file.split("/")
        if SKILLS in parts[:-1]:
            names.add(parts[parts.index(SKILLS) + 1])
    return frozenset(names)
