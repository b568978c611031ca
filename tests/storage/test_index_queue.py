"""What is still to be embedded: what every store that keeps it promises."""

from __future__ import annotations

import anyio
import pytest
from tests.storage.conversations import Conversations, refs, said
from tests.storage.journals import Clock

from procession.errors import InputError
from procession.storage.index_queue import ToIndex
from procession.storage.threads import MessageRef


def names(items: list[ToIndex]) -> list[str]:
    """Return what the messages say."""
    return [item.message.text for item in items]


async def test_messages_are_noted_as_they_are_saved(conversations: Conversations) -> None:
    """Each message of a save is noted for each index, and for no other, with all that is to be known of it."""
    message = said("Hi")
    await conversations.save("t", "ada", [message], indexes=["i", "j"])
    await conversations.save("t", "ada", [said("unnoted", 1)])
    for index, number in (("i", 1), ("j", 1), ("k", 0)):
        assert await conversations.waiting(index) == number
    (item,) = await conversations.take("i", limit=9, seconds=30)
    assert (item.thread_id, item.resource_id, item.message) == ("t", "ada", message)
    assert item.ref == MessageRef("t", "Hi")
    assert names(await conversations.take("j", limit=9, seconds=30)) == ["Hi"]
    assert await conversations.take("k", limit=9, seconds=30) == []


async def test_the_oldest_are_taken_first(conversations: Conversations) -> None:
    """Messages are taken in the order in which they were noted, across threads, up to the limit; one noted anew is new."""
    await conversations.save("t", "ada", [said("1", 9), said("2", 1)], indexes=["i"])
    await conversations.save("u", "bob", [said("3", 0)], indexes=["i"])
    await conversations.save("t", "ada", [said("4", 2), said("1", 9)], indexes=["i"])
    assert await conversations.take("i", limit=0, seconds=30) == []
    assert names(await conversations.take("i", limit=2, seconds=30)) == ["2", "3"]
    assert names(await conversations.take("i", limit=9, seconds=30)) == ["4", "1"]
    with pytest.raises(InputError, match="limit is -1"):
        await conversations.take("i", limit=-1, seconds=30)


async def test_what_is_taken_is_kept_from_others(conversations: Conversations, clock: Clock) -> None:
    """Nobody else takes it until its time is over: then it can be taken again, as after a crash."""
    await conversations.save("t", "ada", [said("a"), said("b", 1)], indexes=["i"])
    taken = await conversations.take("i", limit=1, seconds=30)
    clock.now += 10
    assert names(await conversations.take("i", limit=9, seconds=30)) == ["b"]
    assert await conversations.take("i", limit=9, seconds=30) == []
    assert await conversations.waiting("i") == 2
    clock.now += 20
    assert await conversations.take("i", limit=9, seconds=30) == taken
    clock.now += 10
    assert names(await conversations.take("i", limit=9, seconds=30)) == ["b"]


async def test_of_many_who_take_each_gets_others(conversations: Conversations) -> None:
    """No message is taken by two."""
    await conversations.save("t", "ada", [said(str(number), number) for number in range(30)], indexes=["i"])
    taken: list[str] = []

    async def one() -> None:
        while items := await conversations.take("i", limit=4, seconds=30):
            taken.extend(names(items))

    async with anyio.create_task_group() as group:
        for _ in range(5):
            group.start_soon(one)
    assert sorted(taken, key=int) == [str(number) for number in range(30)]


async def test_what_is_done_is_taken_out(conversations: Conversations, clock: Clock) -> None:
    """What was embedded waits no longer, and is done for that index alone."""
    await conversations.save("t", "ada", [said("a"), said("b", 1)], indexes=["i", "j"])
    taken = await conversations.take("i", limit=1, seconds=30)
    assert await conversations.done("i", taken) == []
    assert [await conversations.waiting(index) for index in "ij"] == [1, 2]
    clock.now += 60
    assert names(await conversations.take("i", limit=9, seconds=30)) == ["b"]
    assert await conversations.done("i", taken) == []
    assert await conversations.done("nothing", taken) == []
    assert await conversations.done("i", []) == []


async def test_who_was_too_slow_is_still_done(conversations: Conversations, clock: Clock) -> None:
    """What was embedded after its time was over, or twice, is done."""
    await conversations.save("t", "ada", [said("a")], indexes=["i"])
    first = await conversations.take("i", limit=1, seconds=30)
    clock.now += 30
    second = await conversations.take("i", limit=1, seconds=30)
    assert await conversations.done("i", first) == []
    assert await conversations.waiting("i") == 0
    assert await conversations.done("i", second) == []


async def test_what_is_saved_anew_is_not_done(conversations: Conversations) -> None:
    """A message that was saved since it was taken stays, with a higher revision, and can be taken at once."""
    await conversations.save("t", "ada", [said("old", id="m")], indexes=["i"])
    old = await conversations.take("i", limit=1, seconds=30)
    await conversations.save("t", "ada", [said("new", id="m")], indexes=["i"])
    assert await conversations.done("i", old) == []
    new = await conversations.take("i", limit=1, seconds=30)
    assert names(new) == ["new"]
    assert new[0].revision > old[0].revision
    await conversations.release("i", old)  # of what it was: nothing is let go
    assert await conversations.take("i", limit=1, seconds=30) == []
    assert await conversations.done("i", new) == []
    assert await conversations.waiting("i") == 0


async def test_a_message_that_was_done_is_noted_again(conversations: Conversations) -> None:
    """What is saved anew after it was done waits again, and its revision has grown."""
    await conversations.save("t", "ada", [said("old", id="m")], indexes=["i"])
    old = await conversations.take("i", limit=1, seconds=30)
    await conversations.done("i", old)
    await conversations.save("t", "ada", [said("new", id="m")], indexes=["i"])
    new = await conversations.take("i", limit=1, seconds=30)
    assert names(new) == ["new"]
    assert new[0].revision > old[0].revision


async def test_what_was_deleted_meanwhile_is_told(conversations: Conversations) -> None:
    """Messages that were deleted while they were embedded are told: by themselves, with their thread, with their resource."""
    for thread_id, resource_id in (("t", "ada"), ("u", "ada"), ("v", "bob"), ("w", "eve")):
        await conversations.save(thread_id, resource_id, [said("a"), said("b", 1)], indexes=["i"])
    taken = await conversations.take("i", limit=99, seconds=30)
    await conversations.delete_messages("t", "ada", ["b"])
    await conversations.delete_thread("u", "ada")
    await conversations.delete_resource("bob")
    gone = await conversations.done("i", taken)
    assert sorted(gone, key=repr) == sorted([*refs("t", "b"), *refs("u", "a", "b"), *refs("v", "a", "b")], key=repr)
    assert await conversations.waiting("i") == 0


async def test_what_was_deleted_and_made_anew_waits(conversations: Conversations) -> None:
    """A thread of the same name that came meanwhile is not done, and its message is not told as gone."""
    await conversations.save("t", "ada", [said("old", id="m")], indexes=["i"])
    taken = await conversations.take("i", limit=1, seconds=30)
    await conversations.delete_thread("t", "ada")
    await conversations.save("t", "ada", [said("new", id="m")], indexes=["i"])
    assert await conversations.done("i", taken) == []
    assert names(await conversations.take("i", limit=1, seconds=30)) == ["new"]
    await conversations.delete_thread("t", "ada")
    await conversations.save("t", "bob", [said("bob's", id="m")], indexes=["i"])
    assert await conversations.done("i", taken) == refs("t", "m")  # of ada's there is none
    assert names(await conversations.take("i", limit=1, seconds=30)) == ["bob's"]


async def test_what_is_released_can_be_taken(conversations: Conversations) -> None:
    """What could not be embedded is let go before its time is over; what is not there is let be."""
    await conversations.save("t", "ada", [said("a"), said("b", 1)], indexes=["i"])
    taken = await conversations.take("i", limit=2, seconds=30)
    await conversations.release("i", taken[:1])
    await conversations.release("nothing", taken)
    assert await conversations.take("i", limit=9, seconds=30) == taken[:1]
    await conversations.done("i", taken)
    await conversations.release("i", taken)
    assert await conversations.take("i", limit=9, seconds=30) == []


async def test_everything_is_noted_for_an_index(conversations: Conversations, clock: Clock) -> None:
    """Every message is noted, those that wait already once, and are counted; what somebody has taken stays taken."""
    await conversations.save("t", "ada", [said("a"), said("b", 1)], indexes=["i"])
    await conversations.save("u", "bob", [said("c"), said("d", 1)])
    taken = await conversations.take("i", limit=1, seconds=30)
    assert await conversations.note_all("i") == 4
    assert await conversations.waiting("i") == 4
    assert sorted(names(await conversations.take("i", limit=9, seconds=30))) == ["b", "c", "d"]
    assert await conversations.done("i", taken) == []
    assert await conversations.note_all("i") == 4
    assert await conversations.note_all("new") == 4
    clock.now += 60
    assert sorted(names(await conversations.take("new", limit=9, seconds=30))) == ["a", "b", "c", "d"]


async def test_indexes_are_known_by_name(conversations: Conversations) -> None:
    """The names come in the order in which anything was first noted for them, and stay when all of it is done."""
    assert list(await conversations.indexes()) == []
    await conversations.save("t", "ada", [said("a")], indexes=["z"])
    await conversations.note_all("b")
    await conversations.save("t", "ada", [said("a")], indexes=["a", "z"])
    assert list(await conversations.indexes()) == ["z", "b", "a"]
    await conversations.done("z", await conversations.take("z", limit=9, seconds=30))
    await conversations.delete_resource("ada")
    assert list(await conversations.indexes()) == ["z", "b", "a"]


async def test_an_index_is_dropped(conversations: Conversations) -> None:
    """What waits for it goes, and its name, as if there had never been one; other indexes, and messages, stay."""
    await conversations.save("t", "ada", [said("a"), said("b", 1)], indexes=["i", "j"])
    taken = await conversations.take("i", limit=1, seconds=30)
    assert await conversations.drop_index("i") == 2
    assert await conversations.drop_index("i") == 0
    assert list(await conversations.indexes()) == ["j"]
    assert await conversations.waiting("i") == 0
    assert await conversations.waiting("j") == 2
    assert await conversations.done("i", taken) == []
    assert await conversations.note_all("i") == 2
    assert list(await conversations.indexes()) == ["j", "i"]
