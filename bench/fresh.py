"""
Fresh processes: for what can only be measured once in a process, its imports and its peak of memory.
"""

from __future__ import annotations

import asyncio
import json
import os
import sys
from pathlib import Path
from typing import Any

__all__ = ["PEAK", "run_python"]

ROOT = Path(__file__).resolve().parent.parent

PEAK = """
def peak_mb():
    try:
        with open("/proc/self/status") as status:
            return next(int(line.split()[1]) / 1024 for line in status if line.startswith("VmHWM"))
    except OSError:
        import resource, sys
        return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / (2**20 if sys.platform == "darwin" else 1024)
"""
"""
Source of ``peak_mb()``, the most memory that a process has held.  Linux counts it for a program from its own start
only in ``/proc``; what ``getrusage`` tells there may be the parent's.
"""


async def run_python(source: str, *, bytecode: str | None = None) -> Any:
    """
    Run a program in a process of its own and return what it prints, read as JSON.

    With *bytecode*, a folder, compiled modules are kept there and only there, whatever the environment says.
    Raises ``RuntimeError`` with what the program wrote to stderr where it fails.
    """
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, [str(ROOT), os.environ.get("PYTHONPATH")]))}
    if bytecode is not None:
        environment.pop("PYTHONDONTWRITEBYTECODE", None)
        environment["PYTHONPYCACHEPREFIX"] = bytecode
    process = await asyncio.create_subprocess_exec(
        sys.executable, "-c", source,
        stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.PIPE, env=environment,
    )  # fmt: skip
    printed, complaint = await process.communicate()
    if process.returncode:
        raise RuntimeError(f"a fresh process failed:\n{complaint.decode(errors='replace')}")
    return json.loads(printed)
