"""
WorkflowDefinition: what a workflow shows to the rest of its room, so that nothing there needs to import it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Protocol

from procession.steps.budget import Budget
from procession.steps.retry import RetryPolicy
from procession.steps.state_type import StateType
from procession.workflows.nodes import Node
from procession.workflows.plan import Plan

__all__ = ["WorkflowDefinition"]


class WorkflowDefinition(Protocol):
    """
    A workflow, to read.
    """

    @property
    def id(self) -> str:
        """Its name, and that of its step where it is nested."""
        ...

    @property
    def input_type(self) -> Any:
        """The annotation of its input, or ``None``."""
        ...

    @property
    def output_type(self) -> Any:
        """The annotation that its output is to fit, or ``None``."""
        ...

    @property
    def made(self) -> Any:
        """The type of its output as far as ``commit()`` found out, or ``None``."""
        ...

    @property
    def description(self) -> str:
        """What it is for."""
        ...

    @property
    def source(self) -> str | None:
        """File and line where it was begun."""
        ...

    @property
    def nodes(self) -> tuple[Node, ...]:
        """Its nodes in the order in which they were added."""
        ...

    @property
    def explicit(self) -> bool:
        """Whether it was built by ``add``."""
        ...

    @property
    def committed(self) -> bool:
        """Whether it is closed."""
        ...

    @property
    def reducers(self) -> Mapping[str, Callable[[Any, Any], Any]]:
        """How two values of one key of the state become one."""
        ...

    @property
    def retry(self) -> RetryPolicy | None:
        """How steps are tried again that have no policy of their own."""
        ...

    @property
    def timeout(self) -> float | None:
        """Seconds that all of it may take."""
        ...

    @property
    def state_type(self) -> StateType:
        """What the shared state of a run may hold."""
        ...

    @property
    def budget(self) -> Budget | None:
        """What all of it may use."""
        ...

    @property
    def plans(self) -> dict[frozenset[str] | None, Plan]:
        """Its compiled forms."""
        ...
