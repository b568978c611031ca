"""What became of a run, laid over its drawing."""

from typing import Any

import pytest
from tests.workflows.render.sample import Blocker, Redactor, shout

from procession.agents.agent import Agent
from procession.errors import InputError
from procession.messages.message import Message
from procession.messages.message_list import MessageList
from procession.processors.payloads import InputPayload
from procession.runtime.runtime import Runtime
from procession.steps.step import Step, StepContext, step
from procession.testing.fake_model import FakeModel
from procession.workflows.render.draw import draw
from procession.workflows.workflow import Workflow, create_workflow


@step
async def broken(ctx: StepContext[str]) -> str:
    """Fail."""
    raise ValueError("it broke")


def routed() -> Workflow[Any, Any]:
    """Make a workflow whose branch goes to a step that fails, unless the text is in capitals."""
    return create_workflow("routed", str).branch([(str.isupper, shout)], default=broken, id="route").commit()


def line(drawing: str, name: str) -> str:
    """Return the line of a drawing that has *name* in it."""
    (found,) = [each for each in drawing.splitlines() if name in each]
    return found


@pytest.mark.parametrize(("text", "mark"), [("quiet", "✗ failed"), ("LOUD", "✓")])
async def test_a_branch_ends_as_its_chosen_arm(text: str, mark: str) -> None:
    """A branch is marked with what became of the arm that was chosen, in every drawing; a skipped one counts not."""
    run = await Runtime().run(routed(), text)
    assert line(draw(routed(), run=run), "branch: route").endswith(mark)
    assert f'{{"route<br/>{mark}"}}' in draw(routed(), "mermaid", run=run)
    assert f'label="route\\n{mark}"' in draw(routed(), "dot", run=run)


async def test_rounds_in_which_an_arm_was_skipped_do_not_count() -> None:
    """An arm inside a loop says how often it ran, not how often it was asked about."""
    longer = create_workflow("longer", str).branch(
        [(lambda text: len(text) < 3, shout)], default=shout.renamed("late"), id="size"
    )
    body = longer.map(lambda outputs: next(iter(outputs.values())) + "x", id="more").commit()
    workflow = create_workflow("rounds", str).do_until(body, lambda text: len(text) > 4).commit()
    drawing = draw(workflow, run=await Runtime().run(workflow, "a"))
    assert line(drawing, "branch: size").endswith("✓ ×4")
    assert [line(drawing, name)[-2:] for name in ("→ shout", "→ late")] == ["×2", "×2"]


async def test_a_branch_inside_another_workflow() -> None:
    """What failed in a nested branch is told at every level down to it."""
    outer = create_workflow("outer", str).branch([(str.islower, routed())], id="first").commit()
    drawing = draw(outer, run=await Runtime().run(outer, "quiet"))
    assert all("✗ failed" in line(drawing, name) for name in ("branch: first", "routed", "branch: route", "broken"))


async def test_a_parallel_has_the_worst_mark_of_its_arms() -> None:
    """A parallel is marked: with the failure of one arm, with a block rather than with what that cancelled."""
    fine = create_workflow("fine", str).parallel([shout, shout.renamed("again")], id="both").commit()
    assert line(draw(fine, run=await Runtime().run(fine, "a")), "parallel: both").endswith("✓")
    one = create_workflow("one", str).parallel([shout, broken], id="both").commit()
    run = await Runtime().run(one, "a")
    assert line(draw(one, run=run), "parallel: both").endswith("✗ failed")
    assert "fork<br/>✗ failed" in draw(one, "mermaid", run=run)
    guards = create_workflow("guards", kind="processor").parallel([Redactor(), Blocker()], id="both").commit()
    stopped = await Runtime().run(guards, InputPayload(MessageList([Message.user("please stop")])))
    assert line(draw(guards, run=stopped), "parallel: both").endswith("✗ blocked")


async def test_a_parallel_that_was_not_reached_has_no_mark() -> None:
    """Where no arm began, nothing is said of the parallel."""
    workflow = create_workflow("late", str).then(broken).parallel([shout, shout.renamed("again")], id="both").commit()
    assert line(draw(workflow, run=await Runtime().run(workflow, "a")), "both").endswith("parallel: both")


def test_a_merge_policy_is_shown_where_something_is_merged() -> None:
    """Branches over plain values are a mapping and name no policy; those of processors, and a policy asked for, do."""
    plain = create_workflow("plain", str).parallel([shout, shout.renamed("again")]).commit()
    assert "merge" not in draw(plain) + draw(plain, "mermaid")
    asked = create_workflow("asked").parallel([shout, shout.renamed("again")], merge="priority").commit()
    assert "merge=priority" in draw(asked)
    loose = create_workflow("loose").parallel([Redactor(), Blocker()]).commit()
    assert "merge=strictest" in draw(loose)
    one: Step[MessageList, MessageList] = Step(id="one")
    typed = create_workflow("typed", MessageList).parallel([one, one.renamed("two")])
    assert "merge=strictest" in draw(typed.commit())


@pytest.mark.parametrize("format", ["ascii", "svg", "json"])
async def test_what_is_no_run_of_a_workflow_is_refused(format: Any) -> None:
    """A result of an agent has steps of its own kind: it is refused by name, with where such a run can be seen."""
    agent = Agent("parrot", model=FakeModel("Hello."))
    result: Any = await agent.generate("Hi")
    with pytest.raises(InputError, match="not 'AgentResult'") as refused:
        agent.draw(format, run=result)
    assert "graph.svg?run=" in str(refused.value.hint)
    nothing: Any = 5
    with pytest.raises(InputError, match="not 'int'"):
        draw(agent.workflow, run=nothing)
