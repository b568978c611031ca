"""What the tests of counting share: a machine on which packages are missing, or are others."""

from __future__ import annotations

from collections.abc import Callable, Generator
from contextlib import contextmanager
from importlib.util import find_spec
from typing import Any

import pytest

from procession.models.tokens import encodings


@contextmanager
def machine(found: Callable[[str], Any]) -> Generator[None]:
    """Let *found* say of each package where it is, and forget what was loaded before and meanwhile."""
    _forget()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(encodings, "find_spec", found)
        yield
    _forget()


def missing(*names: str) -> Callable[[str], Any]:
    """Return where packages are on this machine, those of *names* left out."""
    return lambda name: None if name in names else find_spec(name)


def _forget() -> None:
    encodings.has_encodings.cache_clear()
    encodings._loaded.cache_clear()  # pyright: ignore[reportPrivateUsage]
