"""
RunPaths: where the graph of an agent has what happens in a run of it.
"""

from __future__ import annotations

import re

from procession.processors.hooks import Hook

__all__ = ["RunPaths"]

_ROUND = re.compile(r"step\[(\d+)\]")
_RESUMED = "resumed-step"
_TOOLS = "/tool-calls"
_STREAM = Hook.OUTPUT_STREAM.value


class RunPaths:
    """
    Turns the paths of one agent's run into those of ``agent.workflow``, the rounds of its steps in brackets.

    A run that was suspended goes on with the rest of its step and counts rounds anew: here they are counted on.

    >>> paths = RunPaths()
    >>> paths.of("step[0]/model-call")
    'step[0]/model-call'
    >>> paths.resume()
    >>> paths.of("resumed-step/tool-calls"), paths.of("step[0]/model-call")
    ('step[0]/tool-calls', 'step[1]/model-call')
    """

    __slots__ = ("_first", "_last", "_resumed")

    def __init__(self) -> None:
        self._first = 0
        """What the first round is called."""
        self._last = 0
        self._resumed = 0

    def resume(self) -> None:
        """
        The run goes on from where it was suspended.
        """
        self._resumed = self._last
        self._first = self._last + 1

    @property
    def last_round(self) -> str:
        """
        The path of the step that began last.
        """
        return f"step[{self._last}]"

    def of(self, path: str) -> str:
        """
        Return where in the agent's graph *path* is.
        """
        if path == _RESUMED or path.startswith(_RESUMED + "/"):
            rest = path[len(_RESUMED) :]
            if rest.startswith(_TOOLS + "/"):  # what looks at their results stands at a node of its own
                rest = f"/{Hook.TOOL_RESULT.value}{rest[len(_TOOLS) :]}"
            return f"step[{self._resumed}]{rest}"
        if path.startswith(_STREAM):  # of calls that were answered: no turn of the loop has begun
            return f"step[{self._resumed}]/{path}"
        found = _ROUND.match(path)
        if found is None:
            return path
        number = int(found[1]) + self._first
        self._last = max(self._last, number)
        return f"step[{number}]{path[found.end() :]}"
