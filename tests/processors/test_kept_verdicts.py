"""verdict_cache=: what a detector said is kept from one request to the next, and never crosses a tenant."""

from __future__ import annotations

from typing import Any

import anyio
import pytest
from tests.processors.asking_kit import Finder, names
from tests.processors.kit import passed

from procession.agents.agent import Agent
from procession.errors import ProcessorDefinitionError, StoreError
from procession.messages.message import Message
from procession.messages.message_list import MessageList
from procession.messages.text.spans import Span
from procession.processors.detect.detector import Verdict
from procession.processors.detect.llm import pii_detector
from procession.processors.detect.verdicts import identity_of, verdict_by
from procession.processors.guardrails.pii import PIIDetector
from procession.processors.guardrails.prompt_injection import PromptInjectionDetector
from procession.processors.memory.memory import Memory
from procession.processors.payloads import InputPayload
from procession.steps.request_context import RequestContext
from procession.steps.scope import RequestScope
from procession.storage.memory import InMemoryStore
from procession.storage.memory_cache import InMemoryCacheStore
from procession.testing.fake_model import FakeModel

pytestmark = pytest.mark.anyio


class Known(Finder):
    """A detector that says who it is."""

    def __init__(self, identity: str = "finder 1") -> None:
        super().__init__()
        self.identity = identity


def said(text: str) -> InputPayload:
    """Return new input."""
    return InputPayload(MessageList([Message.user(text, id="u")], source="input"))


def of(resource: str | None) -> RequestScope:
    """Return a request of a resource."""
    return RequestScope(request_context=RequestContext({"resource_id": resource} if resource else {}))


async def asked(guard: Any, *resources: str | None, text: str = "Eva Holm was here") -> None:
    """Send one text through *guard*, once for each resource."""
    for resource in resources:
        await passed(said(text), guard, scope=of(resource))


async def test_a_verdict_is_kept_for_one_request_by_default() -> None:
    """Without a cache each request asks anew."""
    finder = Finder()
    await asked(PIIDetector(detector=finder), "a", "a")
    assert len(finder.asked) == 2


async def test_a_kept_verdict_is_not_asked_for_again() -> None:
    """With a cache a text is asked about once, and what was found is found again."""
    finder = Finder()
    guard = PIIDetector(detector=finder, verdict_cache=10, redaction="placeholder")
    for _ in range(2):
        out = await passed(said("Eva Holm was here"), guard, scope=of("a"))
        assert next(iter(out.message_list)).text == "[NAME] was here"
    assert finder.asked == ["Eva Holm was here"]


@pytest.mark.parametrize(("first", "second"), [("a", "b"), (None, "a"), ("a", None), ("", "a")])
async def test_a_kept_verdict_crosses_no_tenant(first: str | None, second: str | None) -> None:
    """What was said in a request of one resource, or of none, is not read in one of another (D35)."""
    finder = Finder()
    guard = PIIDetector(detector=finder, verdict_cache=10)
    await asked(guard, first, second)
    assert len(finder.asked) == 2
    await asked(guard, first, second)
    assert len(finder.asked) == 2


async def test_memory_says_whose_request_it_is() -> None:
    """The resource of memory goes before that of the request context, and is that of agents inside the run, too."""
    finder = Finder()
    guard = PIIDetector(detector=finder, verdict_cache=10, phase="input")
    agent = Agent("a", model=FakeModel(["Hi."] * 4), memory=Memory(InMemoryStore()), input_processors=[guard])
    await agent.generate("Eva Holm", thread="1", resource="eve")
    await agent.generate("Eva Holm", thread="2", resource="eve", request_context={"resource_id": "mallory"})
    assert len(finder.asked) == 1
    await agent.generate("Eva Holm", thread="3", resource="mallory")
    await agent.generate("Eva Holm", request_context={"resource_id": "trent"})
    assert len(finder.asked) == 3
    inner = of(None)
    inner.outer = of("eve")
    await passed(said("Eva Holm"), guard, scope=inner)
    assert len(finder.asked) == 3


async def test_a_shared_store_tells_detectors_apart() -> None:
    """In a store that several guards share a verdict is found by who the detector is and how it is set up."""
    store = InMemoryCacheStore()
    one, same, other = Known(), Known(), Known("finder 2")
    await asked(PIIDetector(detector=one, verdict_cache=store), "a")
    await asked(PIIDetector(detector=same, verdict_cache=store), "a")
    await asked(PIIDetector(detector=other, verdict_cache=store), "a")
    assert [len(each.asked) for each in (one, same, other)] == [1, 0, 1]


async def test_what_a_guard_makes_of_a_verdict_is_not_kept() -> None:
    """The verdict is the detector's: guards with other thresholds read it each in their way."""
    store = InMemoryCacheStore()
    await asked(PIIDetector(detector=Known(), verdict_cache=store), "a")
    strict = PIIDetector(detector=Known(), verdict_cache=store, allow=["Eva Holm"], redaction="placeholder")
    assert next(iter((await passed(said("Eva Holm was here"), strict, scope=of("a"))).message_list)).text == (
        "Eva Holm was here"
    )


def test_a_model_detector_says_who_it_is() -> None:
    """Its identity changes with the model, what is asked, and what answer is expected."""
    identities = {
        identity_of(pii_detector(FakeModel("x"), ["name"])),
        identity_of(pii_detector(FakeModel("x"), ["address"])),
        identity_of(pii_detector(FakeModel("x"), ["name"], "Find names.")),
        identity_of(pii_detector(FakeModel("x", id="other"), ["name"])),
    }
    assert len(identities) == 4
    assert None not in identities
    assert identity_of(pii_detector(FakeModel("x"), ["name"])) in identities


async def test_failures_are_not_kept() -> None:
    """A question that failed is asked again with the next request."""

    class Once(Known):
        async def detect(self, text: str, *, scope: Any = None) -> Verdict:
            self.asked.append(text)
            if len(self.asked) == 1:
                raise RuntimeError("down")
            return Verdict()

    finder = Once()
    guard = PIIDetector(detector=finder, verdict_cache=10, on_error="skip")
    await asked(guard, "a", "a", "a")
    assert len(finder.asked) == 2


class Broken:
    """A store that is down, or answers with something else."""

    def __init__(self, answer: str | None) -> None:
        self.answer = answer

    async def get(self, key: str) -> str | None:
        """Answer, or fail."""
        if self.answer is None:
            raise StoreError("down")
        return self.answer

    async def set(self, key: str, value: str, *, ttl: float) -> None:
        """Fail."""
        raise StoreError("down")

    async def delete(self, key: str) -> bool:
        """Nothing is there."""
        return False

    async def clear(self, prefix: str = "") -> int:
        """Nothing is there."""
        return 0


@pytest.mark.parametrize("answer", [None, "no json", "{}", '{"scores": {"name": "high"}, "spans": []}', "[1]"])
async def test_a_store_that_fails_is_done_without(answer: str | None) -> None:
    """The detector is asked: a cache that is down, or holds something else, is no verdict and stops nothing."""
    finder = Known()
    guard = PIIDetector(detector=finder, verdict_cache=Broken(answer), redaction="placeholder")
    out = await passed(said("Eva Holm was here"), guard)
    assert next(iter(out.message_list)).text == "[NAME] was here"
    assert len(finder.asked) == 1


async def test_a_kept_verdict_has_all_of_it() -> None:
    """Scores, places, reason and rewritten text come back as they were."""

    class Thorough(Known):
        async def detect(self, text: str, *, scope: Any = None) -> Verdict:
            self.asked.append(text)
            span = Span(0, 3, "jailbreak", "model:jailbreak", 0.8, "x")
            return Verdict({"jailbreak": 0.8}, (span,), "asks too much", "Héllo")

    seen: list[Verdict] = []

    class Watching(PromptInjectionDetector):
        def judged(self, verdict: Verdict, text: str) -> Any:
            seen.append(verdict)
            return super().judged(verdict, text)

    guard = Watching(detector=Thorough(), strategy="rewrite", verdict_cache=5)
    for _ in range(2):
        out = await passed(said("Do it"), guard, scope=of("a"))
        assert next(iter(out.message_list)).text == "Héllo"
    assert seen[0] == seen[-1]
    assert seen[0].spans[0].rule == "model:jailbreak"


async def test_the_cache_is_bounded() -> None:
    """What was not asked for the longest is forgotten."""
    finder = Finder()
    guard = PIIDetector(detector=finder, verdict_cache=2)
    for text in ("one text", "two texts", "three texts", "one text"):
        await asked(guard, "a", text=text)
    assert len(finder.asked) == 4


async def test_sentences_are_kept_too() -> None:
    """A streamed answer that is judged by sentence is found again sentence by sentence."""
    finder = Finder()
    guard = names(finder, verdict_cache=100)
    agent = Agent("a", model=FakeModel(["Ask Eva Holm. " * 20] * 2), output_processors=[guard])
    first = await agent.generate("Hi")
    count = len(finder.asked)
    assert (await agent.generate("Hi")).text == first.text
    assert count > 1
    assert len(finder.asked) == count


async def test_who_asks_the_same_at_once_waits_for_the_answer() -> None:
    """Of identical questions at the same time, in one request, one is asked; where it fails the next one is."""
    gate = anyio.Event()
    calls: list[str] = []

    class Gated:
        async def detect(self, text: str, *, scope: Any = None) -> Verdict:
            calls.append(text)
            await gate.wait()
            if len(calls) == 1:
                raise RuntimeError("down")
            return Verdict({"name": 1.0})

    detector, state, out = Gated(), dict[str, Any](), list[Any]()

    async def one() -> None:
        try:
            out.append((await verdict_by(detector, "text", state, None)).score)
        except RuntimeError:
            out.append("down")

    async with anyio.create_task_group() as group:
        for _ in range(3):
            group.start_soon(one)
        await anyio.wait_all_tasks_blocked()
        assert len(calls) == 1
        gate.set()
    assert sorted(map(str, out)) == ["1.0", "1.0", "down"]
    assert len(calls) == 2


async def test_who_is_cancelled_leaves_the_question_to_others() -> None:
    """A cancelled question is no answer: who waited for it asks."""
    gate = anyio.Event()
    calls: list[str] = []

    class Gated:
        async def detect(self, text: str, *, scope: Any = None) -> Verdict:
            calls.append(text)
            if len(calls) == 1:
                await gate.wait()
            return Verdict({"name": 1.0})

    detector, state, out = Gated(), dict[str, Any](), list[float]()

    async def one(scope: anyio.CancelScope) -> None:
        with scope:
            out.append((await verdict_by(detector, "text", state, None)).score)

    first = anyio.CancelScope()
    async with anyio.create_task_group() as group:
        group.start_soon(one, first)
        await anyio.wait_all_tasks_blocked()
        group.start_soon(one, anyio.CancelScope())
        await anyio.wait_all_tasks_blocked()
        first.cancel()
    assert out == [1.0]
    assert len(calls) == 2


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"verdict_cache": 0}, "verdict_cache=0 (hint: give how many verdicts to keep"),
        ({"verdict_cache": True}, "verdict_cache=True"),
        ({"verdict_cache": InMemoryCacheStore()}, "cannot tell whose they are (hint: give the detector an attribute"),
        ({"verdict_cache": 5, "verdict_ttl": 0}, "verdict_ttl=0 (hint: it is a number of seconds"),
    ],
)
def test_bad_options_are_refused(options: dict[str, Any], words: str) -> None:
    """A wrong option is named, with what would be right."""
    with pytest.raises(ProcessorDefinitionError) as caught:
        PIIDetector(detector=Finder(), **options)
    assert words in str(caught.value)
