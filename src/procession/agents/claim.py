"""
Claim: the right to resume a run, held by one call at a time (D30).
"""

from __future__ import annotations

import anyio

from procession.errors import RunAlreadyClaimed
from procession.ids import new_id
from procession.storage.base import JournalStore, RunRow, RunStatus

__all__ = ["Claim"]

LEASE = 30.0
"""Seconds after which a run is free again whose holder died; a living one prolongs its claim three times as often."""


class Claim:
    """
    The right to resume a run.
    """

    __slots__ = ("_store", "_token", "failure", "run_id")

    def __init__(self, store: JournalStore, run_id: str) -> None:
        self._store = store
        self._token = new_id()
        self.run_id = run_id
        self.failure: Exception | None = None
        """Why the claim could not be held."""

    async def take(self, row: RunRow) -> None:
        """
        Take the run as it is in *row*.

        Raises ``RunAlreadyClaimed`` where somebody else holds it, or has gone on with it since.
        """
        found = await self._store.claim(self.run_id, self._token, LEASE)
        if found is None:
            raise self.lost()
        if found.data != row.data:
            await self.release()
            raise self.lost()

    async def hold(self, scope: anyio.CancelScope) -> None:
        """
        Prolong the claim until cancelled; where that fails, say why in ``failure`` and cancel *scope*.
        """
        try:
            while True:
                await anyio.sleep(LEASE / 3)
                if await self._store.claim(self.run_id, self._token, LEASE) is None:
                    self.failure = self.lost()
                    break
        except Exception as error:
            self.failure = error
        scope.cancel()

    async def note(self, data: str) -> None:
        """
        Write how far the run has come, and hold it still.

        Raises ``RunAlreadyClaimed`` where the claim was lost meanwhile.
        """
        with anyio.CancelScope(shield=True):
            if not await self._store.write(self.run_id, self._token, data=data):
                raise self.lost()

    async def release(self) -> None:
        """
        Give the run back as it is.
        """
        with anyio.CancelScope(shield=True):
            await self._store.write(self.run_id, self._token, release=True)

    async def settle(self, status: RunStatus, data: str | None = None) -> None:
        """
        Write what became of the run.

        Raises ``RunAlreadyClaimed`` where the claim was lost meanwhile.
        """
        with anyio.CancelScope(shield=True):
            if not await self._store.write(self.run_id, self._token, status=status, data=data, release=True):
                raise self.lost()

    def lost(self) -> RunAlreadyClaimed:
        """
        Return the error that tells so.
        """
        return RunAlreadyClaimed(f"run {self.run_id} is being resumed by somebody else, or has been")
