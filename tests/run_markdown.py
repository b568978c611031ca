"""Run the Python blocks of one Markdown file: ``python tests/run_markdown.py README.md``.

The blocks of a file share one namespace, as a reader types them in order.  Words after
``python`` on the opening line change that:

    ```python          runs in the file's namespace; ``await`` may stand at its top level
    ```python alone    runs in a namespace of its own
    ```python no-run   does not run: it needs a key, or shows half a program

A traceback names the line of the Markdown file.
"""

import ast
import asyncio
import inspect
import re
import sys
import textwrap
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType

FENCE = re.compile(
    r"^(?P<indent> *)(?P<fence>```+|~~~+)(?P<info>[^\n]*)\n(?P<body>.*?)^(?P=indent)(?P=fence) *$",
    re.DOTALL | re.MULTILINE,
)


def blocks(text: str, language: str) -> Iterator[tuple[int, set[str], str]]:
    """Yield the first line's number, the marks and the source of each block in a language."""
    for match in FENCE.finditer(text):
        name, *marks = match["info"].split() or [""]
        if name == language:
            yield text.count("\n", 0, match.start("body")) + 1, set(marks), textwrap.dedent(match["body"])


def module(number: int, path: Path) -> ModuleType:
    """Make the module in which blocks run, so that their annotations can be resolved."""
    made = ModuleType(f"markdown_block_{number}")
    made.__file__ = str(path)
    sys.modules[made.__name__] = made
    return made


def run(path: Path) -> int:
    """Run the blocks of a file and return how many ran."""
    text = path.read_text("utf-8")
    shared, count = module(0, path), 0
    with asyncio.Runner() as runner:
        for number, marks, source in blocks(text, "python"):
            if "no-run" in marks:
                continue
            scope = module(number, path) if "alone" in marks else shared
            padded = "\n" * (number - 1) + source
            code = compile(padded, str(path), "exec", ast.PyCF_ALLOW_TOP_LEVEL_AWAIT, dont_inherit=True)
            if code.co_flags & inspect.CO_COROUTINE:
                runner.run(eval(code, scope.__dict__))
            else:
                exec(code, scope.__dict__)
            count += 1
    return count


if __name__ == "__main__":
    run(Path(sys.argv[1]))
