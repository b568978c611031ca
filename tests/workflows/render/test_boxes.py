"""Boxes and arrows for a terminal."""

import sys

import pytest
from tests.workflows.render.sample import everything, guards, shout
from tests.workflows.render.test_svg import NASTY, plain

from procession import run_sync
from procession.errors import InputError
from procession.workflows.render.draw import draw
from procession.workflows.render.text import cell_width
from procession.workflows.workflow import create_workflow


def test_boxes() -> None:
    """Each node is a box, joined by arrows, with what became of it in a run."""
    workflow = create_workflow("loud", str).then(shout).commit()
    text = draw(workflow, "boxes", run=run_sync(workflow, "x"))
    assert " shout " in text
    assert "✓" in text and "▼" in text and "<br" not in text
    assert all(line == line.rstrip() for line in text.splitlines())


def test_plain_characters() -> None:
    """Without Unicode every line is ASCII."""
    assert draw(everything(), "boxes", unicode=False).isascii()


def test_no_line_is_wider_than_asked() -> None:
    """What does not fit is cut, rather than broken by the terminal."""
    assert max(cell_width(line) for line in draw(everything(), "boxes", width=60).splitlines()) <= 60


def test_without_the_library() -> None:
    """Where the package is missing the error says how to get it."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setitem(sys.modules, "termaid", None)
        with pytest.raises(InputError, match="termaid") as caught:
            draw(guards(), "boxes")
    assert "pip install 'procession[draw]'" in str(caught.value.hint)


def test_labels_are_verbatim() -> None:
    """GRA-003: ids that mean something to diagram languages are shown as they are."""
    made = create_workflow("end")
    for id in NASTY:
        made.then(plain(id))
    lines = draw(made, "boxes").splitlines()
    assert [line[1:-1].strip() for line in lines if line.startswith("│")] == ["start", *NASTY, "end"]
