"""The registry."""

from __future__ import annotations

import pytest

from procession.errors import DefinitionError, TargetError
from procession.runtime.registry import Registry
from procession.workflows.workflow import create_workflow


def test_things_are_found_by_their_id() -> None:
    """What was added is found by its id; adding it again changes nothing."""
    registry = Registry()
    one, two = registry.add(create_workflow("one")), registry.add(create_workflow("two"))
    assert registry.add(one) is one
    assert (list(registry), len(registry)) == (["one", "two"], 2)
    assert registry["two"] is registry.find("two") is two
    assert repr(registry) == "Registry(one, two)"


def test_duplicates_and_nameless_things_are_refused() -> None:
    """Another thing with the same id, or one without, is a ``DefinitionError``."""
    registry = Registry()
    registry.add(create_workflow("one"))
    with pytest.raises(DefinitionError, match="'one' is the id of another Workflow"):
        registry.add(create_workflow("one"))
    with pytest.raises(DefinitionError, match="has no id"):
        registry.add(create_workflow(""))


def test_an_unknown_name_is_answered_with_the_nearest() -> None:
    """Looking for what is not there names what may have been meant."""
    registry = Registry()
    with pytest.raises(TargetError, match="nothing"):
        registry.find("moderation")
    registry.add(create_workflow("moderation"))
    with pytest.raises(TargetError, match="did you mean 'moderation'"):
        registry.find("moderatoin")
    with pytest.raises(TargetError, match="there is moderation"):
        registry.find("x")
    with pytest.raises(KeyError):
        registry["x"]
