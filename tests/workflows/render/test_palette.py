"""Colours: what can be read, and what people with any kind of colour blindness can tell apart."""

from collections.abc import Mapping
from itertools import combinations
from typing import Any

import pytest
from tests.workflows.render.sample import everything

from procession.runtime.runtime import run_sync
from procession.workflows.render.draw import draw
from procession.workflows.render.overlay import Mark, mark_text
from procession.workflows.render.svg_style import DARK, LIGHT, style

Rgb = tuple[float, float, float]
THEMES = [pytest.param(LIGHT, id="light"), pytest.param(DARK, id="dark")]
STATES = ("good", "bad", "stop", "off", "wait", "busy", "back")

# Machado, Oliveira and Fernandes, 2009: what a red, a green or a blue weakness of full strength makes of linear RGB.
BLINDNESS = {
    "protanopia": ((0.152286, 1.052583, -0.204868), (0.114503, 0.786281, 0.099216), (-0.003882, -0.048116, 1.051998)),
    "deuteranopia": ((0.367322, 0.860646, -0.227968), (0.280085, 0.672501, 0.047413), (-0.011820, 0.042940, 0.968881)),
    "tritanopia": ((1.255528, -0.076749, -0.178779), (-0.078411, 0.930809, 0.147602), (0.004733, 0.691367, 0.303900)),
    "none": ((1, 0, 0), (0, 1, 0), (0, 0, 1)),
}


def linear(colour: str) -> Rgb:
    """Return ``#rrggbb`` as linear RGB from 0 to 1."""
    parts = [int(colour[at : at + 2], 16) / 255 for at in (1, 3, 5)]
    red, green, blue = (each / 12.92 if each <= 0.04045 else ((each + 0.055) / 1.055) ** 2.4 for each in parts)
    return red, green, blue


def luminance(colour: str) -> float:
    """Return the relative luminance of WCAG."""
    red, green, blue = linear(colour)
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


def contrast(one: str, other: str) -> float:
    """Return the contrast of WCAG: 1 for the same, 21 for black on white."""
    low, high = sorted((luminance(one), luminance(other)))
    return (high + 0.05) / (low + 0.05)


def seen(colour: str, blindness: str) -> Rgb:
    """Return *colour* as it is seen, in CIE Lab."""
    rgb = linear(colour)
    red, green, blue = (
        min(max(sum(factor * part for factor, part in zip(row, rgb, strict=True)), 0.0), 1.0)
        for row in BLINDNESS[blindness]
    )
    xyz = (
        (0.4124 * red + 0.3576 * green + 0.1805 * blue) / 0.95047,
        0.2126 * red + 0.7152 * green + 0.0722 * blue,
        (0.0193 * red + 0.1192 * green + 0.9505 * blue) / 1.08883,
    )
    x, y, z = (each ** (1 / 3) if each > 0.008856 else 7.787 * each + 16 / 116 for each in xyz)
    return 116 * y - 16, 500 * (x - y), 200 * (y - z)


def distance(one: str, other: str, blindness: str) -> float:
    """Return how far apart two colours are seen, as CIE76: 2.3 is just noticeable."""
    pairs = zip(seen(one, blindness), seen(other, blindness), strict=True)
    return float(sum((a - b) ** 2 for a, b in pairs) ** 0.5)


@pytest.mark.parametrize("colours", THEMES)
def test_text_can_be_read(colours: Mapping[str, str]) -> None:
    """Text has a contrast of 4.5 at least with all that it stands on, as WCAG AA asks."""
    for behind in ("page", "box", "shape", *STATES):
        assert contrast(colours["ink"], colours[behind]) >= 4.5, behind
    for behind in ("page", "box", "shape"):
        assert contrast(colours["soft"], colours[behind]) >= 4.5, behind


@pytest.mark.parametrize("colours", THEMES)
def test_shapes_can_be_seen(colours: Mapping[str, str]) -> None:
    """Rims, edges and bars have a contrast of 3 at least with the page and with frames, as WCAG asks of graphics."""
    for name in ("rim", "line", "bar", *(f"{state}-rim" for state in STATES)):
        for behind in ("page", "box"):
            assert contrast(colours[name], colours[behind]) >= 3, (name, behind)


@pytest.mark.parametrize("blindness", BLINDNESS)
@pytest.mark.parametrize("colours", THEMES)
def test_states_are_told_apart(colours: Mapping[str, str], blindness: str) -> None:
    """The rims of any two states are four times as far apart, for everybody, as what can just be noticed."""
    for one, other in combinations(STATES, 2):
        assert distance(colours[f"{one}-rim"], colours[f"{other}-rim"], blindness) >= 10, (one, other)


def test_no_state_is_told_by_colour_alone() -> None:
    """Every state has a sign or a word of its own, and so has every node of a drawing in its lines."""
    states = ("success", "failed", "blocked", "cancelled", "suspended", "running", "bailed", "skipped")
    for plain in (False, True):
        assert len({mark_text(Mark(state), plain=plain) for state in states}) == len(states)
    workflow: Any = everything()
    drawn = draw(workflow, "svg", run=run_sync(workflow, "hello"))
    assert drawn.count("✗ failed") >= 2  # at the node, and in the legend


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_one_theme_needs_no_variables(theme: Any) -> None:
    """With one theme colours are written where they are used: many programs know no variables of CSS."""
    made = style(theme)
    assert "var(" not in made and "@media" not in made
    colours = LIGHT if theme == "light" else DARK
    assert f"fill:{colours['page']}" in made
    assert "@media (prefers-color-scheme:dark)" in style("auto")
