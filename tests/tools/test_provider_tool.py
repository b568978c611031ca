"""Tools that the provider runs: what declares them."""

from __future__ import annotations

import copy
import pickle
from typing import Any

import pytest

from procession.errors import DefinitionError, InputError, ToolDefinitionError
from procession.tools.provider_tool import ProviderTool
from procession.tools.tool import Tool

OPENAI = {"type": "web_search", "user_location": {"type": "approximate", "country": "NO"}}
SEARCH = ProviderTool("web_search", openai=OPENAI, google={"google_search": {}})


def test_a_provider_tool_is_a_tool_with_definitions() -> None:
    """It goes wherever tools go, is named like one, and holds what each provider calls it."""
    assert isinstance(SEARCH, Tool)
    assert (SEARCH.name, SEARCH.id, SEARCH.requires_approval, SEARCH.client_side) == ("web_search",) * 2 + (False,) * 2
    assert SEARCH.provider_tool == SEARCH.definitions == {"openai": OPENAI, "google": {"google_search": {}}}
    assert Tool(name="t", execute=lambda args, ctx: None).provider_tool is None


def test_it_is_a_value() -> None:
    """It is compared by content, copied, renamed and written down whole."""
    assert SEARCH == ProviderTool("web_search", openai=OPENAI, google={"google_search": {}})
    renamed = SEARCH.replace(name="search")
    assert (type(renamed), renamed.name, renamed.definitions) == (ProviderTool, "search", SEARCH.definitions)
    assert copy.deepcopy(SEARCH) is SEARCH
    assert pickle.loads(pickle.dumps(ProviderTool("s", openai=OPENAI).definitions)) == {"openai": OPENAI}


def test_what_was_given_may_change_afterwards() -> None:
    """The definitions are those of the moment it was made."""
    given: dict[str, Any] = {"type": "web_search", "filters": {"allowed_domains": ["a.example"]}}
    made = ProviderTool("web_search", openai=given)
    given["filters"]["allowed_domains"].append("b.example")
    assert made.definitions["openai"]["filters"] == {"allowed_domains": ["a.example"]}


async def test_nothing_can_run_it_here() -> None:
    """Neither by hand nor in a workflow, and nobody here can judge its arguments."""
    with pytest.raises(InputError, match="'web_search' is run by the model's provider, not here"):
        await SEARCH.run({"query": "x"})
    with pytest.raises(InputError, match="not here"):
        SEARCH.read_arguments({})
    with pytest.raises(DefinitionError, match="cannot stand in a workflow"):
        SEARCH.as_step()


@pytest.mark.parametrize(
    ("name", "definitions", "fault"),
    [
        ("web search", {"openai": OPENAI}, "cannot be the name of a tool"),
        ("web_search", {}, "is defined for no provider"),
        ("web_search", {"openai": {}}, "its definition for openai is none"),
        ("web_search", {"openai": "web_search"}, "its definition for openai is none"),
        ("web_search", {"antropic": OPENAI}, "did you mean 'anthropic'"),
        ("web_search", {"openai": {"type": object()}}, "cannot be sent"),
    ],
)
def test_what_cannot_work_is_refused_where_it_is_made(name: str, definitions: Any, fault: str) -> None:
    """Each fault names the tool and what to write instead."""
    with pytest.raises(ToolDefinitionError, match=fault):
        ProviderTool(name, **definitions)


def test_a_client_of_ones_own_may_read_another_format() -> None:
    """Names that are close to none of ours are taken as they are."""
    assert ProviderTool("search", mistral={"type": "web_search"}).definitions == {"mistral": {"type": "web_search"}}
