"""The indented tree."""

from textwrap import dedent

import pytest
from tests.workflows.render.sample import Blocker, Redactor, everything, explicit, guards, shout

from procession.messages.message import Message
from procession.messages.message_list import MessageList
from procession.processors.payloads import InputPayload
from procession.runtime.runtime import Runtime
from procession.steps.retry import RetryPolicy
from procession.steps.step import Step
from procession.workflows.render.draw import draw
from procession.workflows.render.text import cell_width
from procession.workflows.workflow import create_workflow


def test_every_kind_of_node() -> None:
    """Nested workflows, branches with their conditions, loops, pauses, maps and empty places each have their line."""
    assert draw(everything()) == dedent(
        """\
        outer (workflow)
        ├─ inner (workflow)
        │  ├─ parallel-1
        │  │  ├─ shout
        │  │  └─ whisper  [3 attempts, timeout 2.5s]
        │  └─ map: pick shout
        ├─ branch: route  [first match]
        │  ├─ when len(text) > 3 and "<x>" not in text → shout
        │  ├─ when str.isdigit → whisper  [3 attempts, timeout 2.5s]
        │  └─ otherwise → other
        ├─ map: str(next(iter(outputs.values())))
        ├─ loop until len(text) > 10  [at most 3]
        │  └─ again
        ├─ sleep: 0.5 s
        ├─ · nothing-here
        ├─ map: str.split
        └─ for each  [concurrency=3]
           └─ each  [3 attempts, timeout 2.5s]
        """
    )


def test_processors_show_hooks_and_mutation() -> None:
    """A processor's hooks and whether it changes messages stand in columns, the merge policy at the fork."""
    assert draw(guards()) == dedent(
        """\
        guards (processor workflow)
        └─ parallel: checks  [merge=strictest]
           ├─ processor:redactor  in,out  mutates
           └─ processor:blocker   in
        """
    )


def test_a_nested_processor_workflow_is_called_one() -> None:
    """Inside another workflow, one of processors says so."""
    assert "└─ guards (processor workflow)\n" in draw(
        create_workflow("outer", kind="processor").then(guards()).commit()
    )


def test_explicit_form_names_dependencies() -> None:
    """Steps of the explicit form say what they come after."""
    assert draw(explicit()) == dedent(
        """\
        explicit (workflow)
        ├─ shout
        ├─ whisper  [3 attempts, timeout 2.5s]
        ├─ after shout, whisper: both
        └─ after both, shout: last
        """
    )


def test_plain_characters() -> None:
    """Without Unicode the whole drawing is ASCII, names included."""
    workflow = create_workflow("größe", str).then(shout.renamed("häng")).then(shout).commit()
    assert draw(workflow, unicode=False) == dedent(
        """\
        gr\\xf6\\xdfe (workflow)
        +- h\\xe4ng
        `- shout
        """
    )
    assert draw(everything(), unicode=False).isascii()


@pytest.mark.parametrize("width", [20, 32, 44, 80])
def test_no_line_is_wider_than_asked(width: int) -> None:
    """Lines are cut to the width, counted in columns of a terminal."""
    wide = create_workflow("幅" * 30, str).then(shout.renamed("広い" * 20)).then(everything()).then(guards()).commit()
    assert max(cell_width(line) for line in draw(wide, width=width).splitlines()) <= width


def test_a_narrow_line_keeps_the_name_of_the_step() -> None:
    """Where there is little room the condition of an arm is cut before the name of its step."""
    lines = draw(everything(), width=44).splitlines()
    assert "│  ├─ when len(text) > 3 … → shout" in lines


def test_depth_closes_nested_workflows() -> None:
    """With depth 0 a nested workflow is one line."""
    assert "shout" not in draw(create_workflow("outer", str).then(everything()).commit(), depth=0)


def test_what_holds_for_all_of_a_workflow_stands_at_its_name() -> None:
    """The retry and the time limit of a workflow are said once, also of one inside."""
    inner = create_workflow("inner", str, timeout=2.0).then(shout).commit()
    outer = create_workflow("outer", str, timeout=5.0, retry=RetryPolicy(2)).then(inner).commit()
    assert draw(outer).splitlines()[:2] == [
        "outer (workflow)  [2 attempts, timeout 5s]",
        "└─ inner (workflow)  [timeout 2s]",
    ]


def test_types() -> None:
    """On request steps say what they take and give."""
    assert "├─ shout  [str → str]" in draw(explicit(), show_types=True)


def test_terminal_codes_are_written_out() -> None:
    """An id cannot send codes to the terminal, break its line or turn the text around it."""
    nasty: Step[str, int] = Step(id="a\x1b[31m\nb\u202ec", execute=len)
    drawing = draw(create_workflow("nasty").then(nasty))
    assert "a\\x1b[31m b\\u202ec" in drawing


async def test_overlay_of_a_run() -> None:
    """With a run, each node says in a sign, a word and a time what became of it."""
    payload = InputPayload(MessageList([Message.user("please stop")]))
    workflow = create_workflow("guards", kind="processor").then(Redactor()).then(Blocker()).then(Redactor(id="b"))
    result = await Runtime().run(workflow.commit(), payload)
    lines = draw(workflow, run=result).splitlines()
    assert lines[1].startswith("├─ processor:redactor  in,out  mutates  ✓ ")
    assert lines[2].startswith("├─ processor:blocker   in               ✗ blocked ")
    assert lines[3] == "└─ processor:b         in,out  mutates"
    assert "BLOCKED" in draw(workflow, run=result, unicode=False)


async def test_overlay_puts_iterations_together() -> None:
    """A node that ran several times says how often, its loop how that ended; an arm that was not chosen is skipped."""
    workflow = (
        create_workflow("loop", str)
        .branch([(str.isupper, shout.renamed("upper"))], default=shout.renamed("lower"), id="which")
        .map(lambda outputs: next(iter(outputs.values())), id="only")
        .do_while(shout, lambda text: True, max_iterations=3)
        .commit()
    )
    lines = draw(workflow, run=await Runtime().run(workflow, "x")).splitlines()
    assert lines[2].endswith("– skipped")
    assert "✗ failed" in lines[5]
    assert lines[6].endswith("×3")


@pytest.mark.parametrize("width", [24, 30, 40, 60, 80])
async def test_a_narrow_drawing_keeps_what_became_of_a_node(width: int) -> None:
    """Where a terminal is narrow, hooks and the ends of names give way, and never the sign of what became of a node."""
    payload = InputPayload(MessageList([Message.user("please stop")]))
    long = Redactor(id="a-redactor-with-quite-a-long-name")
    workflow = create_workflow("guards", kind="processor").then(long).then(Blocker()).commit()
    lines = draw(workflow, run=await Runtime().run(workflow, payload), width=width).splitlines()
    assert "✓ " in lines[1] and "✗ blocked"[:8] in lines[2]
    assert all(len(line) <= width for line in lines) and "├─ process" in lines[1]
