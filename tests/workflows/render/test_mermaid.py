"""Mermaid text."""

import re
from textwrap import dedent

from tests.workflows.render.sample import everything, guards, shout

from procession.runtime.runtime import Runtime
from procession.steps.step import Step
from procession.workflows.render.draw import draw
from procession.workflows.workflow import create_workflow


def test_processors_side_by_side() -> None:
    """Containers are subgraphs with their merge policy, forks and joins bars, processors rounded with their hooks."""
    assert draw(guards(), "mermaid") == dedent(
        """\
        flowchart TB
          n0(("start"))
          subgraph n6 ["checks · merge=strictest"]
            n1["fork"]
            n2("processor:redactor<br/>in,out · mutates")
            n3("processor:blocker<br/>in")
            n4["join"]
          end
          n5(("end"))
          n0 --> n1
          n1 --> n2
          n1 --> n3
          n2 --> n4
          n3 --> n4
          n4 --> n5
          classDef bar fill:#333333,stroke:#333333,color:#ffffff
          class n1,n4 bar
        """
    )


def test_every_kind_of_node() -> None:
    """Each kind has its shape, conditions stand on edges, a loop leads back by a dashed one, nothing is drawn dashed."""
    text = draw(everything(), "mermaid", direction="LR")
    assert text.startswith("flowchart LR\n")
    for line in (
        'subgraph n1 ["inner"]',
        '{"route"}',
        '[/"pick shout"/]',
        '{"until len(text) #62; 10"}',
        '{{"0.5 s"}}',
        '[/"for each"\\]',
        'subgraph n24 ["for each · concurrency=3"]',
        '|"when len(text) #62; 3 and #34;#60;x#62;#34; not in text"|',
        '|"otherwise"|',
        '-.->|"not (len(text) #62; 10)"|',
        "classDef empty stroke-dasharray",
    ):
        assert line in text


def test_ids_are_never_identifiers() -> None:
    """Whatever an id contains, nodes are called n0, n1 and so on, and the id is an escaped, short label."""
    nasty = 'end"]; click x "javascript:alert(1)" %%{init}%% `<b>` #quot; {a|b} \\ \n' + "x" * 100
    text = draw(create_workflow(nasty).then(Step[str, int](id=nasty, execute=len)), "mermaid")
    (label,) = re.findall(r'^  n1\["(.*)"\]$', text, re.MULTILINE)
    label = label.replace("<br/>", " ")
    assert not set(label) & set("\"'`<>[]{}|\\%")
    shown = re.sub(r"#(\d+);", lambda match: chr(int(match[1])), label)
    assert shown.replace(" ", "") == (" ".join(nasty.split())[:59] + "…").replace(" ", "")
    structure = re.sub(r'"[^"]*"', '""', text)
    assert re.fullmatch(r'flowchart TB\n(  n\d+(\(\(""\)\)|\[""\])\n|  n\d+ --> n\d+\n)+', structure)


def test_the_same_graph_has_the_same_names() -> None:
    """GRA-003: nodes are called n0, n1 … in their order, each time, and also where the workflow is made anew."""

    def made() -> str:
        workflow = create_workflow("w", str)
        for id in ("end", "graph", "1"):
            workflow.then(Step[str, str](id=id, execute=str))
        return draw(workflow, "mermaid")

    assert re.findall(r'^  (n\d+)\[?\(*"(.*?)"', made(), re.MULTILINE) == [
        ("n0", "start"), ("n1", "end"), ("n2", "graph"), ("n3", "1"), ("n4", "end"),
    ]  # fmt: skip
    assert made() == made()


async def test_overlay_of_a_run() -> None:
    """With a run, nodes carry the sign and the time in their label, and a class of their status."""
    workflow = create_workflow("loud", str).then(shout).commit()
    text = draw(workflow, "mermaid", run=await Runtime().run(workflow, "x"))
    assert re.search(r'n1\["shout<br/>✓ [\d.]+(µs|ms)"\]', text)
    assert "  class k0,n1 success\n" in text
