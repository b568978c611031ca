"""
Reloading: a server in a process of its own, begun anew whenever a source changes.
"""

from __future__ import annotations

import signal
import socket
from collections.abc import Callable, Sequence
from pathlib import Path
from types import FrameType
from typing import Any

import uvicorn
from uvicorn.supervisors.statreload import StatReload

__all__ = ["reload"]


def reload(child: Callable[..., None], *, host: str, port: int, folders: Sequence[Path]) -> int | None:
    """
    Run ``child(sockets=...)`` in a process of its own, anew whenever a Python file in *folders* changes, until a signal
    ends it; returns which.

    *child* must be something that pickle can name.  Raises ``OSError`` where nothing can listen there.
    """
    config = uvicorn.Config(
        "procession",
        host=host,
        port=port,
        reload=True,
        reload_dirs=[str(each) for each in folders],
        log_level="warning",
    )
    with socket.socket(socket.AF_INET6 if ":" in host else socket.AF_INET) as listening:
        listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listening.bind((host, port))
        listening.set_inheritable(True)
        supervisor = _Supervisor(config, target=child, sockets=[listening])
        supervisor.run()
    return supervisor.ended_by


class _Supervisor(StatReload):
    ended_by: int | None = None

    def signal_handler(self, sig: int, frame: FrameType | None) -> Any:
        """
        Remember which signal it was.
        """
        self.ended_by = signal.Signals(sig)
        super().signal_handler(sig, frame)
