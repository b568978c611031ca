"""
Keeper: writes runs down when they begin and when they end.

What that takes is imported with the first run that is written down: most runs of most programs are not.
"""

from __future__ import annotations

from typing import Any

from procession.runtime.durable.ledger import Kept, Ledger
from procession.steps.result import Suspended

__all__ = ["Keeper"]


class Keeper(Ledger):
    """
    The ledger of a runtime, and the hand that writes in it.
    """

    __slots__ = ()

    async def begin(self, run: Kept, value: Any) -> None:
        """
        Write down that *run* begins with *value*, and hold it.

        Raises ``RunError`` where its id is used already, ``UntypedValue`` where the value cannot be kept.
        """
        from procession.runtime.durable.holding import begin

        await begin(self, run, value)

    async def end(self, run: Kept, output: Any, *, broken_off: bool = False) -> Any:
        """
        Write down how *run* has ended, and return how: what could not be written is a failure.

        A run that was *broken off* while its runtime was closed is given back instead, to be taken up again.
        """
        if run.state.journal is None and type(output) is not Suspended:
            return output
        from procession.runtime.durable.holding import end

        return await end(self, run, output, broken_off=broken_off)
