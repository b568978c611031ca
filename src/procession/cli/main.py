"""
``procession``: the command line.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence

__all__ = ["main"]

# The packages of the extra: where one of them is missing, the sentence below is said.
_EXTRA = {"typer", "rich", "click", "shellingham"}


def main(arguments: Sequence[str] | None = None) -> None:
    """
    Run the command line on *arguments* (those of the process by default); always ends in ``SystemExit``.
    """
    try:
        from procession.cli.app import run_app
    except ModuleNotFoundError as error:
        if error.name is None or error.name.partition(".")[0] not in _EXTRA:
            raise
        print(  # noqa: T201
            "procession: the command line needs the extra 'cli', which is not installed: pip install 'procession[cli]'",
            file=sys.stderr,
        )
        raise SystemExit(2) from None
    run_app(list(arguments) if arguments is not None else sys.argv[1:])
