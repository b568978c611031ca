"""Reading the JSON that a model answered with: what is refused, on every Python alike."""

from __future__ import annotations

import pytest

from procession.models.json_answer import json_answer


def test_a_hundred_levels_are_read_and_no_more() -> None:
    """Where an answer is too deep does not depend on the version of Python."""
    value = json_answer("[" * 100 + "]" * 100)
    for _ in range(99):
        (value,) = value
    assert value == []
    for deep in ("[" * 101 + "]" * 101, '{"a": ' * 101 + "1" + "}" * 101):
        with pytest.raises(ValueError, match="too deep"):
            json_answer(deep)


@pytest.mark.parametrize("text", ["[{" * 200, '\\"[' * 200, "\\\\"], ids=["brackets", "quotes", "backslash"])
def test_brackets_in_texts_do_not_count(text: str) -> None:
    """What a text says is not taken for structure, however it is escaped; nor is what stands side by side."""
    quoted = text.replace("\\", "\\\\").replace('"', '\\"')
    assert json_answer(f'{{"a": "{quoted}", "b": [{", ".join(["[]"] * 200)}]}}') == {"a": text, "b": [[]] * 200}


def test_a_text_without_an_end_is_no_json() -> None:
    """A string that was cut off is refused as what it is, whatever stands in it."""
    with pytest.raises(ValueError, match="Unterminated"):
        json_answer('{"a": "' + "[" * 200 + "\\")
