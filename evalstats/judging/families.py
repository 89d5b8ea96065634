"""Of which family is a model? A judge should be of another one than what it judges.

Known from the name: a model that was made out of another, as a distillation is, names both, and is of both families.
"""

from __future__ import annotations

import re

# Words in the names of a maker's models. What is not here is not known, and said to be so.
_FAMILIES: dict[str, tuple[str, ...]] = {
    "ai21": ("jamba", "jurassic"),
    "alibaba": ("qwen", "qwq", "qvq"),
    "allenai": ("olmo", "tulu"),
    "amazon": ("nova", "titan"),
    "anthropic": ("claude",),
    "cohere": ("command", "aya"),
    "deepseek": ("deepseek",),
    "google": ("gemini", "gemma", "palm", "bison"),
    "ibm": ("granite",),
    "meta": ("llama", "codellama"),
    "microsoft": ("phi", "orca"),
    "minimax": ("minimax", "abab"),
    "mistral": ("mistral", "mixtral", "ministral", "magistral", "codestral", "devstral", "pixtral"),
    "moonshot": ("kimi", "moonshot"),
    "nvidia": ("nemotron",),
    "openai": ("gpt", "chatgpt", "o1", "o3", "o4", "davinci", "babbage"),
    "tii": ("falcon",),
    "xai": ("grok",),
    "zhipu": ("glm", "chatglm"),
}
_WORD = re.compile(r"[a-z]+(?:\d(?![a-z]))?")


def families(model: str | None, declared: str | None = None) -> frozenset[str]:
    """Return the families of a model: the one declared, else those that its name tells; empty if it tells none.

    Examples
    --------
    >>> sorted(families("deepseek-r1-distill-llama-70b"))
    ['deepseek', 'meta']
    >>> sorted(families("house-model", "in-house"))
    ['in-house']
    """
    if declared:
        return frozenset({declared.strip().lower()})
    words = _WORD.findall((model or "").lower())
    return frozenset(
        family
        for family, names in _FAMILIES.items()
        if any({word, word.rstrip("0123456789")} & {*names} for word in words)
    )


def same_family(judge: frozenset[str], subject: frozenset[str]) -> bool | None:
    """Return whether judge and subject are kin; None where the family of either is not known."""
    return bool(judge & subject) if judge and subject else None


def warning(judge: frozenset[str], subject: frozenset[str]) -> str | None:
    """Return what a reader must know about the kinship of judge and subject; None where there is nothing."""
    if same_family(judge, subject):
        kin = ", ".join(sorted(judge & subject))
        return f"judge and subject are of one family ({kin}): it may favour its own kind"
    if not judge:
        return "the family of the judge is not known; declare it as judge.family of the suite"
    return None
