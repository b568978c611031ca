"""Disks so small that they are soon full; making one takes root."""

from __future__ import annotations

import shutil
import subprocess
import tempfile
from functools import cache
from pathlib import Path

__all__ = ["can_be_made", "mounted", "unmount"]


def mounted(disk: Path, size: str) -> bool:
    """Make a disk of that size at *disk*, and return whether that could be done."""
    mount = shutil.which("mount")
    if mount is None:
        return False
    command = [mount, "-t", "tmpfs", "-o", f"size={size}", "none", str(disk)]
    return subprocess.run(command, check=False, stderr=subprocess.DEVNULL).returncode == 0


def unmount(disk: Path) -> None:
    """Take the disk away again."""
    subprocess.run(["umount", str(disk)], check=True)


@cache
def can_be_made() -> bool:
    """Return whether a small disk can be made here."""
    with tempfile.TemporaryDirectory() as folder:
        if not mounted(Path(folder), "100k"):
            return False
        unmount(Path(folder))
    return True
