"""
HTTP/2 streams that nobody listens to: servers are told, so that they stop.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
from types import SimpleNamespace
from typing import Any

from anyio import move_on_after

__all__ = ["reset_abandoned"]

_CANCEL = 8
"""What the standard calls a stream that is not needed any more."""
_PATIENCE = 1.0
"""Seconds in which the server is told at once; after that it learns it with the next thing that is sent."""


async def reset_abandoned(client: Any) -> None:
    """
    Reset the streams of an ``httpx.AsyncClient`` whose calls are over and whose answers are not.

    httpcore forgets such a stream, and tells nobody: the server goes on answering, what it sends counts against all
    calls of the connection, and after a hundred of them no call can be made any more.  There is no way to say it through
    httpx, so this looks where httpcore keeps its streams.
    """
    for connection in _connections(client):
        with suppress(Exception):  # a connection that is broken needs no telling
            await _reset(connection)


async def _reset(connection: Any) -> None:
    state = connection._h2_state
    abandoned = [
        stream_id for stream_id, stream in state.streams.items() if stream.open and stream_id not in connection._events
    ]
    for stream_id in abandoned:
        unread = state.local_settings.initial_window_size - state.remote_flow_control_window(stream_id)
        if unread > 0:  # what came and was not read is given back to the other calls
            state.acknowledge_received_data(unread, stream_id)
        state.reset_stream(stream_id, error_code=_CANCEL)
    if abandoned:
        with move_on_after(_PATIENCE, shield=True):
            await connection._write_outgoing_data(SimpleNamespace(extensions={}))


def _connections(client: Any) -> Iterator[Any]:
    """
    Yield httpcore's HTTP/2 connections of a client, those through proxies included.
    """
    for transport in (client._transport, *client._mounts.values()):
        for connection in getattr(getattr(transport, "_pool", None), "connections", ()):
            inner = getattr(connection, "_connection", None)
            if hasattr(inner, "_h2_state"):
                yield inner
