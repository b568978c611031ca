"""How functions are named in drawings."""

from collections.abc import Callable
from functools import partial

from procession.workflows.source_text import source_text


def test_a_lambda_is_named_by_its_body() -> None:
    """A lambda reads as its body was written, on one line, outer brackets included."""
    blank: Callable[[str], bool] = lambda text: (not text) or text.isspace()
    assert source_text(blank) == "(not text) or text.isspace()"
    long: Callable[[str], bool] = (
        lambda text: len(text)
        > 3
    )  # fmt: skip
    assert source_text(long) == "len(text) > 3"


def test_lambdas_on_one_line_are_told_apart() -> None:
    """Of several lambdas on a line, also of one inside another, each has its own text."""
    first: Callable[[int], int]
    second: Callable[[int], int]
    first, second = (lambda a: a + 1), (lambda b: b + 2)
    outer: Callable[[int], Callable[[int], int]] = lambda c: lambda d: d * c
    assert [source_text(each) for each in (first, second)] == ["a + 1", "b + 2"]
    assert source_text(outer) == "lambda d: d * c"
    assert source_text(outer(2)) == "d * c"


def test_what_has_a_name_is_named() -> None:
    """Functions, methods and builtins go by their names; an object by its class's; a lambda without source is one."""

    def is_long(text: str) -> bool:
        return len(text) > 3

    class Long:
        def __call__(self, text: str) -> bool:
            return len(text) > 3

    assert source_text(is_long) == "is_long"
    assert source_text(str.isdigit) == "str.isdigit"
    assert source_text(len) == "len"
    assert source_text(Long()) == "Long"
    assert source_text(partial(is_long, "x")) == "partial"
    assert source_text(eval("lambda text: text")) == "lambda"
