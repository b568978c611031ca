"""What the tests of CostGuard share: prices, agents with a guard, and how an account stands."""

from __future__ import annotations

from typing import Any

from pydantic import BaseModel

from procession.agents.agent import Agent
from procession.models.ask import ask
from procession.processors.contexts import InputContext
from procession.processors.guardrails.cost_guard import CostGuard
from procession.processors.processor import Processor
from procession.steps.request_context import RequestContext
from procession.storage.costs import CostBalance, CostStore
from procession.storage.memory_costs import InMemoryCosts
from procession.testing.fake_model import FakeModel
from procession.tools.tool import tool

PRICES = {"fake": {"input": "1000", "output": "10000"}, "other": {"input": "500", "output": "500"}}
CALL = 60_000_000_000
"""What a call of the fake model costs: ten tokens in at a tenth of a cent, five out at a cent."""
RESOURCE = '["resource", null, "user-1"]'


@tool
def look(city: str) -> str:
    """Look at the weather."""
    return "sunny"


def guard(store: CostStore | None = None, **options: Any) -> CostGuard:
    """Return a guard of a resource's costs with prices for the fake models."""
    given: dict[str, Any] = {"max_cost": 100, "prices": PRICES, "store": store or InMemoryCosts()}
    return CostGuard(**{**given, **options})


def agent(model: Any, *processors: Any, **options: Any) -> Agent:
    """Return an agent with these input processors."""
    return Agent("agent", model=model, input_processors=list(processors), tools=[look], **options)


def for_user(user: str = "user-1", **more: Any) -> dict[str, Any]:
    """Return the options of a call for a user."""
    return {"request_context": RequestContext({"resource_id": user, **more})}


async def spent(store: CostStore, account: str = RESOURCE) -> CostBalance:
    """Return how an account stands."""
    return await store.balance(account)


class Judgement(BaseModel):
    """What a guard asks for."""

    bad: bool


class Asks(Processor):
    """Asks a model about the input, in *process_input*, before the first model call."""

    id = "asks"

    def __init__(self, *, bad: bool = False, script: Any = None) -> None:
        super().__init__()
        self.model = FakeModel(script or f'{{"bad": {str(bad).lower()}}}', id="other", repeat_last=True)

    async def process_input(self, ctx: InputContext) -> None:
        """Ask."""
        found = await ask(self.model, instructions="Bad?", content="Hi", schema=Judgement, scope=ctx.scope)
        if found.bad:
            ctx.abort("bad")
