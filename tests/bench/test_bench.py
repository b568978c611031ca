"""The benchmarks: that they take time as they say, and that each of them runs."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from bench import targets
from bench.__main__ import FAMILIES, main, select
from bench.harness import Case, Clock, Effort, Round, Time, row, spend
from bench.report import missed, table
from bench.targets import Target, targets_for

if TYPE_CHECKING:
    from collections.abc import Callable

ROOT = Path(__file__).parents[2]

KEYS = {"bench", "variant", "n", "per_op_us", "floor_us", "ratio", "peak_mb"}
"""What every row has."""


class FakeTime:
    """A clock that stands still until work is done; a second of CPU is two of the wall."""

    def __init__(self) -> None:
        self.now = 0.0
        self.calls: list[str] = []
        self.clock = Clock(wall=lambda: self.now, cpu=lambda: self.now / 2)

    def work(self, name: str, *seconds: float) -> Callable[[], Any]:
        """Return work that takes *seconds*, call by call, and the last of them from then on."""
        left = list(seconds)

        async def do() -> None:
            self.calls.append(name)
            self.now += left.pop(0) if len(left) > 1 else left[0]

        return do


def numbers(**changes: Any) -> dict[str, Any]:
    """Return a row of a benchmark that does not exist."""
    return {"bench": "no", "variant": "such", "per_op_us": 2.0, "floor_us": 1.0, "ratio": 2.0, "peak_mb": 1.0} | changes


async def test_work_is_repeated_until_enough_time_has_passed() -> None:
    """What one operation took is the time of all calls, by the calls and by the operations in each."""
    time = FakeTime()
    taken = await spend(time.work("ours", 0.2), 100, 0.5, time.clock)
    assert time.calls == ["ours"] * 3
    assert [round(value) for value in taken] == [1000, 2000]  # of the CPU, and of the wall


async def test_work_is_done_once_where_no_time_is_asked_for() -> None:
    """An effort of no seconds calls the work exactly once."""
    time = FakeTime()
    await spend(time.work("ours", 0.2), 1, 0.0, time.clock)
    assert time.calls == ["ours"]


async def test_floor_and_ours_take_turns() -> None:
    """After a call of each to warm up, a round runs the floor and then ours; one call more measures the memory."""
    time = FakeTime()
    case = Case(bench="no", variant="such", n=1, ours=time.work("ours", 1), floor=time.work("floor", 1))
    await case.run(Effort(2, 0.0, 0.0), time.clock)
    assert time.calls == ["floor", "ours", "floor", "ours", "floor", "ours", "ours"]


async def test_ratio_is_the_median_of_the_rounds_ratios() -> None:
    """A disturbance that hits a whole round leaves its ratio as it was."""
    time = FakeTime()
    ours, floor = time.work("ours", 9, 20, 600, 50), time.work("floor", 9, 10, 100, 10)
    made = await Case(bench="no", variant="such", n=1, ours=ours, floor=floor).run(Effort(3, 0.0, 0.0), time.clock)
    assert made["ratio"] == 5.0  # of 2, 6 and 5
    assert made["per_op_us"] == 50 / 2 * 1e6  # CPU, of 20, 600 and 50
    assert made["wall_us"] == 50 * 1e6
    assert made["floor_us"] == 10 / 2 * 1e6


async def test_a_base_is_taken_off_and_the_rest_shared() -> None:
    """What a part adds is the difference to the same work without it, divided by the number of parts."""
    time = FakeTime()
    case = Case(
        bench="no",
        variant="such",
        n=2,
        ours=time.work("ours", 30),
        ours_base=time.work("ours_base", 10),
        floor=time.work("floor", 5),
        floor_base=time.work("floor_base", 1),
        share=4,
        clock="wall",
    )
    made = await case.run(Effort(1, 0.0, 0.0), time.clock)
    assert made["per_op_us"] == (30 - 10) / 4 / 2 * 1e6
    assert made["floor_us"] == (5 - 1) / 4 / 2 * 1e6
    assert made["ratio"] == 5.0


async def test_a_floor_with_operations_of_its_own_is_compared_per_operation() -> None:
    """The floor may do another number of operations: growth is measured so."""
    time = FakeTime()
    ours, floor = time.work("ours", 100), time.work("floor", 10)
    case = Case(bench="no", variant="such", n=50, ours=ours, floor=floor, floor_n=10, against="less")
    made = await case.run(Effort(1, 0.0, 0.0), time.clock)
    assert made["ratio"] == 2.0
    assert made["against"] == "less"


async def test_memory_is_what_one_call_holds_at_most() -> None:
    """The peak counts what was freed again before the call was over."""

    async def hungry() -> None:
        block = bytearray(8 * 2**20)
        del block

    case = Case(bench="no", variant="such", n=1, ours=hungry, floor=FakeTime().work("floor", 1))
    made = await case.run(Effort(1, 0.0, 0.0))
    assert 8.0 <= made["peak_mb"] < 9.0


def test_a_floor_that_took_no_time_gives_no_ratio() -> None:
    """Where a clock has not moved the ratio is null, and a target for it is not met."""
    made = row("no", "such", 1, [Round(floor=Time(0, 0), ours=Time(1, 1))])
    assert made["ratio"] is None
    assert not Target("no", "such", "ratio", 10).met(made)


def test_targets_are_found_by_pattern(monkeypatch: pytest.MonkeyPatch) -> None:
    """A target holds for every variant that its pattern fits."""
    for_all, for_one, for_none = (Target("no", name, "ratio", 2) for name in ("s*", "such", "other"))
    monkeypatch.setattr(targets, "TARGETS", [for_all, for_one, for_none])
    assert targets_for(numbers()) == [for_all, for_one]


@pytest.mark.parametrize("family", FAMILIES)
def test_every_target_is_for_a_benchmark(family: str) -> None:
    """No target waits for a benchmark that does not exist."""
    names = [{"bench": each.bench, "variant": each.variant} for each in select([family])]
    found = {target for name in names for target in targets_for(name)}
    assert found == {target for target in targets.TARGETS if target.bench == family}


def test_table_says_what_is_met(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each target has a line of the table with a yes or a NO, and a row that misses one is named."""
    monkeypatch.setattr(targets, "TARGETS", [Target("no", "*", "ratio", 2), Target("no", "bad", "added_ms", 1.5)])
    rows = [numbers(), numbers(variant="bad", added_ms=1.75), numbers(bench="free")]
    assert [line.split() for line in table(rows).splitlines()] == [
        ["benchmark", "us/op", "floor", "ratio", "peak", "MB", "target", "met"],
        ["no.such", "2.00", "1.00", "2.00", "1.00", "<=", "2x", "yes"],
        ["no.bad", "2.00", "1.00", "2.00", "1.00", "<=", "2x", "yes"],
        ["no.bad", "2.00", "1.00", "2.00", "1.00", "added_ms", "1.75", "<=", "1.5", "ms", "NO"],
        ["free.such", "2.00", "1.00", "2.00", "1.00"],
    ]
    assert missed(rows) == ["no.bad"]


@pytest.mark.parametrize("family", FAMILIES)
def test_every_benchmark_runs(family: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Each benchmark of the family does its work, and prints a line with what is promised."""
    file = tmp_path / "rows.json"
    assert main([family, "--quick", "--json", str(file)]) == 0
    printed = capsys.readouterr()
    rows = [json.loads(line) for line in printed.out.splitlines()]
    assert [(made["bench"], made["variant"]) for made in rows] == [
        (each.bench, each.variant) for each in select([family])
    ]
    assert [sorted(KEYS - made.keys()) for made in rows] == [[]] * len(rows)
    assert json.loads(file.read_text("utf-8")) == rows
    assert printed.err.strip() == table(rows, targets=False)


def test_check_tells_of_a_missed_target(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    """With --check the exit status is 1 where a target is missed, and the benchmark is named."""
    monkeypatch.setattr(targets, "TARGETS", [Target("workflow", "build_10", "per_op_us", 0)])
    assert main(["workflow.build_10", "--quick", "--check"]) == 1
    assert "missed: workflow.build_10" in capsys.readouterr().err
    monkeypatch.setattr(targets, "TARGETS", [])
    assert main(["workflow.build_10", "--quick", "--check"]) == 0


def test_one_quick_round_is_held_to_no_target(capsys: pytest.CaptureFixture[str]) -> None:
    """--quick shows that a benchmark runs, not how fast: its table has no targets and says of none that it is met."""
    assert main(["workflow.build_10", "--quick"]) == 0
    assert capsys.readouterr().err.split()[:7] == [
        "benchmark",
        "us/op",
        "floor",
        "ratio",
        "peak",
        "MB",
        "workflow.build_10",
    ]


def test_a_variant_may_be_asked_for_alone() -> None:
    """A bare variant, or else its beginning up to an underscore, is looked for in every family."""
    assert [each.variant for each in select(["chain_100"])] == ["chain_100"]
    assert {(each.bench, each.variant) for each in select(["workflow.chain_*"])} == {
        (each.bench, each.variant) for each in select(["chain"])
    }
    assert {each.bench for each in select(["growth_*"])} == {"workflow", "stream", "loop"}
    assert [each.variant for each in select(["workflow.chain_100_def"])] == ["chain_100_def"]


def test_a_reader_that_goes_away_ends_it_quietly() -> None:
    """``--list | head`` ends with status 141 and no traceback."""
    reader, writer = os.pipe()
    os.close(reader)
    try:
        done = subprocess.run(
            [sys.executable, "-m", "bench", "many", "--list"],
            stdout=writer,
            stderr=subprocess.PIPE,
            cwd=ROOT,
            timeout=50,
            check=False,
        )
    finally:
        os.close(writer)
    assert (done.returncode, done.stderr) == (141, b"")


def test_names_are_listed(capsys: pytest.CaptureFixture[str]) -> None:
    """--list prints the names that may be asked for, and measures nothing."""
    assert main(["many", "--list"]) == 0
    assert capsys.readouterr().out.splitlines() == ["many.runs_1000"]


@pytest.mark.parametrize(
    ("name", "told"), [("worflow", "there are workflow"), ("stream.no", "it has"), ("imports.bear", "it has bare")]
)
def test_an_unknown_name_is_refused(name: str, told: str, capsys: pytest.CaptureFixture[str]) -> None:
    """A name that is no benchmark's ends with status 2 and the names that are."""
    with pytest.raises(SystemExit) as ended:
        main([name])
    assert ended.value.code == 2
    assert told in capsys.readouterr().err
