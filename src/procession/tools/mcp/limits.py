"""
How much a server of tools may say.
"""

from __future__ import annotations

from procession.errors import DefinitionError
from procession.messages.value import Value

__all__ = ["MCPLimits"]


class MCPLimits(Value, kw_only=True):
    """
    How much a server of tools may say; what says more is refused, never cut.

    >>> MCPLimits(tools=20).tools
    20
    """

    tools: int = 1_000
    """How many tools it may list."""
    name: int = 128
    """Characters of a tool's name on the server."""
    description: int = 10_000
    """Characters of a tool's description."""
    schema: int = 100_000
    """Characters of a tool's schema, as JSON."""
    text: int = 1_000_000
    """Characters of a result without its files; an error says at most a hundredth of them."""
    files: int = 20_000_000
    """Characters of the files of a result, which are base64."""
    message: int = 32_000_000
    """Bytes of one message over HTTP."""

    def checked(self) -> MCPLimits:
        """
        Return it.  Raises ``DefinitionError`` for a limit that is not a number from 1.
        """
        for name in self.__fields__:
            value = getattr(self, name)
            if not isinstance(value, int) or isinstance(value, bool) or value < 1:
                raise DefinitionError(f"MCPLimits has {name}={value!r}", hint="it is 1 or more")
        return self
