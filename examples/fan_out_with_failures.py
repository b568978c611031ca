"""Many items at a time, of which some fail: tried again, collected, reported.  Run it: python examples/fan_out_with_failures.py"""

import anyio

from procession import RetryPolicy, StepContext, create_workflow, run_sync, step
from procession.steps.item_error import ItemError
from procession.workflows.sources import from_init_data
from procession.workflows.template import template

SHOPS = {"north": 120, "south": 80, "west": 55}


@step(retry=RetryPolicy(3, initial=0.01, retry_on=(ConnectionError,)), timeout=1)
async def takings(ctx: StepContext[str]) -> int:
    await anyio.sleep(0.01)  # asks the shop
    if ctx.input == "south" and ctx.attempt < 3:
        raise ConnectionError("the line is down")  # tried again, and then it works
    return SHOPS[ctx.input]  # nobody knows the shop "east": that is not tried again


@step
def add_up(ctx: StepContext[list[int | ItemError]]) -> dict[str, str]:
    missing = [each for each in ctx.input if isinstance(each, ItemError)]
    return {
        "sum": str(sum(each for each in ctx.input if not isinstance(each, ItemError))),
        "missing": ", ".join(f"{each.path} ({each.type})" for each in missing) or "none",
    }


report = (
    create_workflow("report", list[str])
    .foreach(takings, concurrency=2, on_error="collect")
    .then(add_up)
    .map(
        {
            "shops": from_init_data(),
            "text": template("${step.add_up.sum} euros; missing: ${step.add_up.missing}"),
        }
    )
    .commit()
)

if __name__ == "__main__":
    result = run_sync(report, ["north", "east", "south", "west"])
    print(result.unwrap()["text"])
    for path, record in result.steps.items():
        print(f"  {path:12} {record.status:8} attempt {record.attempt}")
