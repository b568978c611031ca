"""
Reconcile: what a hook returned or edited in place becomes the message list's.
"""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from itertools import pairwise
from typing import TYPE_CHECKING, Any

from procession.errors import MessageError
from procession.messages.convert import Incoming, read_messages
from procession.messages.draft import MessageDraft
from procession.messages.edits import apply_edits, diff_message
from procession.messages.message import Message, Moment, SystemMessage
from procession.messages.shapes import is_items

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable

    from procession.messages.message_list import MessageList

__all__ = ["commit_drafts", "reconcile"]

_TICK = timedelta(microseconds=1)


def commit_drafts(message_list: MessageList, drafts: Iterable[MessageDraft]) -> bool:
    """
    Take over what was edited in place in *drafts*; tells whether there was anything.

    A draft whose message is gone by now gives way.  Where the message was replaced as well, both changes hold.
    """
    before = message_list.version
    for draft in drafts:
        if draft.__dict__:
            known = message_list.get_by_id(draft.original.id)
            if known is not None:
                message_list.replace(_settled(known, draft))
    return message_list.version != before


def reconcile(message_list: MessageList, shown_ids: Collection[str], returned: Any, default_source: str) -> bool:
    """
    Let *message_list* hold what a hook *returned* in place of the messages it was shown; tells whether that differs.

    Shown messages that are missing in *returned* go; those it was never shown stay.  The same object keeps its
    place, a changed one its place and source, a new one stands where it was returned and has *default_source*.  The
    order of *returned* holds (D8): where times disagree they are moved.  Role ``system`` becomes a system message.

    Raises ``MessageError`` for what cannot be read as a message.
    """
    given: list[Any] = list(returned) if is_items(returned) else [returned]
    if _as_shown(message_list, shown_ids, given):
        return False
    before = message_list.version
    wanted: dict[str, Incoming] = {}
    for one in given:
        if one.__class__ is MessageDraft:
            known = message_list.get_by_id(one.original.id)
            one = one.freeze() if known is None else _settled(known, one)
        if one.__class__ is Message and one.role != "system":
            wanted[one.id] = Incoming(one, fluid=one.created_at.__class__ is Moment)
            continue
        for read in read_messages(one):
            if isinstance(read, SystemMessage):
                message_list.add_system(read)
            else:
                wanted[read.message.id] = read
    gone = [message_id for message_id in shown_ids if message_id not in wanted]
    if gone:
        message_list.remove(gone)
    view = list(message_list.view())
    current = {message.id: at for at, message in enumerate(view)}
    places = [current[message_id] for message_id in wanted if message_id in current]
    ordered = all(a < b for a, b in pairwise(places))
    if ordered and len(places) == len(wanted):
        for message_id, one in wanted.items():
            known = view[current[message_id]]
            if one.message is not known:
                untimed = one.fluid or not one.timed
                made = one.message.replace(created_at=known.created_at) if untimed else one.message
                message_list.replace(made if made != known else known)
        return message_list.version != before
    _rearrange(message_list, view, wanted, current, default_source)
    return message_list.version != before


def _as_shown(message_list: MessageList, shown_ids: Collection[str], returned: list[Any] | tuple[Any, ...]) -> bool:
    """
    Whether *returned* is what was shown, unread or unchanged: by far the most frequent case.
    """
    if len(returned) != len(shown_ids):
        return False
    for one, shown_id in zip(returned, shown_ids, strict=True):
        if one.__class__ is MessageDraft and not one.__dict__:
            one = one.original
        if one.__class__ is not Message or one.id != shown_id or message_list.get_by_id(shown_id) is not one:
            return False
    return True


def _settled(known: Message, draft: MessageDraft) -> Message:
    """
    Return the message *known* with the edits of its *draft*, which was made of it or of a version before.
    """
    original, made = draft.original, draft.freeze()
    if known is original or made.id != original.id:
        return made
    if made is original:
        return known
    try:
        return apply_edits(known, diff_message(original, made))
    except MessageError:
        return made


def _rearrange(
    message_list: MessageList,
    old: list[Message],
    wanted: dict[str, Incoming],
    current: dict[str, int],
    default_source: str,
) -> None:
    """
    Put the messages in an order in which those *wanted* follow each other as given, and the others keep their places.
    """
    slots = iter(sorted(current[message_id] for message_id in wanted if message_id in current))
    # What stands in each place of the old list: wanted ones in the order given, new ones behind the one before them.
    places: list[list[Incoming]] = [[] if message.id in wanted else [Incoming(message)] for message in old]
    leading: list[Incoming] = []
    slot: int | None = None
    for message_id, one in wanted.items():
        if message_id in current:
            slot = next(slots)
            places[slot] += (*leading, one)
            leading = []
        elif slot is None:
            leading.append(one)
        else:
            places[slot].append(one)
    line = [one for place in places for one in place] + leading
    news: list[Message] = []
    changed: list[Message] = []
    for one, time in zip(line, _times(line, current, old), strict=True):
        message = one.message
        at = current.get(message.id)
        if at is None:
            # A plain time: a Moment would yield to all that is there, and the place with it.
            plain = datetime.combine(time.date(), time.timetz())
            news.append(message.replace(created_at=plain))
            continue
        if time != message.created_at:
            message = message.replace(created_at=time)
        if message is not old[at] and message != old[at]:
            changed.append(message)
    message_list.replace_all(changed)
    message_list.add(news, default_source, merge=False)


def _times(line: list[Incoming], current: dict[str, int], old: list[Message]) -> list[datetime]:
    """
    Return a time for each message of *line* that puts it there, the one it has wherever that will do.
    """
    # The latest time each place may have, so that what comes behind need not move.
    ceilings: list[datetime | None] = [None] * len(line)
    ceiling: datetime | None = None
    for place in range(len(line) - 1, -1, -1):
        ceilings[place] = ceiling
        at = current.get(line[place].message.id)
        if at is not None and (ceiling is None or old[at].created_at < ceiling):
            ceiling = old[at].created_at
    times: list[datetime] = []
    last: datetime | None = None
    last_at = -1
    for one, latest in zip(line, ceilings, strict=True):
        at = current.get(one.message.id, -1)
        time = one.message.created_at if at < 0 else old[at].created_at
        if at < 0 and not one.timed:
            time = last + _TICK if last is not None else latest or datetime.now(UTC)
        # Messages of one time keep their order, so that old neighbours may share one.
        if latest is not None and (time > latest or (time == latest and at < 0)):
            time = latest - _TICK
        if last is not None and (time < last or (time == last and not -1 < last_at < at)):
            time = last + _TICK
        times.append(time)
        last, last_at = time, at
    return times
