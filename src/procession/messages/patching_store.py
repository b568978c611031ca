"""
PatchingStore: a message store that says what a fork changed, and takes such changes over.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from procession.errors import MergeConflict, MessageError
from procession.messages.merge import (
    TELLING,
    MergeEntry,
    MergeReport,
    Secret,
    clean_system,
    merge_edits,
    merge_system,
    secrets_of,
    without_secrets,
)
from procession.messages.message_store import MessageStore
from procession.messages.patch import EMPTY_PATCH, Added, Change, Edited, Patch, Removed, SystemChange, redactions_of
from procession.messages.redactions import dropped_redactions
from procession.messages.texts import map_texts, texts_in

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping, Sequence
    from datetime import datetime

    from procession.messages.edits import RedactedSpans
    from procession.messages.message import Message

__all__ = ["PatchingStore"]

Rival = tuple[int, str, Change]
"""A change, and the branch that made it: its place in the order of declaration, and its name."""


class PatchingStore(MessageStore):
    """
    Forks become patches, patches of several branches become one list again (D26).
    """

    __slots__ = ()

    def diff(self) -> Patch:
        """
        Return what changed since this list was forked.

        Raises ``MessageError`` for a list that is no fork.
        """
        log = self._log
        if log is None:
            raise MessageError("this message list is no fork, so nothing says what changed", hint="call fork() first")
        system = SystemChange(self._base_system, self._system) if self._system is not self._base_system else None
        if not log and system is None:
            return EMPTY_PATCH
        changes: list[Change] = []
        added: list[int] = []
        for message_id, (before, flags) in log.items():
            position = self._position(message_id)
            if position < 0:
                if before is not None:
                    changes.append(Removed(message_id, self._hid(message_id)))
            elif before is None:
                added.append(position)
            elif self._items[position] is not before or self._flags[position] != flags:
                changes.append(self._edited(message_id, before, flags, position))
        anchor, last = None, -2
        for position in sorted(added):
            if position != last + 1:
                anchor = self._items[position - 1].id if position else None
            changes.append(Added(self._items[position], self._flags[position], anchor))
            last = position
        return Patch(changes, system)

    def _hid(self, message_id: str) -> bool:
        """
        Whether something of a message was hidden since this list was forked.
        """
        known = self._redacted.get(message_id) if self._redacted is not None else None
        return known is not None and (self._base_redacted is None or known is not self._base_redacted.get(message_id))

    def _edited(self, message_id: str, before: Message, flags: int, position: int) -> Edited:
        after = self._items[position]
        redacted = None
        if self._redacted is not None and (known := self._redacted.get(message_id)) is not None:
            # Spans hold for one step only; after several, every difference counts as hidden.
            if known[0] is before and known[1] is after:
                redacted = known[2]
            elif self._hid(message_id):
                redacted = True
        now = self._flags[position]
        return Edited(message_id, now if now != flags else None, before=before, after=after, redacted=redacted)

    def apply(self, patch: Patch) -> MergeReport:
        """
        Take the changes of one *patch* over.

        Raises ``MessageError`` where it does not fit these messages.
        """
        return self.merge({"": patch})

    def merge(self, patches: Mapping[str, Patch], policy: str = "strictest") -> MergeReport:
        """
        Take the changes of several branches over, *patches* by branch name in declaration order.

        With ``strictest`` remove goes before redact before rewrite and annotate, and two different rewrites of one
        thing are a conflict; with ``priority`` the first branch wins there.  What a branch removed or hid stays
        removed and hidden under either.

        Raises ``MergeConflict`` naming the branches, ``MessageError`` where a patch does not fit these messages.
        """
        if policy not in ("strictest", "priority"):
            raise MessageError(
                f"a message list cannot merge with policy {policy!r}",
                hint='it knows "strictest" and "priority"; "chain" and functions are the workflow\'s to run',
            )
        first_wins = policy == "priority"
        report = MergeReport()
        rivals: dict[str, list[Rival]] = {}
        systems: list[tuple[int, str, SystemChange]] = []
        hiding = False
        for order, (branch, patch) in enumerate(patches.items()):
            for change in patch.changes:
                rivals.setdefault(change.id, []).append((order, branch, change))
                hiding = hiding or (isinstance(change, Edited | Removed) and change.redacts)
            if patch.system is not None:
                systems.append((order, branch, patch.system))
        secrets: list[Secret] = []
        if hiding and len(patches) > 1:
            secrets = secrets_of(patches, {i: m for i in rivals if (m := self.get_by_id(i)) is not None})
        merged_system = self._system
        if systems:
            clean = [(branch, clean_system(change, order, secrets)) for order, branch, change in systems]
            merged_system = merge_system(self._system, clean, report, first_wins=first_wins)
        plan = [self._settled(i, changes, secrets, report, first_wins) for i, changes in rivals.items()]
        # Nothing is changed before everything is decided: a conflict leaves the list as it was.
        self._set_system(merged_system)
        removed: list[str] = []
        added: list[Added] = []
        moved = False
        for message_id, outcome in zip(rivals, plan, strict=True):
            if isinstance(outcome, Added):
                added.append(outcome)
            elif isinstance(outcome, Removed):
                removed.append(message_id)
                if outcome.redacts:
                    gone = self._items[self._position(message_id)]
                    self._hides()[message_id] = (gone, gone, True)
            elif outcome is not None:
                position = self._position(message_id)
                message, flags, hidden = outcome
                moved = moved or message.created_at != self._items[position].created_at
                self._put(position, message, self._flags[position] if flags is None else flags, hidden)
        if moved:
            self._sort()
        if removed:
            positions = sorted(self._position(message_id) for message_id in removed)
            added = [self._anchored(one, set(positions)) for one in added]
            self._cut(positions)
        if added:
            self._place(added)
            for one in added if secrets else ():
                self._note_cleaned(one.id, rivals[one.id])
        return report

    def _note_cleaned(self, message_id: str, changes: Sequence[Rival]) -> None:
        """
        Remember what was hidden of a new message: in a graph other steps may have gone on from it as it was.
        """
        said = next(change.message for *_, change in changes if isinstance(change, Added))
        now = self.get_by_id(message_id)
        if now is not None and (now.parts is not said.parts or now.metadata is not said.metadata):
            self._hides()[message_id] = (said, now, True)

    def _anchored(self, one: Added, removed: Collection[int]) -> Added:
        """
        Let an addition name the last message in front of it that stays.
        """
        position = self._position(one.after) if one.after is not None else -1
        if position not in removed:
            return one
        while position in removed:
            position -= 1
        return one.replace(after=self._items[position].id if position >= 0 else None)

    def dropped_redactions(self, patches: Mapping[str, Patch], picked: MessageStore) -> list[str]:
        """
        Return the branches whose redactions, made in forks of this list, are not in force in *picked* (D25).
        """
        return list(dict.fromkeys(one.branch for one in dropped_redactions(self, patches, picked)))

    def hidden_texts(self) -> list[str]:
        """
        Return the texts that were hidden since this list was forked and that it does not show anywhere.
        """
        found: dict[str, None] = {}
        for change in self.diff().changes if self._log else ():
            if isinstance(change, Edited) and change.redacts and change.before is not None:
                found.update(dict.fromkeys(one.text for one in redactions_of(change, change.before)))
            elif (
                isinstance(change, Removed) and change.redacts and (gone := (self._log or {})[change.id][0]) is not None
            ):
                found.update(dict.fromkeys(texts_in(gone.parts)))
        return self.without_shown([text for text in found if len(text) >= TELLING])

    def without_shown(self, texts: Sequence[str]) -> list[str]:
        """
        Return those of *texts* that no message here and no system message shows.
        """
        if not texts:
            return []
        shown = "\n".join(
            [*texts_in([[one.parts, one.metadata] for one in self.view()]), *(one.text for one in self._system)]
        )
        return [text for text in texts if text not in shown]

    def _settled(
        self,
        message_id: str,
        changes: Sequence[Rival],
        secrets: Sequence[Secret],
        report: MergeReport,
        first_wins: bool,
    ) -> Added | Removed | tuple[Message, int | None, RedactedSpans | None] | None:
        """
        Decide what becomes of one message.
        """
        current = self.get_by_id(message_id)
        if current is None:
            return _settle_new(message_id, changes, secrets, report, first_wins)
        remover = next((branch for _, branch, change in changes if isinstance(change, Removed)), None)
        if remover is not None:
            for _, branch, change in changes:
                if isinstance(change, Removed):
                    report.applied.append(MergeEntry(branch, "remove", message_id))
                else:
                    reason = f"{remover!r} removed the message"
                    report.dropped.append(MergeEntry(branch, "rewrite", message_id, (), reason))
            return Removed(
                message_id, any(change.redacts for *_, change in changes if isinstance(change, Edited | Removed))
            )
        edits = [(order, branch, _as_edit(change, current)) for order, branch, change in changes]
        flags = next((edit.flags for _, _, edit in edits if edit.flags is not None), None)
        order, branch, only = edits[0]
        if len(edits) == 1 and not any(secret.order != order for secret in secrets):
            report.applied.append(MergeEntry(branch, "redact" if only.redacts else "rewrite", message_id))
            hidden: RedactedSpans | None = only.redacted if only.before is current else only.redacts
            return only.apply(current), flags, hidden
        message = merge_edits(current, edits, secrets, report, first_wins=first_wins)
        return message, flags, any(edit.redacts for _, _, edit in edits)

    def _place(self, added: Sequence[Added]) -> None:
        """
        Put new messages behind the ones they name, in the order given, with times that agree with their places.
        """
        last = self._items[self._length - 1].id if self._length else None
        if all(one.after == last for one in added):
            for one in added:
                self._append(_timed(one.message, self._newest, None), one.flags)
            return
        behind: dict[int, list[Added]] = {}
        for one in added:
            at = self._length
            if one.after is None:
                at = 0
            elif (position := self._position(one.after)) >= 0:
                at = position + 1
            behind.setdefault(at, []).append(one)
            self._touch(one.id, None, 0)
        old, old_flags = self._items[: self._length], self._flags
        items: list[Message] = []
        flags = bytearray()
        done = 0
        for at in sorted(behind):
            items += old[done:at]
            flags += old_flags[done:at]
            following = old[at].created_at if at < len(old) else None
            for one in behind[at]:
                items.append(_timed(one.message, items[-1].created_at if items else None, following))
                flags.append(one.flags)
            done = at
        self._arrange(items + old[done:], flags + old_flags[done : len(old)])


def _timed(message: Message, earliest: datetime | None, latest: datetime | None) -> Message:
    """
    Return *message* with a time between two others, its own one if that is.
    """
    time = message.created_at
    if earliest is not None and time < earliest:
        time = earliest
    if latest is not None and time > latest:
        time = latest
    return message if time is message.created_at else message.replace(created_at=time)


def _as_edit(change: Change, current: Message) -> Edited:
    """
    Read an addition of a message that is there by now as a change of it.
    """
    if isinstance(change, Added):
        return Edited(change.id, change.flags, before=current, after=change.message)
    assert isinstance(change, Edited)
    return change


def _settle_new(
    message_id: str, changes: Sequence[Rival], secrets: Sequence[Secret], report: MergeReport, first_wins: bool
) -> Added | None:
    found: Added | None = None
    finder = ""
    for order, branch, change in changes:
        if not isinstance(change, Added):
            reason = "the message is not there any more"
            report.dropped.append(MergeEntry(branch, "rewrite", message_id, (), reason))
            continue
        message = change.message
        if secrets:

            def clean(text: str, order: int = order) -> str:
                return without_secrets(text, order, secrets)

            parts, metadata = map_texts(message.parts, clean), map_texts(message.metadata, clean)
            if parts is not message.parts or metadata is not message.metadata:
                message = message.replace(parts=parts, metadata=metadata)
        if found is None:
            found, finder = Added(message, change.flags, change.after), branch
        elif message != found.message:
            if not first_wins:
                raise MergeConflict(
                    f"branches {finder!r} and {branch!r} added different messages with the id {message_id!r}",
                    branches=(finder, branch),
                    hint="give each message an id of its own",
                )
            reason = f"{finder!r} added another message with this id"
            report.dropped.append(MergeEntry(branch, "add", message_id, (), reason))
            continue
        report.applied.append(MergeEntry(branch, "add", message_id))
    return found
