"""
Servers of others, each a process of its own for as long as a test needs it.
"""

from __future__ import annotations

import subprocess
from collections.abc import Generator, Sequence
from contextlib import contextmanager

import pytest


@contextmanager
def running(command: Sequence[str], *, ready: str) -> Generator[str, None, None]:
    """
    Run *command* until the block is left, and give what follows the word *ready* in the line in which it says so.
    """
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True) as process:
        assert process.stdout is not None
        try:
            said: list[str] = []
            for line in process.stdout:
                said.append(line)
                if ready in line:
                    break
            else:
                pytest.fail(f"{command[-1]} did not start: {''.join(said)}")
            yield said[-1].partition(ready)[2].strip()
        finally:
            process.terminate()
