"""``workflow.draw()``: text, a picture in a notebook, and files."""
# pyright: reportPrivateUsage=false

from pathlib import Path
from typing import Any

import pytest
from tests.workflows.render.sample import everything, shout

from procession import Agent
from procession.errors import InputError
from procession.runtime.runtime import run_sync
from procession.testing.fake_model import FakeModel
from procession.workflows.render.ascii import tree
from procession.workflows.render.draw import TextFormat, draw
from procession.workflows.workflow import create_workflow


def test_a_drawing_is_its_text() -> None:
    """What ``draw`` of a workflow returns is the text of its format, and reads as it in a prompt, too."""
    workflow = everything()
    assert workflow.draw() == draw(workflow)
    assert workflow.draw("mermaid", direction="LR") == draw(workflow, "mermaid", direction="LR")
    assert repr(workflow.draw()) == str(workflow) == draw(workflow).rstrip("\n")


def test_a_notebook_shows_the_picture() -> None:
    """A notebook is given the picture in both themes, and the text for where there are no pictures."""
    shown = everything().draw()._repr_mimebundle_()
    assert shown == {"text/plain": str(everything()), "image/svg+xml": draw(everything(), "svg")}
    assert everything().draw(theme="dark")._repr_svg_() == draw(everything(), "svg", theme="dark")


def test_a_notebook_without_pictures_shows_the_text(monkeypatch: pytest.MonkeyPatch) -> None:
    """Where what draws pictures is not installed a notebook has the text."""

    def missing(*_: Any, **__: Any) -> Any:
        raise InputError("needs fast-sugiyama")

    monkeypatch.setattr("procession.workflows.render.draw._RENDERERS", {"svg": missing, "ascii": tree})
    shown = everything().draw()
    assert shown._repr_svg_() is None
    assert shown._repr_mimebundle_() == {"text/plain": repr(shown)}


@pytest.mark.parametrize(
    ("name", "format"),
    [
        ("a.svg", "svg"),
        ("a.html", "html"),
        ("a.mmd", "mermaid"),
        ("a.dot", "dot"),
        ("a.json", "json"),
        ("a.txt", "ascii"),
    ],
)
def test_a_drawing_is_saved(tmp_path: Path, name: str, format: TextFormat) -> None:
    """The end of a file's name says how it is drawn."""
    assert everything().draw().save(tmp_path / name).read_bytes() == draw(everything(), format).encode()
    assert everything().draw().save(tmp_path / "a.png").read_bytes() == draw(everything(), "png")


def test_what_cannot_be_saved(tmp_path: Path) -> None:
    """A name that says nothing, and a folder that is not there, are told of."""
    with pytest.raises(InputError, match="does not say how to draw") as raised:
        everything().draw().save(tmp_path / "graph.pdf")
    assert ".png" in str(raised.value.hint)
    with pytest.raises(InputError, match="cannot be written"):
        everything().draw().save(tmp_path / "no" / "graph.svg")


def test_a_png_is_bytes_and_reads_as_the_tree() -> None:
    """``draw("png")`` has the bytes in ``data``; its text is the tree."""
    drawing = everything().draw("png")
    assert drawing.data == draw(everything(), "png") and drawing == draw(everything())


def test_the_run_is_in_every_form(tmp_path: Path) -> None:
    """A run is laid over the text, the picture and the file alike."""
    workflow = create_workflow("w", str).then(shout).commit()
    run = run_sync(workflow, "hello")
    drawing = workflow.draw(run=run)
    assert "✓" in drawing and "✓" in str(drawing._repr_svg_())
    assert "✓" in drawing.save(tmp_path / "w.html").read_text("utf-8")


def test_an_agent_draws_its_loop() -> None:
    """``agent.draw()`` is the drawing of the agent's workflow."""
    agent = Agent("bot", model=FakeModel("x"))
    assert agent.draw("mermaid") == agent.workflow.draw("mermaid")
    assert "model-call" in agent.draw()
