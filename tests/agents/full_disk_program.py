"""A conversation on a disk that is full for a while: run by test_full_disk.py, in a process of its own."""

from __future__ import annotations

import json
import logging
import resource
import signal
import sys
from typing import Any

import anyio
import structlog

from procession.agents.agent import Agent
from procession.processors.memory.memory import Memory
from procession.testing.fake_model import FakeModel

IDS: dict[str, Any] = {"thread": "t", "resource": "ada"}
ROOM = 400_000
"""Bytes that a file may have while the disk is full."""


async def main(path: str) -> None:
    """Talk until a turn is not saved, and twice more; then there is room again."""
    told: list[Any] = []
    model = FakeModel("y" * 20_000, repeat_last=True)
    async with Memory(path, last_messages=4) as memory:
        agent = Agent("clerk", model=model, memory=memory)
        resource.setrlimit(resource.RLIMIT_FSIZE, (ROOM, resource.RLIM_INFINITY))
        for number in range(100):
            result = await agent.generate(f"{number} " + "x" * 20_000, **IDS)
            unsaved = result.unsaved
            told.append(
                [result.status, len(result.text), unsaved and [unsaved.messages, unsaved.waiting, str(unsaved.reason)]]
            )
            if len([one for one in told if one[2]]) == 3:
                break
        seen = [message.text.split()[0] for message in model.requests[-1].messages if message.role == "user"]
        waiting = await memory.flush()
        resource.setrlimit(resource.RLIMIT_FSIZE, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
        left = await memory.flush()
    async with Memory(path) as memory:
        kept = [message.text.split()[0][:5] for message in await memory.recall("t", "ada")]
    json.dump({"told": told, "seen": seen, "waiting": waiting, "left": left, "kept": kept}, sys.stdout)


if __name__ == "__main__":
    structlog.configure(  # what is printed is for whoever started this
        wrapper_class=structlog.make_filtering_bound_logger(logging.ERROR),
        logger_factory=structlog.PrintLoggerFactory(sys.stderr),
    )
    signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    anyio.run(main, sys.argv[1], backend=sys.argv[2])
