"""Reading JSON Lines."""

import io

import pytest

from procession.cli import lines
from procession.cli.lines import BadLine, Line, parse_line, read_lines


@pytest.mark.parametrize(
    ("raw", "text", "rest"),
    [
        (b'{"text": "hello", "id": 3}', "hello", {"id": 3}),
        (b'{"message": "hello"}\n', "hello", {}),
        (b'{"text": "a", "message": "b"}', "a", {"message": "b"}),
        (b'"hello"', "hello", {}),
        (b'""', "", {}),
        ('"\u2028 \U0001f600"'.encode(), "\u2028 \U0001f600", {}),
        (b'"\\ud83d\\ude00"', "\U0001f600", {}),
    ],
)
def test_good_lines(raw: bytes, text: str, rest: dict[str, object]) -> None:
    """A message is the text of an object, its message where it has no text, or a text by itself."""
    line = parse_line(raw, 1)
    assert isinstance(line, Line)
    assert (line.text, line.rest) == (text, rest)


@pytest.mark.parametrize(
    ("raw", "fault"),
    [
        (b"{", "not JSON"),
        (b"hello", "not JSON"),
        (b'{"text": "a"} {"text": "b"}', "not JSON"),
        (b"[" * 100_000, "not JSON"),
        (b"1" * 5000, "not JSON"),
        (b'"\xff"', "not UTF-8 (byte 2)"),
        (b"{}", "no text"),
        (b'{"text": 3}', "'text' is a number"),
        (b'{"text": null, "message": "x"}', "'text' is null"),
        (b'{"message": ["x"]}', "'message' is a list"),
        (b"[]", "a list"),
        (b"true", "true or false"),
        (b'"\\ud83d"', "half of a surrogate pair"),
    ],
)
def test_bad_lines(raw: bytes, fault: str) -> None:
    """What has no message is a bad line that says why, whatever the bytes."""
    line = parse_line(raw, 7)
    assert isinstance(line, BadLine)
    assert line.number == 7
    assert fault in line.fault


async def read(data: bytes) -> list[Line | BadLine]:
    """Read all lines of some bytes."""
    return [line async for line in read_lines(io.BytesIO(data))]


async def test_lines_are_counted_and_empty_ones_passed_over() -> None:
    """Numbers are those of the file; a byte order mark, carriage returns and a missing last line end do no harm."""
    found = await read(b'\xef\xbb\xbf"a"\r\n\n  \n"b"\nx\n"c"')
    assert [(line.number, getattr(line, "text", None)) for line in found] == [(1, "a"), (4, "b"), (5, None), (6, "c")]


async def test_a_line_separator_ends_no_line() -> None:
    """Only a line feed ends a line: other separators are part of the text."""
    found = await read('"a\u2028b\u0085c"\n'.encode())
    assert [getattr(line, "text", None) for line in found] == ["a\u2028b\u0085c"]


async def test_a_line_that_is_too_long(monkeypatch: pytest.MonkeyPatch) -> None:
    """A line beyond the limit is a bad line, and the next one is read as if nothing had been."""
    monkeypatch.setattr(lines, "LONGEST_LINE", 10)
    found = await read(b'"' + b"x" * 50 + b'"\n"abcdefg"\n')
    assert isinstance(found[0], BadLine)
    assert (found[1].number, getattr(found[1], "text", None)) == (2, "abcdefg")
