"""Threads and the reading of their messages: what every store of conversations promises."""

from __future__ import annotations

from datetime import datetime, timedelta, timezone

import pytest
from tests.storage.conversations import NOON, Conversations, passages, refs, said, texts
from tests.storage.journals import Clock

from procession.errors import InputError
from procession.messages.message import Message
from procession.storage.threads import MessageRef


async def ids(store: Conversations, resource_id: str = "ada") -> list[str]:
    """Return the ids of a resource's threads."""
    return [thread.id for thread in (await store.threads(resource_id)).threads]


async def test_nothing_is_there_before_the_first_save(conversations: Conversations) -> None:
    """A thread that nothing was ever saved in is none, has no messages, and cannot be changed."""
    assert await conversations.thread("t") is None
    assert await conversations.messages("t") == []
    assert await conversations.update_thread("t", "ada", title="Mine") is None
    assert await conversations.thread("t") is None


async def test_a_thread_says_whose_it_is_and_when(conversations: Conversations, clock: Clock) -> None:
    """It has the id, the resource and the time of the first save, with a zone, and no title or metadata by itself."""
    await conversations.save("t", "ada", [said("Hi")])
    made = await conversations.thread("t", resource_id="ada")
    assert made is not None
    assert (made.id, made.resource_id, made.title, made.metadata) == ("t", "ada", None, None)
    assert made.created_at.tzinfo is not None
    assert made.created_at == made.updated_at
    clock.now += 60
    await conversations.save("t", "ada", [said("More", 1)])
    later = await conversations.thread("t")
    assert later is not None
    assert later.created_at == made.created_at
    assert later.updated_at - made.updated_at == timedelta(seconds=60)


async def test_for_another_resource_a_thread_is_not_there(conversations: Conversations) -> None:
    """Whoever names another resource finds neither the thread nor a message, and changes nothing (D35)."""
    await conversations.save("t", "ada", [said("Hi", id="m")], title="Secret")
    assert await conversations.thread("t", resource_id="bob") is None
    assert await conversations.messages("t", resource_id="bob") == []
    assert await conversations.messages("t", resource_id="bob", last=1) == []
    assert await conversations.messages("t", resource_id="bob", before="m") == []
    assert await conversations.around(refs("t", "m"), resource_id="bob", before=1, after=1) == []
    assert await conversations.update_thread("t", "bob", title="Mine", metadata={"a": 1}) is None
    assert (await conversations.threads("bob")).threads == ()
    thread = await conversations.thread("t", resource_id="ada")
    assert thread is not None
    assert (thread.title, thread.metadata) == ("Secret", None)
    assert texts(await conversations.messages("t", resource_id="ada")) == ["Hi"]


async def test_threads_that_were_used_last_come_first(conversations: Conversations, clock: Clock) -> None:
    """Saving in a thread, and changing its title or metadata, is using it, also within one moment."""
    for name in "abc":
        await conversations.save(name, "ada", [said("Hi")])
    await conversations.save("d", "bob", [said("Hi")])
    assert await ids(conversations) == ["c", "b", "a"]
    clock.now += 1
    await conversations.save("a", "ada", [said("More", 1)])
    assert await ids(conversations) == ["a", "c", "b"]
    await conversations.update_thread("b", "ada", title="B")
    assert await ids(conversations) == ["b", "a", "c"]
    await conversations.update_thread("c", "ada", metadata={"n": 1})
    assert await ids(conversations) == ["c", "b", "a"]
    assert await ids(conversations, "bob") == ["d"]


async def test_reading_is_not_using(conversations: Conversations, clock: Clock) -> None:
    """What is read, deleted from, or given nothing new keeps its place and its time."""
    for name in "ab":
        await conversations.save(name, "ada", [said("Hi", id="m"), said("gone")])
    before = await conversations.thread("a")
    clock.now += 60
    await conversations.messages("a")
    await conversations.around(refs("a", "m"), resource_id="ada")
    assert await conversations.update_thread("a", "ada") == before
    await conversations.delete_messages("a", "ada", ["gone"])
    await conversations.save("a", "ada", [])
    assert await conversations.thread("a") == before
    assert await ids(conversations) == ["b", "a"]


async def test_pages_have_every_thread_once(conversations: Conversations) -> None:
    """Page by page all threads come, in order; the last page names no other, also where it is full."""
    for number in range(7):
        await conversations.save(f"t{number}", "ada", [said("Hi")])
    for limit, pages in ((3, 3), (7, 1), (100, 1), (1, 7)):
        found: list[str] = []
        cursor: str | None = None
        for _ in range(pages):
            page = await conversations.threads("ada", limit=limit, cursor=cursor)
            found += [thread.id for thread in page.threads]
            cursor = page.following
        assert found == ["t6", "t5", "t4", "t3", "t2", "t1", "t0"]
        assert cursor is None


async def test_pages_while_others_write(conversations: Conversations) -> None:
    """Threads that come, go and are used between two pages take away none of the others, and none comes twice."""
    for number in range(9):
        await conversations.save(f"t{number}", "ada", [said("Hi")])
    page = await conversations.threads("ada", limit=3)
    found = [thread.id for thread in page.threads]
    assert found == ["t8", "t7", "t6"]
    await conversations.save("new", "ada", [said("Hi")])
    await conversations.save("t7", "ada", [said("again", 1)])  # it was on the page
    await conversations.save("t1", "ada", [said("again", 1)])  # it is on none yet
    await conversations.delete_thread("t6", "ada")  # the page ended with it
    await conversations.delete_thread("t3", "ada")
    while page.following is not None:
        page = await conversations.threads("ada", limit=3, cursor=page.following)
        found += [thread.id for thread in page.threads]
    assert found == ["t8", "t7", "t6", "t5", "t4", "t2", "t0"]


async def test_a_page_that_cannot_be(conversations: Conversations) -> None:
    """A limit below one, and a cursor that no page has given, are refused."""
    await conversations.save("t", "ada", [said("Hi")])
    for limit in (0, -1):
        with pytest.raises(InputError, match=f"limit is {limit}"):
            await conversations.threads("ada", limit=limit)
    for cursor in ("", "next", "-1", "1 OR 1", "9" * 40):
        with pytest.raises(InputError, match="cursor is"):
            await conversations.threads("ada", cursor=cursor)


async def test_a_thread_is_given_another_title(conversations: Conversations, clock: Clock) -> None:
    """Title and metadata are put in place of what was there, each by itself, and ``None`` takes them away."""
    await conversations.save("t", "ada", [said("Hi")], title="First", metadata={"a": 1, "b": [1]})
    made = await conversations.thread("t")
    clock.now += 5
    changed = await conversations.update_thread("t", "ada", title="Second")
    assert changed is not None
    assert (changed.title, changed.metadata) == ("Second", {"a": 1, "b": [1]})
    assert made is not None
    assert changed.updated_at - made.updated_at == timedelta(seconds=5)
    assert changed == await conversations.thread("t")
    changed = await conversations.update_thread("t", "ada", metadata={"c": {"d": None}})
    assert changed is not None
    assert (changed.title, changed.metadata) == ("Second", {"c": {"d": None}})
    changed = await conversations.update_thread("t", "ada", title=None, metadata=None)
    assert changed is not None
    assert (changed.title, changed.metadata) == (None, None)
    assert changed == await conversations.thread("t")


async def test_a_title_for_a_thread_that_has_none(conversations: Conversations, clock: Clock) -> None:
    """Whoever gives a title only where there is none writes over none, and then changes nothing else either."""
    assert await conversations.update_thread("t", "ada", title="Made up", only_without_title=True) is None
    await conversations.save("t", "ada", [said("Hi")])
    assert await conversations.update_thread("t", "bob", title="His", only_without_title=True) is None
    changed = await conversations.update_thread("t", "ada", title="First", only_without_title=True)
    assert changed is not None
    assert changed.title == "First"
    clock.now += 5
    refused = await conversations.update_thread("t", "ada", title="Late", metadata={"a": 1}, only_without_title=True)
    assert refused is None
    assert await conversations.thread("t") == changed


async def test_messages_stand_in_the_order_of_their_times(conversations: Conversations) -> None:
    """They are read oldest first, in whatever order they were saved."""
    await conversations.save("t", "ada", [said("third", 3), said("first", 1)])
    await conversations.save("t", "ada", [said("second", 2), said("fourth", 3.00001)])
    assert texts(await conversations.messages("t")) == ["first", "second", "third", "fourth"]


async def test_messages_of_one_time_stand_as_they_were_saved(conversations: Conversations) -> None:
    """Those of one moment keep the order in which they were saved, also when one is saved anew."""
    await conversations.save("t", "ada", [said(name) for name in "cab"])
    await conversations.save("t", "ada", [said(name) for name in "fd"])
    await conversations.save("t", "ada", [said("A", id="a")])
    assert texts(await conversations.messages("t")) == ["c", "A", "b", "f", "d"]
    assert texts(await conversations.messages("t", last=3)) == ["b", "f", "d"]
    assert texts(await conversations.messages("t", before="b")) == ["c", "A"]


async def test_times_are_compared_across_zones(conversations: Conversations) -> None:
    """A moment is the same in every zone, and a time without one is of UTC; what comes back has the time as it was."""
    east, west = timezone(timedelta(hours=9)), timezone(timedelta(hours=-8))
    messages = [
        said("second").replace(created_at=datetime(2026, 1, 1, 12, 0, 1, tzinfo=timezone(timedelta(0)))),
        said("third").replace(created_at=datetime(2026, 1, 1, 21, 0, 2, tzinfo=east)),
        said("first").replace(created_at=datetime(2026, 1, 1, 12)),
        said("fourth").replace(created_at=datetime(2026, 1, 1, 4, 0, 3, tzinfo=west)),
    ]
    await conversations.save("t", "ada", messages)
    found = await conversations.messages("t")
    assert texts(found) == ["first", "second", "third", "fourth"]
    assert {message.id: message for message in found} == {message.id: message for message in messages}


@pytest.mark.parametrize(("last", "expected"), [(None, 5), (0, 0), (1, 1), (4, 4), (5, 5), (9, 5)])
async def test_only_the_newest_are_read(conversations: Conversations, last: int | None, expected: int) -> None:
    """With ``last`` only so many of the newest messages are read, oldest first."""
    await conversations.save("t", "ada", [said(str(minute), minute) for minute in range(5)])
    await conversations.save("other", "ada", [said("newer", 9)])
    assert texts(await conversations.messages("t", last=last)) == ["0", "1", "2", "3", "4"][5 - expected :]


@pytest.mark.parametrize(
    ("before", "last", "expected"),
    [
        ("3", None, ["0", "1", "2"]),
        ("3", 2, ["1", "2"]),
        ("3", 0, []),
        ("3", 9, ["0", "1", "2"]),
        ("0", None, []),
        ("0", 2, []),
        ("nowhere", None, []),
        ("nowhere", 2, []),
        ("elsewhere", None, []),
    ],
)
async def test_only_what_stands_before_a_message_is_read(
    conversations: Conversations, before: str, last: int | None, expected: list[str]
) -> None:
    """With ``before`` only what stands before it, and nothing where it is not of this thread."""
    await conversations.save("t", "ada", [said(str(minute), minute) for minute in range(5)])
    await conversations.save("other", "ada", [said("elsewhere", 9)])
    assert texts(await conversations.messages("t", before=before, last=last)) == expected


async def test_fewer_than_none_cannot_be_read(conversations: Conversations) -> None:
    """A number below nought is refused: a store may take it for all there are."""
    await conversations.save("t", "ada", [said("Hi")])
    with pytest.raises(InputError, match="last is -1"):
        await conversations.messages("t", last=-1)
    with pytest.raises(InputError, match="before is -1"):
        await conversations.around(refs("t", "Hi"), resource_id="ada", before=-1)
    with pytest.raises(InputError, match="after is -2"):
        await conversations.around(refs("t", "Hi"), resource_id="ada", after=-2)


async def test_messages_around_what_was_found(conversations: Conversations) -> None:
    """Each comes with so many before and after it, in order, each once, a passage for each thread."""
    await conversations.save("t", "ada", [said(str(number), number) for number in range(10)])
    await conversations.save("u", "ada", [said(f"u{number}", number) for number in range(3)])

    async def around(found: list[MessageRef], before: int, after: int) -> dict[str, list[str]]:
        return passages(await conversations.around(found, resource_id="ada", before=before, after=after))

    assert await around(refs("t", "4"), 0, 0) == {"t": ["4"]}
    assert await around(refs("t", "4"), 2, 1) == {"t": ["2", "3", "4", "5"]}
    assert await around(refs("t", "5", "4", "4", "9", "0"), 1, 1) == {"t": ["0", "1", "3", "4", "5", "6", "8", "9"]}
    assert await around(refs("u", "u1") + refs("t", "9"), 0, 5) == {"u": ["u1", "u2"], "t": ["9"]}
    assert await around([], 3, 3) == {}


async def test_of_one_time_those_around_are_told_apart(conversations: Conversations) -> None:
    """Also among messages of one moment what stands before and after is exactly that."""
    await conversations.save("t", "ada", [said(name) for name in "gfedcba"])
    found = await conversations.around(refs("t", "d"), resource_id="ada", before=1, after=2)
    assert passages(found) == {"t": ["e", "d", "c", "b"]}


async def test_what_was_found_and_is_not_there_is_left_out(conversations: Conversations) -> None:
    """Messages that are not there, or no longer, and threads of others are left out; a passage names its thread."""
    await conversations.save("t", "ada", [said("a"), said("b", 1), said("c", 2)], title="Ada's")
    await conversations.save("u", "bob", [said("x")])
    await conversations.delete_messages("t", "ada", ["b"])
    found = [*refs("t", "a", "b", "no"), *refs("u", "x", "a"), *refs("nowhere", "a")]
    own = await conversations.around(found, resource_id="ada", before=5, after=5)
    assert passages(own) == {"t": ["a", "c"]}
    assert own[0].thread == await conversations.thread("t")
    assert passages(await conversations.around(refs("t", "b"), resource_id="ada", after=1)) == {}
    everyones = await conversations.around(found, resource_id=None)  # somebody has asked for it in so many words (D35)
    assert passages(everyones) == {"t": ["a"], "u": ["x"]}


async def test_what_was_read_is_the_readers_own(conversations: Conversations) -> None:
    """Changing the list that was read changes nothing in the store."""
    await conversations.save("t", "ada", [said("Hi")])
    (await conversations.messages("t")).clear()
    assert len(await conversations.messages("t")) == 1


@pytest.mark.parametrize("odd", ["half \ud800", '{"\udfff', "\0", "procession:json:1"])
async def test_what_is_said_may_be_any_text(conversations: Conversations, odd: str) -> None:
    """In messages, titles and metadata: half of a character loses no turn."""
    message = said(odd, id="m").with_metadata(odd=odd)
    await conversations.save("t", "ada", [message], title=odd, metadata={odd: odd})
    assert await conversations.messages("t") == [message]
    thread = await conversations.thread("t")
    assert thread is not None and (thread.title, thread.metadata) == (odd, {odd: odd})
    changed = await conversations.update_thread("t", "ada", title=f"{odd}!", metadata={"is": odd})
    assert changed is not None and (changed.title, changed.metadata) == (f"{odd}!", {"is": odd})
    assert changed == await conversations.thread("t")


@pytest.mark.parametrize("much", [(1 << 63) - 1, 1 << 63, 10**30])
async def test_more_than_there_can_be(conversations: Conversations, much: int) -> None:
    """Whoever asks for more than any store can count gets all there is."""
    await conversations.save("t", "ada", [said("a"), said("b", 1), said("c", 2)], indexes=["i"])
    assert texts(await conversations.messages("t", last=much)) == ["a", "b", "c"]
    assert texts(await conversations.messages("t", last=much, before="c")) == ["a", "b"]
    assert [thread.id for thread in (await conversations.threads("ada", limit=much)).threads] == ["t"]
    found = await conversations.around(refs("t", "b"), resource_id="ada", before=much, after=much)
    assert passages(found) == {"t": ["a", "b", "c"]}
    assert len(await conversations.take("i", limit=much, seconds=60)) == 3


async def test_very_many_messages_at_once(conversations: Conversations) -> None:
    """Tens of thousands that were found, are saved or deleted are no too many."""
    many = [f"m{number}" for number in range(40_000)]
    await conversations.save("t", "ada", [said("a"), said("b", 1)])
    found = await conversations.around([*refs("t", *many), *refs("t", "b")], resource_id="ada", before=1)
    assert passages(found) == {"t": ["a", "b"]}
    assert await conversations.delete_messages("t", "ada", [*many, *many, "a"]) == 1


async def test_the_oldest_and_the_newest_time(conversations: Conversations) -> None:
    """Every time that Python knows can be kept."""
    first = Message.user("first").replace(created_at=datetime.min.replace(tzinfo=NOON.tzinfo))
    last = Message.user("last").replace(created_at=datetime.max.replace(tzinfo=NOON.tzinfo))
    await conversations.save("t", "ada", [last, said("now"), first])
    assert texts(await conversations.messages("t")) == ["first", "now", "last"]
