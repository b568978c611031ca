"""Cutting, widths and times."""

from hypothesis import given
from hypothesis import strategies as st

from procession.workflows.render.text import cell_width, clean, cut, duration, hook_names


@given(st.text(), st.integers(1, 40))
def test_cut_fits(text: str, width: int) -> None:
    """A cut text is never wider than asked, and untouched where it fits."""
    made = cut(text, width)
    assert cell_width(made) <= width
    assert made == text or cell_width(text) > width


@given(st.text())
def test_clean_is_one_harmless_line(text: str) -> None:
    """A cleaned text has no control character and no line break, and cleaning it again changes nothing."""
    made = clean(text)
    assert not any(ord(char) < 32 or 0x7F <= ord(char) < 0xA0 or char in "\u202e\u2028" for char in made)
    assert clean(made) == made


def test_durations_have_the_unit_that_suits() -> None:
    """Times have at most three figures and go from microseconds to seconds."""
    times = [0.0, 3.4e-7, 4.15e-5, 9.996e-4, 0.00123, 0.1, 0.99949, 0.9999, 75.2, 1234.0]
    assert [duration(each) for each in times] == [
        "0µs",
        "0.34µs",
        "41.5µs",
        "1ms",
        "1.23ms",
        "100ms",
        "999ms",
        "1s",
        "75.2s",
        "1234s",
    ]
    assert duration(4.15e-5, plain=True) == "41.5us"


def test_hooks_stand_in_order_of_firing() -> None:
    """Hooks go by short names in the order in which they fire, those that are not known last."""
    assert hook_names(["process_output_result", "process_tool_result", "process_input", "x"]) == "in,tool,out,x"
