"""Prices as data: exact, by the id of the model, and none where none is known."""

from __future__ import annotations

import json
from decimal import Decimal
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from procession import Agent, Budget, Runtime, create_workflow
from procession.errors import DefinitionError, InputError
from procession.messages.usage import Usage
from procession.models.prices.price import price_of, units_of
from procession.models.prices.table import PriceTable
from procession.storage.costs import UNIT
from procession.testing.fake_model import FakeModel

TABLE = PriceTable(
    {
        "openai/mini": {"input": "0.25", "output": 2, "cached_input": 0.025, "cache_write": Decimal("0.5")},
        "openai/mini-2026-01-01": {"input": 1, "output": 1},
        "google/pro": {"input": "1.25", "output": "10", "long": {"above": 200_000, "input": "2.5", "output": "15"}},
        "ollama/*": {"input": 0, "output": 0},
        "ollama/paid-*": {"input": 1, "output": 1},
    }
)


def test_each_kind_of_token_has_its_price() -> None:
    """Input counts what came from a cache and what was written into one, and each costs what it costs."""
    usage = Usage(1_000_000, 500_000, cached_input_tokens=400_000, cache_creation_input_tokens=100_000)
    assert TABLE.cost("openai/mini", usage) == (125 + 10 + 50 + 1000) * UNIT // 1000


def test_what_has_no_price_of_its_own_costs_what_input_does() -> None:
    """Without a price for cached input, none is taken for granted; reasoning is output, and counts once."""
    usage = Usage(1_000, 100, reasoning_tokens=90, cached_input_tokens=900, cache_creation_input_tokens=50)
    assert TABLE.cost("google/pro", usage) == 1_000 * 1_250_000 + 100 * 10_000_000


def test_a_long_prompt_costs_more_as_a_whole() -> None:
    """Beyond the threshold all tokens of the call have the other price, and at it they have not."""
    assert TABLE.cost("google/pro", Usage(200_000, 1)) == 200_000 * 1_250_000 + 10_000_000
    assert TABLE.cost("google/pro", Usage(200_001, 1)) == 200_001 * 2_500_000 + 15_000_000


def test_odd_counts_give_nothing_back() -> None:
    """A provider that counts more from the cache than was sent makes the call no cheaper than that."""
    odd = Usage(100, 0, cached_input_tokens=900, cache_creation_input_tokens=900)
    assert TABLE.cost("openai/mini", odd) == 100 * 25_000


@pytest.mark.parametrize(
    ("model", "same_as"),
    [
        ("openai/mini-2025-08-07", "openai/mini"),
        ("openai/mini-20250807", "openai/mini"),
        ("openai/mini-latest", "openai/mini"),
        ("ollama/qwen3", "ollama/x"),
        ("openai/mini-2026-01-01", "ollama/paid-x"),
    ],
)
def test_versions_and_families(model: str, same_as: str) -> None:
    """A dated version costs what the model does, unless it has its own price; the longest beginning counts."""
    assert TABLE.price(model) == TABLE.price(same_as)


@pytest.mark.parametrize("model", ["openai/mini-pro", "openrouter/openai/mini", "mini", "", "openai/min"])
def test_what_is_not_known_has_no_price(model: str) -> None:
    """No other model is taken for one that has a price, and the same one of another provider is another one."""
    assert TABLE.cost(model, Usage(1, 1)) is None


def test_own_prices_beside_the_listed_ones() -> None:
    """Prices of one's own take the place of listed ones, and the table they were added to stays as it is."""
    listed = PriceTable.listed()
    more = listed.with_prices({"openai/gpt-5-mini": {"input": 9, "output": 9}, "own/*": {"input": 1, "output": 1}})
    assert more.cost("openai/gpt-5-mini", Usage(1, 0)) == 9_000_000
    assert listed.cost("openai/gpt-5-mini", Usage(1, 0)) == 250_000
    assert more.cost("openai/gpt-5-nano", Usage(1, 0)) == listed.cost("openai/gpt-5-nano", Usage(1, 0))
    assert more.as_of == listed.as_of
    assert "own/*" in more.models


def test_the_listed_prices_say_when_and_where_from() -> None:
    """The list that comes with the package names its day, and for each model the provider's own page; it is read as it is written."""
    data = json.loads((Path(PriceTable.read.__func__.__globals__["_LIST"])).read_text("utf-8"))  # type: ignore[attr-defined]
    assert data["as_of"] == PriceTable.listed().as_of == "2026-11-30"
    pages = {"anthropic": "https://platform.claude.com/docs/", "openai": "https://developers.openai.com/api/docs/"}
    assert set(data["models"]) == set(data["sources"])
    assert all(page.startswith(pages[name.split("/")[0]]) for name, page in data["sources"].items())
    assert set(PriceTable.listed().models) == set(data["models"])
    for name in data["models"]:
        price = PriceTable.listed().price(name)
        assert price is not None
        assert 0 < price.input < price.output
        assert price.cached_input is None or 0 < price.cached_input < price.input
        if price.long is not None:
            assert price.above > 0
            assert price.long.input > price.input


def test_a_file_of_prices(tmp_path: Path) -> None:
    """A file may have numbers too: they are read as they are written, and not as the nearest float."""
    file = tmp_path / "prices.json"
    file.write_text('{"as_of": "today", "models": {"m": {"input": 0.1, "output": 1e-6}}}')
    table = PriceTable.read(file)
    assert (table.cost("m", Usage(3, 0)), table.cost("m", Usage(0, 3)), table.as_of) == (300_000, 3, "today")


@pytest.mark.parametrize(
    "text", ["", "[]", '{"models": 1}', '{"models": {"m": 1}}', '{"models": {"m": {"input": 1}}}', '{"prices": {}}']
)
def test_a_file_that_is_none_is_refused(tmp_path: Path, text: str) -> None:
    """What is no table of prices is refused where it is read."""
    file = tmp_path / "prices.json"
    file.write_text(text)
    with pytest.raises(DefinitionError):
        PriceTable.read(file)
    with pytest.raises(DefinitionError, match="cannot be read"):
        PriceTable.read(tmp_path / "nothing.json")


@pytest.mark.parametrize(
    "price",
    [
        {"input": -1, "output": 1},
        {"input": "x", "output": 1},
        {"input": True, "output": 1},
        {"input": float("nan"), "output": 1},
        {"input": float("inf"), "output": 1},
        {"input": "0.0000001", "output": 1},
        {"input": 1, "output": 1, "batch": 1},
        {"input": 1, "output": None},
        {"input": 1, "output": 1, "long": {"input": 2, "output": 2}},
        {"input": 1, "output": 1, "long": {"above": 10, "input": 2}},
        {"input": 1, "output": 1, "long": {"above": True, "input": 2, "output": 2}},
        {"input": 1, "output": 1, "long": {"above": -1, "input": 2, "output": 2}},
        {
            "input": 1,
            "output": 1,
            "long": {"above": 9, "input": 2, "output": 2, "long": {"above": 1, "input": 1, "output": 1}},
        },
        {"input": "1e999999", "output": 1},
    ],
)
def test_a_price_that_is_none_is_refused(price: Any) -> None:
    """A price that cannot be kept to exactly is refused, naming the model."""
    with pytest.raises(DefinitionError, match="my/model"):
        price_of("my/model", price)


@given(
    cents=st.decimals(0, 500, places=6, allow_nan=False),
    usages=st.lists(st.tuples(st.integers(0, 10**7), st.integers(0, 10**6)), max_size=20),
)
def test_sums_are_those_of_fractions(cents: Decimal, usages: list[tuple[int, int]]) -> None:
    """However many calls there are, the sum of what they cost is exact to the last unit."""
    table = PriceTable({"m": {"input": cents, "output": 2 * cents}})
    total = sum(table.cost("m", Usage(asked, said)) or 0 for asked, said in usages)
    exact = sum((Fraction(cents) * (asked + 2 * said) / 1_000_000 for asked, said in usages), Fraction(0))
    assert Fraction(total, UNIT) == exact


async def test_prices_for_a_budget() -> None:
    """A table prices what a budget counts, by the model that answered; one without a price stops what it is for."""
    assert TABLE.dollars(Usage(1_000_000, 500_000), "openai/mini") == 1.25
    with pytest.raises(InputError, match="no price is known of 'new'"):
        TABLE.dollars(Usage(1, 1), "new")
    for model, status in (("openai/mini", "success"), ("new", "blocked")):
        agent = Agent("a", model=FakeModel("Hi.", id=model))
        budget = Budget(money=1, price=TABLE.dollars)
        flow = create_workflow("w", str).then(agent, budget=budget).commit()
        assert (await Runtime().create_run(flow).start("Hi")).status == status


def test_units() -> None:
    """An amount is taken as it is written."""
    assert [units_of(value, 2) for value in (0, 1, "1.50", 0.07, Decimal("0.1"))] == [0, 100, 150, 7, 10]
    wrongs: list[Any] = [-1, "1.505", None, "abc", [], True]
    for wrong in wrongs:
        with pytest.raises(ValueError):
            units_of(wrong, 2)
