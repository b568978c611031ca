"""
Drawing: a workflow, drawn, that shows itself as a picture in a notebook and as text elsewhere.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from procession.errors import InputError
from procession.workflows.describe import Describable
from procession.workflows.render.draw import DrawFormat, draw
from procession.workflows.render.overlay import Ran
from procession.workflows.spec import GraphSpec

__all__ = ["SUFFIXES", "Drawing"]

SUFFIXES: dict[str, DrawFormat] = {
    ".txt": "ascii", ".mmd": "mermaid", ".dot": "dot", ".gv": "dot", ".svg": "svg", ".json": "json", ".png": "png",
    ".html": "html", ".htm": "html",
}  # fmt: skip
"""What the name of a file says of how to draw."""


class Drawing(str):
    """
    A drawing in one format, as text: the tree where it was asked for as ``png``, which is in ``data``.

    A notebook shows the picture, in both themes.

    >>> from procession.workflows.workflow import create_workflow
    >>> create_workflow("twice", int).map(lambda n: 2 * n, id="double").commit().draw()
    twice (workflow)
    └─ map: 2 * n
    """

    data: bytes
    """What a file of it contains."""
    drawn_as: DrawFormat
    _workflow: Describable | GraphSpec
    _run: Ran | None
    _options: dict[str, Any]

    def __new__(
        cls,
        workflow: Describable | GraphSpec,
        format: DrawFormat = "ascii",
        *,
        run: Ran | None = None,
        width: int | None = None,
        **options: Any,
    ) -> Drawing:
        """
        Draw *workflow*; the arguments and what is raised are those of ``draw``.
        """
        data = _drawn(workflow, format, run=run, width=width, **options)
        text = (data if format != "png" else _drawn(workflow, "ascii", run=run, width=width, **options)).decode()
        made = super().__new__(cls, text)
        made.drawn_as = format
        made.data = data
        made._workflow, made._run, made._options = workflow, run, options
        return made

    def save(self, path: str | Path, format: DrawFormat | None = None) -> Path:
        """
        Write the drawing to the file *path*, in the *format* that its name ends in, and return the path.

        Raises ``InputError`` where neither says which format that is, and where the file cannot be written.
        """
        path = Path(path)
        wanted = format or SUFFIXES.get(path.suffix.lower())
        if wanted is None:
            raise InputError(
                f"{path} does not say how to draw: it ends in {path.suffix!r}",
                hint=f"end it in {', '.join(SUFFIXES)}, or give format=",
            )
        data = self.data if wanted == self.drawn_as else self._as(wanted)
        try:
            path.write_bytes(data)
        except OSError as error:
            raise InputError(f"{path} cannot be written: {error.strerror}") from None
        return path

    def __repr__(self) -> str:
        return str(self).rstrip("\n")

    def _repr_svg_(self) -> str | None:
        try:
            return self._as("svg").decode()
        except InputError:  # what draws pictures is not installed: the notebook shows the text
            return None

    def _repr_mimebundle_(self, include: Any = None, exclude: Any = None) -> dict[str, str]:
        shown = {"text/plain": repr(self)}
        picture = self._repr_svg_()
        return shown if picture is None else {**shown, "image/svg+xml": picture}

    def _as(self, format: DrawFormat) -> bytes:
        return _drawn(self._workflow, format, run=self._run, **self._options)


def _drawn(workflow: Describable | GraphSpec, format: DrawFormat, **options: Any) -> bytes:
    if format == "png":
        dots: bytes = draw(workflow, "png", **options)
        return dots
    text: str = draw(workflow, format, **options)
    return text.encode()
