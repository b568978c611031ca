"""PNG: a picture in dots, the same on every machine."""

import struct
import sys
import zlib
from pathlib import Path
from typing import Any

import pytest
from tests.workflows.render.sample import everything, shout
from tests.workflows.render.test_svg import fifty

from procession.errors import InputError
from procession.runtime.runtime import run_sync
from procession.workflows.render import png as module
from procession.workflows.render.draw import draw
from procession.workflows.render.svg_style import DARK, LIGHT
from procession.workflows.workflow import create_workflow

Dots = list[list[tuple[int, ...]]]


def dots_of(data: bytes) -> Dots:
    """Return the dots of a PNG with eight bits a channel and alpha, row by row."""
    assert data.startswith(b"\x89PNG\r\n\x1a\n")
    at, packed, width, height = 8, b"", 0, 0
    while at < len(data):
        (length,) = struct.unpack(">I", data[at : at + 4])
        kind, content = data[at + 4 : at + 8], data[at + 8 : at + 8 + length]
        if kind == b"IHDR":
            width, height, depth, colour = struct.unpack(">IIBB", content[:10])
            assert (depth, colour) == (8, 6)
        elif kind == b"IDAT":
            packed += content
        at += length + 12
    raw, line = zlib.decompress(packed), width * 4
    before = bytearray(line)
    rows: Dots = []
    for index in range(height):
        start = index * (line + 1)
        before = unfiltered(raw[start], bytearray(raw[start + 1 : start + 1 + line]), before)
        rows.append([tuple(before[x : x + 4]) for x in range(0, line, 4)])
    return rows


def unfiltered(kind: int, row: bytearray, above: bytearray) -> bytearray:
    """Undo the filter of one row, as the standard says."""
    for index in range(len(row)):
        left = row[index - 4] if index >= 4 else 0
        up, corner = above[index], above[index - 4] if index >= 4 else 0
        nearest = min((left, up, corner), key=lambda each: abs(left + up - corner - each))
        row[index] = (row[index] + (0, left, up, (left + up) // 2, nearest)[kind]) & 255
    return row


def small() -> Any:
    """Make a workflow of one step."""
    return create_workflow("small", str).then(shout).commit()


def rgb(colour: str) -> tuple[int, ...]:
    """Return ``#rrggbb`` as a dot."""
    return (*(int(colour[at : at + 2], 16) for at in (1, 3, 5)), 255)


@pytest.mark.parametrize(
    ("theme", "colours"), [("light", LIGHT), ("dark", DARK), ("auto", LIGHT)], ids=["light", "dark", "auto"]
)
def test_a_theme_is_seen(theme: str, colours: Any) -> None:
    """The page and the text have the colours of the theme; a picture for anybody is light."""
    dots = dots_of(draw(small(), "png", theme=theme))
    assert dots[0][0] == rgb(colours["page"])
    found = {dot for row in dots for dot in row}
    assert rgb(colours["ink"]) in found and rgb(colours["shape"]) in found


def test_what_became_of_a_run_is_seen() -> None:
    """The colours of states are in the picture, though the style sheet of an SVG for browsers has them as variables."""
    run = run_sync(small(), "hello")
    found = {dot for row in dots_of(draw(small(), "png", run=run)) for dot in row}
    assert rgb(LIGHT["good"]) in found and rgb(LIGHT["good-rim"]) in found


def test_text_is_drawn_with_the_font_that_comes_with_it(monkeypatch: pytest.MonkeyPatch) -> None:
    """No font of the machine is looked for where the font has every character, so that every machine draws the same."""
    import resvg_py

    asked: list[dict[str, Any]] = []
    real = resvg_py.svg_to_bytes

    def watched(**options: Any) -> bytes:
        asked.append(options)
        return real(**options)

    monkeypatch.setattr(resvg_py, "svg_to_bytes", watched)
    draw(everything(), "png")
    draw(create_workflow("安全检查", str).then(shout).commit(), "png")
    assert [each["skip_system_fonts"] for each in asked] == [True, False]
    assert module.FONT.read_bytes()[:4] == b"\0\1\0\0"
    assert asked[0]["font_files"] == [str(module.FONT)]


def test_the_font_has_what_it_is_said_to_have() -> None:
    """Every character for which no other font is looked for is in the font."""
    have = characters(module.FONT)
    believed = {code for code in range(0x20, 0x3000) if module.IN_FONT.fullmatch(chr(code))}
    assert len(believed) > 900
    assert believed <= have
    assert all(module.IN_FONT.fullmatch(sign) for sign in "✓✗⊘µ…·→‖↩–−~×–│└├")


def characters(font: Path) -> set[int]:
    """Return the code points of the format 12 table of a TrueType font."""
    data = font.read_bytes()
    (tables,) = struct.unpack(">H", data[4:6])
    places = {
        data[12 + 16 * n : 16 + 16 * n]: struct.unpack(">I", data[20 + 16 * n : 24 + 16 * n])[0] for n in range(tables)
    }
    cmap = places[b"cmap"]
    (count,) = struct.unpack(">H", data[cmap + 2 : cmap + 4])
    found: set[int] = set()
    for number in range(count):
        (offset,) = struct.unpack(">I", data[cmap + 8 + 8 * number : cmap + 12 + 8 * number])
        at = cmap + offset
        if struct.unpack(">H", data[at : at + 2])[0] == 12:
            (groups,) = struct.unpack(">I", data[at + 12 : at + 16])
            for group in range(groups):
                first, last = struct.unpack(">II", data[at + 16 + 12 * group : at + 24 + 12 * group])
                found.update(range(first, last + 1))
    return found


def size_of(data: bytes) -> tuple[int, int]:
    """Return width and height of a PNG."""
    width, height = struct.unpack(">II", data[16:24])
    return width, height


def test_scale() -> None:
    """A pixel of the drawing takes two dots each way, or as many as are asked for."""
    width, height = size_of(draw(small(), "png", scale=1))
    doubled = size_of(draw(small(), "png"))
    assert abs(doubled[0] - 2 * width) <= 2 and abs(doubled[1] - 2 * height) <= 2


def test_a_large_drawing_is_made_smaller(monkeypatch: pytest.MonkeyPatch) -> None:
    """A picture has no more dots than there is room for; where that would be unreadable it is refused, with what to do."""
    monkeypatch.setattr(module, "SIDE", 2_000)
    assert 1_980 <= max(size_of(draw(fifty(), "png", direction="LR"))) <= 2_000
    monkeypatch.setattr(module, "SIDE", 100)
    with pytest.raises(InputError, match="too large for a png"):
        draw(fifty(), "png")


def test_without_the_package(monkeypatch: pytest.MonkeyPatch) -> None:
    """Without resvg a sentence says what to install; everything else is drawn."""
    monkeypatch.setitem(sys.modules, "resvg_py", None)
    with pytest.raises(InputError, match="needs resvg") as raised:
        draw(small(), "png")
    assert raised.value.hint == "pip install 'procession[draw]'"
    assert draw(small(), "svg")
