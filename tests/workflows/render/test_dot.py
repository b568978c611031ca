"""DOT text."""

import re
from textwrap import dedent

from tests.workflows.render.sample import Blocker, everything

from procession.messages.message import Message
from procession.messages.message_list import MessageList
from procession.processors.payloads import InputPayload
from procession.runtime.runtime import Runtime
from procession.steps.step import Step
from procession.workflows.render.draw import draw
from procession.workflows.workflow import create_workflow


def test_a_chain() -> None:
    """A chain is nodes with shapes and labels, joined from start to end."""
    workflow = create_workflow("chain", kind="processor").then(Blocker()).commit()
    assert draw(workflow, "dot") == dedent(
        """\
        digraph "chain" {
          graph [rankdir="TB", fontname="Helvetica", labeljust="l"]
          node [fontname="Helvetica"]
          edge [fontname="Helvetica"]
          n0 [label="start", shape="circle"]
          n1 [label="processor:blocker\\nin", shape="box", style="rounded"]
          n2 [label="end", shape="doublecircle"]
          n0 -> n1
          n1 -> n2
        }
        """
    )


def test_every_kind_of_node() -> None:
    """Containers are clusters, a loop leads back by a dashed edge, what is empty is dashed."""
    text = draw(everything(), "dot")
    for line in (
        "subgraph cluster_n1 {",
        'label="for each · concurrency=3"',
        'shape="diamond"',
        'style="dashed", constraint="false", tailport="e", headport="e"',
        'label="nothing-here", shape="box", style="dashed"',
        '[label="when len(text) > 3 and \\"<x>\\"\\nnot in text"]',
    ):
        assert line in text
    assert text.count("{") == text.count("}")


def test_ids_are_never_identifiers() -> None:
    """Quotes, backslashes and line breaks of an id cannot end its label."""
    nasty = 'a"]; b [label=\\"x\\" \\n\n} //'
    text = draw(create_workflow(nasty).then(Step[str, int](id=nasty, execute=len)), "dot")
    bare = re.sub(r'"(?:[^"\\]|\\.)*"', '""', text)
    assert "b [" not in bare
    assert bare.count("}") == 1


async def test_overlay_of_a_run() -> None:
    """With a run, nodes carry the sign and the time in their label, and a colour besides."""
    workflow = create_workflow("chain", kind="processor").then(Blocker()).commit()
    result = await Runtime().run(workflow, InputPayload(MessageList([Message.user("stop")])))
    assert re.search(
        r'n1 \[label="processor:blocker\\nin\\n✗ blocked .*color="#c27e09"', draw(workflow, "dot", run=result)
    )
