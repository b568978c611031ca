"""
``python -m procession``: the command line.
"""

from __future__ import annotations

from procession.cli.main import main

if __name__ == "__main__":
    main()
