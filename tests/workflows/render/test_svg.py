"""SVG: pictures that stand alone, and what stands where in them."""

import re
import sys
from collections.abc import Iterator
from itertools import combinations
from random import Random
from typing import Any
from xml.etree import ElementTree

import pytest
from tests.workflows.render.sample import Blocker, Redactor, everything, explicit, guards, shout, whisper

from procession.errors import InputError
from procession.runtime.runtime import Runtime
from procession.steps.step import Step, StepContext, step
from procession.workflows.describe import graph_spec
from procession.workflows.render.draw import draw
from procession.workflows.render.flat import flatten
from procession.workflows.render.layout import Picture, Rect, layout
from procession.workflows.render.options import DrawOptions
from procession.workflows.render.overlay import Overlay
from procession.workflows.render.sizes import dot_lines, text_size, wrap
from procession.workflows.workflow import create_workflow

SVG = "{http://www.w3.org/2000/svg}"
NASTY = [
    "end",
    "my step",
    'a"b',
    "安全检查",
    "1",
    "graph",
    "x[y]",
    "a-->b",
    "<b>&amp;</b>",
    "#quot;",
    "]]>",
    "`t`",
    "\\n",
]


def plain(id: str) -> Step[Any, Any]:
    return Step(id=id, execute=str)


def hundred() -> Any:
    """Make a hundred steps with dependencies taken at random, many of which skip levels."""
    random = Random(3)
    made = create_workflow("hundred")
    ids: list[str] = []
    for index in range(100):
        near = ids[-8:]
        made.add(plain(f"step-{index}"), after=sorted(random.sample(near, min(len(near), random.choice((1, 1, 2))))))
        ids.append(f"step-{index}")
    return made.commit()


def fifty() -> Any:
    """Make fifty arms side by side."""
    return create_workflow("fifty").parallel([plain(f"arm-{index}") for index in range(50)], id="many").commit()


def deep() -> Any:
    """Make eight workflows in each other."""
    inner: Any = everything()
    for level in range(8):
        inner = create_workflow(f"level-{level}", str).then(inner).map(str, id=f"after-{level}").commit()
    return inner


def long() -> Any:
    """Make labels that are as long as they may be, with and without blanks, narrow and wide."""
    made: Any = create_workflow("long " * 20)
    return (
        made.then(plain("a step with a very long name that goes on and on until it is cut, and further still"))
        .branch(
            [(str.isdigit, plain("安全检查" * 12)), (str.isupper, plain("W" * 80))], default=plain("x"), id="r" * 80
        )
        .commit()
    )


GRAPHS = [everything, explicit, guards, hundred, fifty, deep, long]
DIRECTIONS: list[Any] = ["TB", "LR"]


def picture(workflow: Any, direction: Any, **options: Any) -> Picture:
    return layout(flatten(graph_spec(workflow), Overlay(), DrawOptions(**options)), direction)


def overlap(one: Rect, other: Rect) -> bool:
    apart = one.x + one.width <= other.x or other.x + other.width <= one.x
    return not apart and not (one.y + one.height <= other.y or other.y + other.height <= one.y)


def within(inner: Rect, outer: Rect) -> bool:
    return (
        inner.x >= outer.x - 0.01
        and inner.y >= outer.y - 0.01
        and inner.x + inner.width <= outer.x + outer.width + 0.01
        and inner.y + inner.height <= outer.y + outer.height + 0.01
    )


@pytest.mark.parametrize("direction", DIRECTIONS)
@pytest.mark.parametrize("make", GRAPHS)
def test_nothing_overlaps(make: Any, direction: Any) -> None:
    """Nodes and labels of edges are apart from each other, and inside the picture."""
    drawn = picture(make(), direction, show_types=True)
    labels = [route.label_rect for route in drawn.routes if route.label_rect is not None]
    rects = [*(placed.rect for placed in drawn.dots), *labels]
    assert [(one, other) for one, other in combinations(rects, 2) if overlap(one, other)] == []
    whole = Rect(0.0, 0.0, drawn.width, drawn.height)
    assert all(within(rect, whole) for rect in (*rects, *(placed.rect for placed in drawn.boxes)))


@pytest.mark.parametrize("direction", DIRECTIONS)
@pytest.mark.parametrize("make", GRAPHS)
def test_containers_hold_what_is_in_them(make: Any, direction: Any) -> None:
    """A frame is round all that belongs to it and nothing else, below its title."""
    drawn = picture(make(), direction)
    dots = {placed.dot.name: placed.rect for placed in drawn.dots}
    boxes = {placed.box.name: placed.rect for placed in drawn.boxes}
    for placed in drawn.boxes:
        inside = {item.name for item in placed.box.items}
        deeper = set(_names(placed.box.items))
        assert all(within((dots | boxes)[name], placed.rect) for name in inside)
        assert not [name for name, rect in dots.items() if name not in deeper and overlap(rect, placed.rect)]
        title = Rect(placed.rect.x + 10, placed.rect.y + 6, text_size([placed.title])[0], 18.0)
        assert within(title, placed.rect)
        assert not [name for name in inside if overlap((dots | boxes)[name], title)]


def _names(items: Any) -> Iterator[str]:
    for item in items:
        yield item.name
        yield from _names(getattr(item, "items", ()))


@pytest.mark.parametrize("make", GRAPHS)
def test_text_fits_its_shape(make: Any) -> None:
    """The text of a node is inside its shape, also where that is narrower at its top and bottom."""
    for placed in picture(make(), "TB").dots:
        width, height = text_size(dot_lines(placed.dot))
        rect = placed.rect
        if placed.dot.node.kind in ("decision", "loop"):
            assert width / rect.width + height / rect.height <= 1
        elif placed.dot.node.kind not in ("fork", "join"):
            assert width <= rect.width and height <= rect.height


def test_arms_stand_in_the_order_in_which_they_were_declared() -> None:
    """Arms go from left to right, or down, as they are written."""
    for direction in DIRECTIONS:
        arms = {
            placed.dot.node.id: (placed.rect.x, placed.rect.y)
            for placed in picture(fifty(), direction).dots
            if placed.dot.node.id.startswith("arm")
        }
        assert sorted(arms, key=lambda arm: arms[arm]) == [f"arm-{index}" for index in range(50)]


def test_edges_end_at_their_nodes() -> None:
    """Each edge with an arrow ends at the rim of a node, each node but the start has one."""
    drawn = picture(hundred(), "TB")
    tops = {(round(placed.rect.x + placed.rect.width / 2, 3), round(placed.rect.y, 3)) for placed in drawn.dots}
    ends = {tuple(round(value, 3) for value in route.path[-1][1][-1]) for route in drawn.routes if route.arrow}
    assert ends <= tops
    assert len(tops - ends) == 1


@pytest.mark.parametrize("make", GRAPHS)
def test_it_is_xml_that_needs_nothing_else(make: Any) -> None:
    """A document is well-formed, has a title, and neither scripts nor anything from elsewhere."""
    text = draw(make(), "svg")
    root = ElementTree.fromstring(text)
    assert root.tag == f"{SVG}svg"
    assert root.findtext(f"{SVG}title")
    assert not re.search(r"<script|<image|<foreignObject|@import|url\((?!#)|href|\son\w+=", text)
    assert text.count("http") == 1  # the namespace
    assert "prefers-color-scheme:dark" in text


def test_labels_are_verbatim() -> None:
    """GRA-003: ids that mean something to diagram languages or to XML are shown as they are."""
    made = create_workflow("end")
    for id in NASTY:
        made.then(plain(id))
    root = ElementTree.fromstring(draw(made, "svg"))
    texts = [each.text for each in root.iter(f"{SVG}text")]
    assert texts == ["end (workflow)", "start", *NASTY, "end"]


def test_long_labels_are_broken_not_changed() -> None:
    """A label in several lines is the same text; a word that is too long is broken behind a sign."""
    assert " ".join(wrap("when len(text) > 3 and more", 9)) == "when len(text) > 3 and more"
    assert wrap("processor:prompt-injection-detector", 30) == ["processor:prompt-injection-", "detector"]
    assert "".join(wrap("安全检查" * 9, 10)) == "安全检查" * 9


@step
def broken(ctx: StepContext[str]) -> str:
    raise ValueError("no")


async def test_overlay_of_a_run() -> None:
    """With a run nodes have a class, a sign and a time, edges that were followed stand out, a legend says the rest."""
    workflow = create_workflow("w", str).then(shout).then(broken).then(whisper).commit()
    result = await Runtime().run(workflow, "x")
    text = draw(workflow, "svg", run=result)
    assert 'class="node step success"' in text and 'class="node step failed"' in text
    assert re.search(r">✓ [\d.]+(µs|ms)<", text) and re.search(r">✗ failed [\d.]+(µs|ms)<", text)
    assert [text.count(f'<path class="{names}"') for names in ("edge ran", "edge")] == [2, 2]
    assert '<text class="key" x="20" y="0">✓ success</text>' in text
    assert "legend" not in draw(workflow, "svg") and 'class="key"' not in draw(workflow, "svg")


def test_directions() -> None:
    """From left to right a chain is wider than high, from top to bottom the other way round."""
    across, down = (picture(guards(), direction) for direction in ("LR", "TB"))
    assert across.width > across.height
    assert down.height > across.height


def test_without_the_library() -> None:
    """Where the layout's package is missing the error says how to get it."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setitem(sys.modules, "fast_sugiyama", None)
        with pytest.raises(InputError, match="fast-sugiyama") as caught:
            draw(guards(), "svg")
    assert "pip install 'procession[draw]'" in str(caught.value.hint)


def test_a_step_that_may_suspend_has_a_sign() -> None:
    """What may stop the run with a question says so."""
    asking: Step[str, str] = Step(id="ask", execute=str, resume_type=str)
    assert ">‖ can suspend<" in draw(create_workflow("w", str).then(asking).commit(), "svg")


def test_parts_that_nothing_joins_stand_beside_each_other() -> None:
    """Steps without dependencies on each other do not overlap either."""
    made = create_workflow("apart")
    for each in (Redactor(), Blocker(), shout, whisper):
        made.add(each)
    drawn = picture(made.commit(), "TB")
    assert not [pair for pair in combinations([placed.rect for placed in drawn.dots], 2) if overlap(*pair)]
