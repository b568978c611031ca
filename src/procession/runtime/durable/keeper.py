"""
Keeper: writes runs down when they begin and when they end.

What that takes is imported with the first run that is written down: most runs of most programs are not.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, cast

import anyio

from procession.runtime.durable.ledger import Kept, Ledger
from procession.steps.result import Suspended

if TYPE_CHECKING:
    from procession.runtime.durable.journal import Journal

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

        A run that was *broken off* and whose end nobody asked for is given back instead, to be taken up again.
        """
        if run.state.journal is not None or type(output) is Suspended:
            from procession.runtime.durable.holding import end

            output = await end(self, run, output, broken_off=broken_off)
        if type(output) is not Suspended and not self._goes_on(run, broken_off):
            from procession.runtime.durable.abandoning import abandon_all

            with anyio.CancelScope(shield=True):
                await abandon_all(run.plan, run.state.run_id, run.state.records, self.given)
        return output

    def _goes_on(self, run: Kept, broken_off: bool) -> bool:
        """
        Return whether *run* has not ended, though it does here: it was given back, or is somebody else's by now.
        """
        journal = cast("Journal | None", run.state.journal)
        if journal is None:
            return False
        return journal.trouble is not None or (broken_off and self.gives_back(journal.run_id))
