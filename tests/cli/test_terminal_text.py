"""Text on a terminal: it gives no orders, and its lines end between words."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from procession.cli.terminal_text import Wrapped, harmless
from procession.workflows.render.text import cell_width


def wrapped(text: str, width: int, *, size: int = 1) -> str:
    """Return a text as it is wrapped when it comes in pieces of a size."""
    made = Wrapped(lambda: width)
    pieces = [text[place : place + size] for place in range(0, len(text), size)]
    return "".join(map(made.add, pieces)) + made.end()


@pytest.mark.parametrize(
    ("text", "left"),
    [
        ("\x1b[2J\x1b]0;title\x07gone", "[2J]0;titlegone"),
        ("a\x9b31mb\x90q\x9c", "a31mbq"),
        ("one\r\ntwo\rthree", "one\ntwothree"),
        ("back\x08\x08space\x7f\x00", "backspace"),
        ("tab\tand\nline", "tab\tand\nline"),
        ("evil\u202etxt.exe", "eviltxt.exe"),
        ("שלום \u200fעולם 日本 e\u0301 🎉", "שלום \u200fעולם 日本 e\u0301 🎉"),
        ("half \ud83d", "half ?"),
    ],
)
def test_nothing_is_left_to_obey(text: str, left: str) -> None:
    """Control characters are taken out, ends of lines and letters of all scripts stay."""
    assert harmless(text) == left
    assert "".join(map(harmless, text)) == left


@given(st.text())
def test_any_text_can_be_written(text: str) -> None:
    """Whatever comes can be written in any encoding, and has no control character but tabs and ends of lines."""
    for encoding in ("utf-8", "ascii", "latin-1"):
        safe = harmless(text, encoding)
        safe.encode(encoding)
        assert re.search("[\x00-\x08\x0b-\x1f\x7f-\x9f]", safe) is None


def test_lines_end_between_words() -> None:
    """A word that does not fit goes to the next line, blanks and all; ends of lines and indents stay."""
    assert wrapped("the quick brown fox", 10) == "the quick\nbrown fox"
    assert wrapped("one\n\n  two three", 7) == "one\n\n  two\nthree"
    assert wrapped("in " + "x" * 25 + " out", 10) == "in\n" + "x" * 25 + " out"


def test_code_stays_as_it_is() -> None:
    """Between fences no line is broken."""
    code = "```python\nprint('a long line of code')\n```"
    assert wrapped(f"{code}\nand then words", 10) == f"{code}\nand then\nwords"


def test_wide_letters_break_anywhere() -> None:
    """Text without blanks in wide letters fills the lines by their columns and comes at once."""
    assert wrapped("日本語日本語", 8) == "日本語日\n本語"
    assert Wrapped(lambda: 80).add("日本") == "日本"


@given(st.text(alphabet="ab \n`~日é\t-", max_size=60), st.integers(1, 12), st.integers(1, 7))
def test_pieces_do_not_matter(text: str, width: int, size: int) -> None:
    """However a text is cut, it is shown the same; only blanks and ends of lines differ from what was said."""
    made = wrapped(text, width, size=size)
    assert made == wrapped(text, width, size=max(1, len(text)))
    assert re.sub(r"\s", "", made) == re.sub(r"\s", "", text)


@given(st.lists(st.text(alphabet="abcde日é", min_size=1, max_size=6), max_size=20), st.integers(12, 20))
def test_no_line_is_too_long(words: list[str], width: int) -> None:
    """Where every word fits, every line does."""
    assert all(cell_width(line) <= width for line in wrapped(" ".join(words), width).splitlines())
