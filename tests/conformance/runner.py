"""
The runner: each scenario is built from its setup alone, run, and compared with what its trace expects.
"""

from __future__ import annotations

import traceback
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

import anyio
from tests.conformance.compare import Difference, compare
from tests.conformance.format import check_setup
from tests.conformance.identifiers import numbered
from tests.conformance.notation import error_of
from tests.conformance.rules.apply import ruled, settle
from tests.conformance.scenario import Json, Scenario, Unknown, mapping, read_scenario
from tests.conformance.superseded import PatchError, Superseded, apply_patch, read_superseded

from procession.errors import DefinitionError

__all__ = ["Outcome", "Status", "judge", "run_file", "run_setup"]

Status = Literal["match", "superseded", "differ", "unknown"]
SECONDS = 20
"""How long one scenario may take."""
DERIVED = "derived"
"""The verdict of a scenario that nobody recorded: what it expects follows from a rule, and no rule changes it."""


@dataclass(frozen=True, slots=True)
class Outcome:
    """
    What became of one scenario.
    """

    key: str
    status: Status
    decided_by: str | None = None
    diff: list[str] = field(default_factory=list[str])

    @property
    def area(self) -> str:
        return self.key.partition("/")[0]


def _form(area: str, setup: Mapping[str, Json]) -> Callable[[Mapping[str, Json]], Awaitable[dict[str, Json]]]:
    """
    Return what runs a scenario.  A part of the library that cannot be imported costs only the areas that need it.
    """
    check_setup(setup)
    if "ops" in setup:
        from tests.conformance.message_list_area import run_message_list

        return run_message_list
    if "flow" in setup:
        from tests.conformance.workflow_area import run_workflow

        return run_workflow
    if "calls" not in setup and "texts" not in setup:
        raise Unknown("kind of scenario", area)
    from tests.conformance.agent_area import run_agent
    from tests.conformance.specials import special_form

    return special_form(setup) or run_agent


def run_setup(area: str, setup: Mapping[str, Json]) -> dict[str, Json]:
    """
    Run a scenario and return its trace.

    Raises ``Unknown`` for a word of the setup that the runner does not know, and whatever else goes wrong.
    """
    form = _form(area, setup)

    async def run() -> dict[str, Json]:
        with anyio.fail_after(SECONDS):
            return await form(setup)

    try:
        return mapping(numbered(anyio.run(run)))
    except DefinitionError as error:  # refused where it was built
        return {"refused": error_of(error)}


def run_file(path: Path, superseded: Path) -> Outcome:
    """
    Run the scenario in a file.  Never raises: what goes wrong is part of the outcome.
    """
    key = f"{path.parent.name}/{path.stem}"
    try:
        scenario = read_scenario(path)
        actual = run_setup(scenario.area, scenario.setup)
    except Unknown as error:
        return Outcome(key, "unknown", diff=[str(error)])
    except ImportError as error:
        return Outcome(key, "differ", diff=[f"the library cannot be imported: {error}"])
    except BaseException as error:
        if isinstance(error, KeyboardInterrupt):
            raise
        return Outcome(key, "differ", diff=[f"the scenario did not run: {_traceback(error)}"])
    try:
        return judge(scenario, actual, read_superseded(superseded, key))
    except PatchError as error:
        return Outcome(key, "differ", diff=[str(error)])
    except Exception as error:
        return Outcome(key, "differ", diff=[f"what is expected cannot be read: {_traceback(error)}"])


def _traceback(error: BaseException) -> str:
    return "".join(traceback.format_exception(error)[-6:]).strip()


def judge(scenario: Scenario, actual: Mapping[str, Json], superseded: Superseded | None) -> Outcome:
    """
    Compare what a run gave with the ruled, and where it is superseded the patched, trace.
    """
    expected = scenario.expected if scenario.verdict == DERIVED else ruled(scenario.expected, scenario.setup)
    if superseded is None:
        found = _differences(expected, actual, scenario.setup)
        return Outcome(scenario.key, "differ" if found else "match", diff=[str(each) for each in found])
    by = superseded.decided_by
    try:
        patched = apply_patch(expected, superseded.patch)
    except PatchError as error:
        return Outcome(scenario.key, "differ", by, [f"superseded by {by}: {error}"])
    found = _differences(patched, actual, scenario.setup)
    if found:
        return Outcome(scenario.key, "differ", by, [f"superseded by {by}, and still:", *map(str, found)])
    if not _differences(expected, actual, scenario.setup):
        return Outcome(scenario.key, "differ", by, ["the patch is not needed any more: the run is as the trace has it"])
    return Outcome(scenario.key, "superseded", by, _spare(expected, actual, scenario.setup, superseded.patch))


def _differences(
    expected: Mapping[str, Json], actual: Mapping[str, Json], setup: Mapping[str, Json]
) -> list[Difference]:
    wanted, run, found = settle(expected, actual, setup)
    return found + compare(wanted, run)


def _spare(
    expected: Mapping[str, Json], actual: Mapping[str, Json], setup: Mapping[str, Json], patch: list[Json]
) -> list[str]:
    """
    Say which operations of a patch are not needed (any more): without them the run is as expected, too.

    They change no verdict: what a rule leaves open may still be said by a decision.
    """
    found: list[str] = []
    for number, operation in enumerate(patch):
        try:
            without = apply_patch(expected, patch[:number] + patch[number + 1 :])
        except PatchError:
            continue
        if not _differences(without, actual, setup):
            found.append(f"operation {number} of the patch is not needed any more: {operation}")
    return found
