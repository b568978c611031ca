"""
``procession graph``: a target's workflow, drawn.
"""

from __future__ import annotations

import shutil
import sys

from procession.cli.target import load_target, workflow_of
from procession.workflows.render.draw import DrawFormat, draw

__all__ = ["graph"]


def graph(
    target: str,
    format: DrawFormat = "ascii",
    *,
    width: int | None = None,
    depth: int | None = None,
    plain: bool = False,
) -> str:
    """
    Return the drawing of what *target* names.

    *width* is in columns, by default those of the terminal, or as many as it takes where the output is none.
    """
    if width is None and sys.stdout.isatty():
        width = shutil.get_terminal_size().columns
    unicode = not plain and speaks_unicode(sys.stdout.encoding)
    return draw(workflow_of(load_target(target), inside=True), format, width=width, depth=depth, unicode=unicode)


def speaks_unicode(encoding: str | None) -> bool:
    """
    Return whether what is written in *encoding* may contain lines and marks outside ASCII.
    """
    try:
        "├└│✓✗⊘µ…".encode(encoding or "ascii")
    except UnicodeEncodeError:
        return False
    return True
