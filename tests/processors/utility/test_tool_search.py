"""``ToolSearch``: what a model may find and load, from when on, and for whom."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from typing import Any

import pytest
from tests.agents.kit import WAYS, ask, at

from procession.agents.agent import Agent
from procession.errors import ProcessionError, ProcessorDefinitionError
from procession.messages.chunks import ToolResult
from procession.processors.memory.memory import Memory
from procession.processors.utility.tool_index import ToolIndex
from procession.processors.utility.tool_search import ToolQuestion, ToolSearch, ToolSearchProcessor
from procession.testing.fake_model import FakeModel
from procession.testing.script import call_tool
from procession.tools.tool import Tool
from procession.workflows.workflow import create_workflow

both_ways = pytest.mark.parametrize("way", WAYS)
ADA: dict[str, Any] = {"thread": "t", "resource": "ada"}
BOB: dict[str, Any] = {"thread": "t", "resource": "bob"}


def made(name: str, description: str) -> Tool[Any]:
    """Return a tool that answers with its name."""
    return Tool(name=name, description=description, parameters={"type": "object"}, execute=lambda args, ctx: f"{name}!")


WEATHER = made("get_weather", "Get the weather for a city")
MAIL = made("send_email", "Send an email message")
TICKET = made("create_ticket", "Create a support ticket")
TOOLS = [WEATHER, MAIL, TICKET]


def find(query: str) -> Any:
    """Let the model look for tools."""
    return call_tool("search_tools", {"query": query})


def load(name: str) -> Any:
    """Let the model load a tool."""
    return call_tool("load_tool", {"tool_name": name})


def shown(model: FakeModel) -> list[list[str]]:
    """Return the names of the tools that the model was told of, call by call."""
    return [[tool.name for tool in request.tools] for request in model.requests]


def told(seen: Any) -> list[Any]:
    """Return what the tools answered."""
    return [result.result if isinstance(result, ToolResult) else None for result in seen.result.tool_results]


@both_ways
async def test_a_tool_is_found_loaded_and_called(way: str) -> None:
    """What is loaded can be called from the next step on, and only then."""
    model = FakeModel([find("mail somebody"), load("send_email"), call_tool("send_email"), "done"])
    search = ToolSearch(tools=TOOLS)
    seen = await ask(Agent("p", model=model, input_processors=[search]), way, max_steps=6)
    meta = ["search_tools", "load_tool"]
    assert shown(model) == [meta, meta, [*meta, "send_email"], [*meta, "send_email"]]
    found, loaded, answer = told(seen)
    assert [result["name"] for result in found["results"]] == ["send_email"]
    assert (loaded["success"], answer, seen.result.text) == (True, "send_email!", "done")


@both_ways
async def test_a_tool_that_is_not_loaded_cannot_be_called(way: str) -> None:
    """Its name alone is not enough, nor is it in the step that loads it."""
    model = FakeModel([call_tool("send_email"), load("send_email") + call_tool("send_email"), "done"])
    seen = await ask(Agent("p", model=model, input_processors=[ToolSearch(tools=TOOLS)]), way, max_steps=6)
    assert "send_email!" not in told(seen)


@both_ways
async def test_what_is_found_may_be_loaded_at_once(way: str) -> None:
    """With ``auto_load`` there is no ``load_tool``, and what was found is there in the next step."""
    model = FakeModel([find("email"), call_tool("send_email"), "done"])
    seen = await ask(
        Agent("p", model=model, input_processors=[ToolSearch(tools=TOOLS, search={"auto_load": True})]),
        way,
        max_steps=6,
    )
    assert shown(model)[:2] == [["search_tools"], ["search_tools", "send_email"]]
    assert told(seen)[1] == "send_email!"


@both_ways
async def test_the_agents_own_tools_stay_beside(way: str) -> None:
    """They are shown as before; with ``include_resolved_tools`` they have to be found as well."""
    clock = made("clock", "Tells the time")
    model = FakeModel([find("time"), "done"])
    seen = await ask(Agent("p", model=model, tools=[clock], input_processors=[ToolSearch(tools=TOOLS)]), way)
    assert shown(model)[0] == ["clock", "search_tools", "load_tool"]
    assert told(seen)[0]["results"] == []
    model = FakeModel([find("time"), load("clock"), call_tool("clock"), "done"])
    search = ToolSearch(tools=TOOLS, include_resolved_tools=True)
    seen = await ask(Agent("p", model=model, tools=[clock], input_processors=[search]), way, max_steps=6)
    assert shown(model)[0] == ["search_tools", "load_tool"]
    assert (told(seen)[0]["results"][0]["name"], told(seen)[2]) == ("clock", "clock!")


async def test_active_tools_let_it_in() -> None:
    """Where only some tools are active, those that it brings are as well, and one that is not active is not found."""
    clock, secret = made("clock", "Tells the time"), made("secret_time", "Tells the secret time")
    model = FakeModel([find("time"), load("secret_time"), load("clock"), call_tool("clock"), "done"])
    search = ToolSearch(include_resolved_tools=True)
    agent = Agent("p", model=model, tools=[clock, secret], input_processors=[search])
    seen = await ask(agent, active_tools=["clock"], max_steps=6)
    found, denied, _, answer = told(seen)
    assert [each["name"] for each in found["results"]] == ["clock"]
    assert (denied["success"], answer) == (False, "clock!")
    assert shown(model)[-1] == ["search_tools", "load_tool", "clock"]


@both_ways
async def test_loaded_tools_are_the_threads(way: str) -> None:
    """The next turn of the thread has them; the same thread of another resource, and no thread, have not (D35)."""
    model = FakeModel([load("send_email"), "done", "two", "three", "four"])
    agent = Agent("p", model=model, memory=Memory(), input_processors=[ToolSearch(tools=TOOLS)])
    await ask(agent, way, **ADA)
    await ask(agent, way, **ADA)
    await ask(agent, way, **{**BOB, "thread": "t2"})
    await ask(agent, way)
    meta = ["search_tools", "load_tool"]
    assert shown(model)[2:] == [[*meta, "send_email"], meta, meta]


@both_ways
async def test_a_thread_of_another_resource_is_another_thread(way: str) -> None:
    """Two resources that call their threads alike share nothing, also without a memory (D35)."""
    model = FakeModel([load("send_email"), "done", "two"])
    agent = Agent("p", model=model, input_processors=[ToolSearch(tools=TOOLS)])
    await ask(agent, way, **ADA)
    await ask(agent, way, **BOB)
    assert shown(model)[-1] == ["search_tools", "load_tool"]


async def test_without_a_thread_it_is_the_requests() -> None:
    """What an anonymous call has loaded is not there for the next one."""
    model = FakeModel([load("send_email"), "done", "two"])
    agent = Agent("p", model=model, input_processors=[ToolSearch(tools=TOOLS)])
    await ask(agent)
    await ask(agent)
    assert [len(names) for names in shown(model)] == [2, 3, 2]


async def test_it_is_forgotten_after_a_while() -> None:
    """A thread that asks for nothing for ``ttl`` seconds begins anew; each of its steps keeps it alive."""
    now = [0.0]
    model = FakeModel([load("send_email"), "one", "two", "three"])
    search = ToolSearch(tools=TOOLS, ttl=60, clock=lambda: now[0])
    agent = Agent("p", model=model, input_processors=[search])
    await ask(agent, **ADA)
    now[0] = 59
    await ask(agent, **ADA)
    now[0] = 119
    await ask(agent, **ADA)
    assert [len(names) for names in shown(model)] == [2, 3, 3, 2]


@both_ways
async def test_the_messages_may_tell_what_is_loaded(way: str) -> None:
    """With ``storage="context"`` another process, with another object, knows what the thread has loaded."""
    memory = Memory()
    model = FakeModel([load("send_email"), load("no_such"), "done", "two"])

    def agent() -> Agent:
        search = ToolSearch(tools=TOOLS, storage="context")
        return Agent("p", model=model, memory=memory, input_processors=[search])

    await ask(agent(), way, **ADA, max_steps=6)
    await ask(agent(), way, **ADA)
    assert shown(model)[-1] == ["search_tools", "load_tool", "send_email"]


async def test_found_tools_are_loaded_by_the_messages_too() -> None:
    """With ``auto_load`` the results of a search are what was loaded."""
    model = FakeModel([find("email"), "done"])
    search = ToolSearch(tools=TOOLS, storage="context", search={"auto_load": True})
    await ask(Agent("p", model=model, input_processors=[search]))
    assert shown(model)[-1] == ["search_tools", "send_email"]


@pytest.mark.parametrize("phase", ["search", "load", "active"])
@pytest.mark.parametrize("how", ["no", "raises", "awaited no", "a word"])
async def test_the_filter_decides(phase: str, how: str) -> None:
    """What it does not plainly allow is not found, not loaded, not given; that it fails is a no, and nothing is told of it."""
    asked: list[tuple[str, str, str]] = []

    def plain(question: ToolQuestion) -> Any:
        asked.append((question.tool_name, question.phase, question.request_context["role"]))
        if question.phase != phase or question.tool_name != "send_email":
            return True
        if how == "raises":
            raise ValueError("private")
        return "yes" if how == "a word" else False

    async def later(question: ToolQuestion) -> Any:
        return plain(question)

    model = FakeModel([find("email ticket"), load("send_email"), call_tool("send_email"), "done"])
    search = ToolSearch(tools=TOOLS, filter=later if how == "awaited no" else plain)
    agent = Agent("p", model=model, input_processors=[search])
    seen = await ask(agent, max_steps=6, request_context={"role": "clerk"})
    found, loaded, *_ = told(seen)
    names = sorted(each["name"] for each in found["results"])
    assert names == (["create_ticket"] if phase == "search" else ["create_ticket", "send_email"])
    assert loaded["success"] is (phase != "load")
    assert ("send_email!" in told(seen)) is (phase == "search")
    assert ("send_email", phase, "clerk") in asked
    assert "private" not in str(told(seen))


async def test_a_tool_that_may_not_be_found_is_not_hinted_at() -> None:
    """``load_tool`` names those that sound alike, among those that may be found."""
    model = FakeModel([load("send_emial"), load("send_emial"), "done"])
    agent = Agent("p", model=model, input_processors=[ToolSearch(tools=TOOLS)])
    assert "Did you mean: send_email?" in told(await ask(agent))[0]["message"]
    hidden = ToolSearch(tools=TOOLS, filter=lambda question: question.tool_name != "send_email")
    agent = Agent("p", model=FakeModel([load("send_emial"), "done"]), input_processors=[hidden])
    assert "send_email" not in told(await ask(agent))[0]["message"].replace("send_emial", "")


@both_ways
async def test_the_model_is_told_how(way: str) -> None:
    """One system message says how tools are found, the same at each step; with a catalog it lists those that may be."""
    model = FakeModel([find("email"), "done"])
    search = ToolSearch(tools=TOOLS, inject_catalog=True, filter=lambda question: question.tool_name != "create_ticket")
    await ask(Agent("p", model=model, instructions="Be brief.", input_processors=[search]), way)
    first, second = [[each.text for each in request.messages if each.role == "system"] for request in model.requests]
    assert first == second
    assert (first[0], len(first)) == ("Be brief.", 2)
    assert "- send_email: Send an email message" in first[1]
    assert "create_ticket" not in first[1]


async def test_long_descriptions_are_cut() -> None:
    """What is listed of a tool is 150 characters on one line; the tool itself keeps its description."""
    long = made("long", "word\n" * 100)
    model = FakeModel([find("word"), load("long"), "done"])
    seen = await ask(Agent("p", model=model, input_processors=[ToolSearch(tools=[long])]), max_steps=5)
    description = told(seen)[0]["results"][0]["description"]
    assert (len(description), "\n" in description) == (150, False)
    assert model.requests[-1].tools[-1].description == long.description


async def test_results_are_limited() -> None:
    """``top_k`` results at most, each with at least ``min_score``."""
    tools = [made(f"mail_{number}", "Sends mail") for number in range(9)]
    for options, count in (({}, 5), ({"top_k": 2}, 2), ({"min_score": 1000}, 0)):
        model = FakeModel([find("mail"), "done"])
        seen = await ask(Agent("p", model=model, input_processors=[ToolSearch(tools=tools, search=options)]))
        assert len(told(seen)[0]["results"]) == count


async def test_a_name_that_is_taken_stops_the_run() -> None:
    """A tool of the agent with the name of one of its own is no tool to be replaced in silence."""
    agent = Agent("p", model=FakeModel("x"), tools=[made("load_tool", "")], input_processors=[ToolSearch(tools=TOOLS)])
    with pytest.raises(ProcessionError, match="'load_tool' already"):
        await agent.generate("Hi")


@both_ways
async def test_agents_can_be_found(way: str) -> None:
    """An agent is a tool like any other."""
    clerk = Agent("clerk", model=FakeModel("Stamped."), description="Stamps forms")
    model = FakeModel([find("stamp forms"), load("agent-clerk"), call_tool("agent-clerk", {"prompt": "this"}), "done"])
    seen = await ask(Agent("p", model=model, input_processors=[ToolSearch(tools=[clerk])]), way, max_steps=6)
    assert told(seen)[0]["results"][0]["name"] == "agent-clerk"
    assert "Stamped." in str(told(seen)[2])


async def test_the_index_is_made_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """Of its own tools once for all requests, when first looked up, and not where nobody looks."""
    counted: list[Mapping[str, str]] = []

    class Counted(ToolIndex):
        def __init__(self, described: Mapping[str, str]) -> None:
            counted.append(described)
            super().__init__(described)

    monkeypatch.setattr("procession.processors.utility.tool_search.ToolIndex", Counted)
    model = FakeModel([find("email"), find("ticket"), "one", find("email"), "two"])
    agent = Agent("p", model=model, input_processors=[ToolSearch(tools=TOOLS)])
    await ask(Agent("p", model=FakeModel("x"), input_processors=[ToolSearch(tools=TOOLS)]))
    assert counted == []
    await ask(agent, max_steps=6)
    await ask(agent)
    assert len(counted) == 1


@pytest.mark.parametrize(
    ("options", "named"),
    [
        ({"tools": []}, "no tools"),
        ({"tools": [print]}, "no tool"),
        ({"tools": [MAIL, MAIL]}, "send_email"),
        ({"tools": [made("search_tools", "")]}, "search_tools"),
        ({"tools": TOOLS, "search": {"topK": 3}}, "topK"),
        ({"tools": TOOLS, "search": {"top_k": 0}}, "top_k"),
        ({"tools": TOOLS, "search": {"min_score": "1"}}, "min_score"),
        ({"tools": TOOLS, "storage": "disk"}, "storage"),
        ({"tools": TOOLS, "ttl": 0}, "ttl"),
        ({"tools": TOOLS, "filter": "no"}, "filter"),
    ],
)
def test_wrong_options_are_refused(options: dict[str, Any], named: str) -> None:
    """The error names what is wrong and what it may be."""
    with pytest.raises(ProcessorDefinitionError, match=named) as caught:
        ToolSearchProcessor(**options)
    assert caught.value.hint


def test_the_package_for_it_may_be_missing(monkeypatch: pytest.MonkeyPatch) -> None:
    """Without the extra the error says what to install, when the processor is made."""
    monkeypatch.setitem(sys.modules, "bm25s", None)
    with pytest.raises(ProcessorDefinitionError, match="bm25s") as caught:
        ToolSearch(tools=TOOLS)
    assert caught.value.hint == "pip install 'procession[search]'"


async def test_processors_behind_see_the_tools() -> None:
    """A processor after it is given the step's tools as the model will be."""
    names: list[list[str]] = []
    look = at("process_input_step", lambda ctx: names.append(list(ctx.tools)))
    await ask(Agent("p", model=FakeModel("x"), input_processors=[ToolSearch(tools=TOOLS), look]))
    assert names == [["search_tools", "load_tool"]]


@both_ways
@pytest.mark.parametrize("construct", ["then", "parallel"])
async def test_it_works_in_a_workflow(way: str, construct: str) -> None:
    """In a workflow of processors, also beside another one, tools are found and loaded as in a list."""
    model = FakeModel([load("send_email"), call_tool("send_email"), "done"])
    search, other = ToolSearch(tools=TOOLS), at("process_input_step", lambda ctx: None, id="other")
    flow: Any = create_workflow("w", kind="processor")
    flow = flow.then(search).then(other) if construct == "then" else flow.parallel([search, other])
    seen = await ask(Agent("p", model=model, input_processors=[flow.commit()]), way, max_steps=6)
    assert told(seen)[1] == "send_email!"


async def test_a_thread_that_loads_nothing_takes_no_room() -> None:
    """Only what was loaded is remembered, however many threads there are."""
    search = ToolSearch(tools=TOOLS)
    agent = Agent("p", model=FakeModel("x", repeat_last=True), input_processors=[search])
    for number in range(5):
        await ask(agent, thread=f"t{number}", resource="ada")
    assert not search._loaded._threads  # pyright: ignore[reportPrivateUsage]
