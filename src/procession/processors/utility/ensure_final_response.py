"""
EnsureFinalResponse: a run that may make so many steps ends with an answer, and not with a tool call.
"""

from __future__ import annotations

from typing import Any

from procession.processors.contexts import InputStepContext, OutputStepContext
from procession.processors.options import whole_number
from procession.processors.processor import Processor, StepOverrides

__all__ = ["EnsureFinalResponse", "EnsureFinalResponseProcessor"]

MESSAGE = (
    "This is your final step (step {step} of {max_steps}). Do not call any more tools. "
    "Summarize what you have found and give the user a complete final answer now."
)
RETRY_MESSAGE = (
    "You gave no answer. Summarize what you have found with your tools and give the user a complete final answer."
)


class EnsureFinalResponse(Processor):
    """
    Takes the tools away at the last step that a run may make, and has the model told that it must answer now.

    List it in ``input_processors``.  In ``output_processors`` it also looks at answers that came out empty after tools were
    called: the model is asked again within the run's ``max_processor_retries``, and where those are used up, or there are
    none, *fallback* is the answer, if there is one.

    Raises ``ProcessorDefinitionError`` for options that mean nothing.

    >>> from procession.agents.agent import Agent
    >>> from procession.testing.fake_model import FakeModel
    >>> from procession.testing.script import call_tool
    >>> from procession.tools.tool import tool
    >>> @tool
    ... def look() -> str:
    ...     "Look around."
    ...     return "nothing yet"
    >>> model = FakeModel([call_tool("look"), "I have seen nothing."])
    >>> agent = Agent("a", model=model, tools=[look], max_steps=2, input_processors=[EnsureFinalResponse()])
    >>> agent.generate_sync("What is there?").text, model.requests[1].tools
    ('I have seen nothing.', ())
    """

    id = "ensure-final-response"
    description = "Has a run end with an answer, and not with a tool call."

    def __init__(
        self,
        max_steps: int | None = None,
        *,
        message: str = MESSAGE,
        take_tools: bool = True,
        retry_message: str = RETRY_MESSAGE,
        fallback: str | None = None,
        id: str | None = None,
    ) -> None:
        super().__init__(id=id)
        self.max_steps = None if max_steps is None else whole_number(type(self).__name__, "max_steps", max_steps)
        self.message = message
        self.take_tools = take_tools
        self.retry_message = retry_message
        self.fallback = fallback

    async def process_input_step(self, ctx: InputStepContext) -> StepOverrides | None:
        """
        At the last step, say so, and take the tools away.
        """
        last = self._last_step(ctx.scope.resources.get("max_steps"))
        if last is None or ctx.step_number < last - 1:
            return None
        if _may_call(ctx) and "send_signal" in ctx.scope.resources:
            await ctx.send_signal(
                {
                    "type": "reactive",
                    "contents": self.message.replace("{step}", str(ctx.step_number + 1)).replace(
                        "{max_steps}", str(last)
                    ),
                    "attributes": {"reason": "max-steps-reached", "step": ctx.step_number + 1},
                    "transient": True,  # of no use to the next turn, in which there are steps again
                }
            )
        # Also where there are none yet: a processor behind may bring some.
        return {"tool_choice": "none"} if self.take_tools and ctx.tool_choice != "none" else None

    def process_output_step(self, ctx: OutputStepContext) -> None:
        """
        Do not take silence for an answer, where tools were called before it.
        """
        if ctx.tool_calls or ctx.text.strip() or ctx.finish_reason == "error":
            return
        if ctx.steps[-1].files or not any(step.tool_calls for step in ctx.steps):  # a picture is an answer
            return
        retries: Any = ctx.scope.resources.get("max_processor_retries")
        if retries and ctx.retry_count < retries:
            ctx.abort(self.retry_message, retry=True, metadata={"processorId": self.id, "kind": "empty_answer"})
        if self.fallback is not None:
            ctx.replace_response(self.fallback)

    def _last_step(self, of_run: Any) -> int | None:
        counts = [count for count in (self.max_steps, of_run) if isinstance(count, int)]
        return min(counts) if counts else None


EnsureFinalResponseProcessor = EnsureFinalResponse
"""The documents' name."""


def _may_call(ctx: InputStepContext) -> bool:
    """
    Whether the model could call a tool in this step.
    """
    active = ctx.active_tools
    return (
        bool(ctx.tools) and ctx.tool_choice != "none" and (active is None or any(name in ctx.tools for name in active))
    )
