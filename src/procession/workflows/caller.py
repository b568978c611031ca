"""
Caller: where in the user's code a node was added.
"""

from __future__ import annotations

import sys
from pathlib import Path

__all__ = ["caller"]

_OURS = str(Path(__file__).parent.parent) + "/"


def caller() -> tuple[str, int]:
    """
    Return the file and the line from which the method that asks was called: the line of the method's name, where a
    chain of calls takes several.

    Where this package itself builds a workflow, such as one of a list of processors, that is where it was asked to.
    """
    # ``inspect.stack()`` reads source files; this takes a fifth of a microsecond.
    frame = sys._getframe(2)  # pyright: ignore[reportPrivateUsage]
    if frame.f_code.co_filename.startswith(_OURS):
        outer = frame
        while outer.f_back is not None and outer.f_code.co_filename.startswith(_OURS):
            outer = outer.f_back
        if not outer.f_code.co_filename.startswith(_OURS):
            frame = outer
    return frame.f_code.co_filename, frame.f_lineno
