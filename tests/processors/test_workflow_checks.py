"""What ``commit`` knows of processors: their hooks, and where these cannot run."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, cast

import pytest

from procession.errors import WorkflowDefinitionError
from procession.processors.contexts import InputContext, OutputStreamContext
from procession.processors.processor import Processor
from procession.workflows.nodes import pick
from procession.workflows.workflow import Workflow, create_workflow


class Watcher(Processor):
    """Looks at what a user says."""

    id = "watcher"

    def process_input(self, ctx: InputContext) -> None:
        """Do nothing."""


class Streamer(Processor):
    """Looks at chunks."""

    id = "streamer"

    def process_output_stream(self, ctx: OutputStreamContext) -> None:
        """Do nothing."""


def test_a_hook_that_nobody_has_is_refused() -> None:
    """A name that is no hook is an error, with the one that was meant."""
    with pytest.raises(WorkflowDefinitionError) as caught:
        create_workflow("w", kind="processor").then(Watcher(), on=["process_inptu"]).commit()
    finding = caught.value.findings[0]
    assert (finding.code, finding.hint) == ("unknown-hook", "did you mean 'process_input'?")
    assert finding.fix is not None
    assert (finding.fix.action, finding.fix.to, finding.fix.code) == ("refer", "process_input", 'on=["process_input"]')
    assert finding.file == __file__


def test_a_hook_that_never_runs_is_warned_about() -> None:
    """A processor restricted to hooks that it does not have commits, with a warning."""
    workflow = create_workflow("w", kind="processor").then(Watcher(), on=["process_output_result"]).commit()
    assert [(finding.code, finding.severity) for finding in workflow.findings] == [("hook-never-runs", "warning")]
    assert create_workflow("w", kind="processor").then(Watcher(), on=["process_input"]).commit().findings == ()


Begun = Workflow[Any, Any]


def paused(start: Begun) -> Begun:
    return start.sleep(1)


def repeated(start: Begun) -> Begun:
    return start.do_while(Watcher(), lambda payload: False)


def for_each(start: Begun) -> Begun:
    return start.foreach(Watcher())


def picked(start: Begun) -> Begun:
    return start.map(pick("processor:streamer"))


@pytest.mark.parametrize(
    ("build", "code"),
    [
        (paused, "hook-never-runs"),
        (for_each, "hook-never-runs"),
        (repeated, "hook-never-runs"),
        (picked, "invalid-map-placement"),
    ],
)
def test_what_no_stream_can_run_is_warned_about(build: Callable[[Begun], Begun], code: str) -> None:
    """Beside a processor of chunks, loops, pauses and picks without branches are told of before an agent refuses them."""
    workflow = build(create_workflow("w", kind="processor").then(Streamer())).commit()
    assert [(finding.code, finding.severity) for finding in workflow.findings] == [(code, "warning")]
    assert build(create_workflow("w", kind="processor").then(Watcher(id="streamer"))).commit().findings == ()


def test_a_processor_that_is_given_no_payload_is_warned_about() -> None:
    """A processor after a step of text fails when it runs, and ``commit`` says so."""
    workflow = create_workflow("w", str).then(Watcher()).commit()
    assert [finding.severity for finding in workflow.findings] == ["warning"]
    assert "'processor:watcher' takes the payload of a hook, and is given str" in workflow.findings[0].message


def test_build_time_errors_are_found_at_build_time() -> None:
    """WF-003: duplicate ids, unknown sources, open and self-containing workflows, misfits; each with ids and place."""
    same = create_workflow("same")
    cases: list[tuple[Workflow[Any, Any], str]] = [
        (create_workflow("w").then(Watcher()).then(Watcher()), "duplicate-step-id"),
        (create_workflow("w").then(Watcher()).map(pick("nope")), "invalid-map-reference"),
        (create_workflow("w").then(create_workflow("inner").then(Watcher())), "not-committed"),
        (same.then(same), "self-reference"),
        (create_workflow("w", cast("Any", int)).map(_upper), "incompatible-schema"),
    ]
    for workflow, code in cases:
        with pytest.raises(WorkflowDefinitionError) as caught:
            workflow.commit()
        (finding,) = caught.value.findings
        assert finding.code == code
        assert finding.steps
        assert str(finding.source).startswith(f"{__file__}:")


def _upper(value: str) -> str:
    return value.upper()
