"""
Merge: how changes that several branches made to one message, or to the system messages, become one.

The strictest change wins: remove, then redact, then rewrite and annotate.  Nothing that a redaction hid comes back,
neither in its place nor in what another branch wrote elsewhere.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal, NamedTuple, TypeAlias

from procession.errors import MergeConflict
from procession.messages.edits import Edit, Insert, Path, Put, Take, TextEdit, apply_edits
from procession.messages.patch import Edited, Patch, Redaction, Removed, SystemChange, redactions_of, value_at
from procession.messages.splices import HIDDEN, Dispute, Spliced, merge_splices
from procession.messages.texts import map_texts, texts_in
from procession.messages.value import Value

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from procession.messages.message import Message, SystemMessage

__all__ = [
    "MergeEntry",
    "MergeReport",
    "Secret",
    "TELLING",
    "clean_system",
    "merge_edits",
    "merge_system",
    "secrets_of",
]

Action: TypeAlias = Literal["add", "remove", "redact", "rewrite", "annotate", "system"]


class MergeEntry(Value):
    """
    One change of one branch: of which message, where in it, and if it was dropped, why.
    """

    branch: str
    action: Action
    message_id: str | None = None
    path: Path = ()
    reason: str | None = None


class MergeReport:
    """
    What a merge took over and what it left out.
    """

    __slots__ = ("applied", "dropped")

    def __init__(self) -> None:
        self.applied: list[MergeEntry] = []
        self.dropped: list[MergeEntry] = []

    def __repr__(self) -> str:
        return f"MergeReport(applied={self.applied!r}, dropped={self.dropped!r})"


class BranchEdit(NamedTuple):
    """
    An edit and the branch that made it.
    """

    order: int
    branch: str
    edit: Edit


class Secret(NamedTuple):
    """
    A text that the branch number *order* hid, and what stands for it.
    """

    order: int
    text: str
    stand_in: str


TELLING = 4
"""A hidden text of fewer characters may stand elsewhere by chance, and stays there."""


def secrets_of(patches: Mapping[str, Patch], messages: Mapping[str, Message]) -> list[Secret]:
    """
    Return the texts that *patches* hide of *messages* (by id), longest first.
    """
    found: dict[tuple[int, str], Secret] = {}
    for order, patch in enumerate(patches.values()):
        for change in patch.changes:
            if isinstance(change, Edited) and change.redacts and change.id in messages:
                for redaction in redactions_of(change, messages[change.id]):
                    if len(redaction.text) >= TELLING:
                        stand_in = _stand_in(change, redaction)
                        found.setdefault((order, redaction.text), Secret(order, redaction.text, stand_in))
            elif isinstance(change, Removed) and change.redacts and change.id in messages:
                for text in texts_in(messages[change.id].parts):
                    if len(text) >= TELLING:
                        found.setdefault((order, text), Secret(order, text, HIDDEN))
    return sorted(found.values(), key=lambda secret: -len(secret.text))


def _stand_in(change: Edited, redaction: Redaction) -> str:
    for edit in change.edits:
        if isinstance(edit, TextEdit) and edit.path == redaction.path:
            for splice in edit.splices:
                if splice.start <= redaction.start and redaction.end <= splice.end:
                    return HIDDEN if redaction.text in splice.text else splice.text
    return HIDDEN


def without_secrets(text: str, order: int, secrets: Iterable[Secret]) -> str:
    """
    Return *text*, which branch number *order* wrote, with the texts that other branches hid replaced.
    """
    for secret in secrets:
        if secret.order != order and secret.text in text:
            text = text.replace(secret.text, secret.stand_in)
    return text


def merge_edits(
    message: Message,
    changes: Sequence[tuple[int, str, Edited]],
    secrets: Sequence[Secret],
    report: MergeReport,
    *,
    first_wins: bool = False,
) -> Message:
    """
    Return *message* with the changes that several branches made to it.

    Raises ``MergeConflict`` where two branches wrote one thing differently, unless *first_wins*.
    """
    edits: list[BranchEdit] = []
    for order, branch, change in changes:
        for edit in change.edits:
            if secrets:
                edit = _clean(edit, order, secrets)
            edits.append(BranchEdit(order, branch, edit))
    return apply_edits(message, _Merge(message, report, first_wins).run(edits))


def _clean(edit: Edit, order: int, secrets: Sequence[Secret]) -> Edit:
    def change(text: str) -> str:
        return without_secrets(text, order, secrets)

    if isinstance(edit, Insert):
        return edit.replace(parts=map_texts(edit.parts, change))
    if isinstance(edit, Put):
        return edit.replace(value=map_texts(edit.value, change))
    if isinstance(edit, TextEdit):
        return edit.replace(splices=tuple(one.replace(text=change(one.text)) for one in edit.splices))
    return edit


class _Merge:
    """
    The edits of one message on their way to becoming one set.
    """

    def __init__(self, message: Message, report: MergeReport, first_wins: bool) -> None:
        self.message = message
        self.report = report
        self.first_wins = first_wins

    def run(self, edits: Sequence[BranchEdit]) -> list[Edit]:
        places: dict[Path, list[BranchEdit]] = {}
        inserts: list[BranchEdit] = []
        for one in edits:
            if isinstance(one.edit, Insert):
                if all(one.edit != other.edit or one.order == other.order for other in inserts):
                    inserts.append(one)
                self.note(one)
            else:
                places.setdefault(one.edit.path, []).append(one)
        self.settle_nested(places)
        held: list[Edit] = [one.edit for one in inserts]
        for path, rivals in places.items():
            held += self.settle(path, rivals)
        return held

    def note(self, one: BranchEdit, reason: str | None = None) -> None:
        edit = one.edit
        action: Action
        if isinstance(edit, TextEdit):
            action = "redact" if any(splice.kind == "redact" for splice in edit.splices) else edit.splices[0].kind
        else:
            action = "remove" if isinstance(edit, Take) else edit.kind
        path = (edit.at,) if isinstance(edit, Insert) else edit.path
        entry = MergeEntry(one.branch, action, self.message.id, path, reason)
        (self.report.applied if reason is None else self.report.dropped).append(entry)

    def conflict(self, path: Path, branches: tuple[str, str], span: str = "") -> MergeConflict:
        first, second = branches
        return MergeConflict(
            f"branches {first!r} and {second!r} rewrote message {self.message.id!r} differently at {_named(path)}{span}",
            branches=branches,
            hint='choose with .map(...), or give merge="priority" or a function',
        )

    def settle_nested(self, places: dict[Path, list[BranchEdit]]) -> None:
        """
        Where one edit replaces or removes what another one changes inside: the outer one holds, unless it would undo
        a redaction.
        """
        for outer in sorted(places, key=len):
            whole = [one for one in places.get(outer, ()) if not isinstance(one.edit, TextEdit)]
            inner = [path for path in places if len(path) > len(outer) and path[: len(outer)] == outer]
            if not whole or not inner:
                continue
            safe = any(isinstance(one.edit, Take) or _redacts(one.edit) for one in whole)
            hiding = [path for path in inner if any(_redacts(one.edit) for one in places[path])]
            if hiding and not safe:
                for one in places.pop(outer):
                    self.note(one, "a redaction inside holds")
            else:
                for path in inner:
                    for one in places.pop(path):
                        self.note(one, "what it changed was replaced or removed as a whole")

    def settle(self, path: Path, rivals: list[BranchEdit]) -> list[Edit]:
        first = rivals[0]
        if all(one.edit == first.edit for one in rivals):
            for one in rivals:
                self.note(one)
            return [first.edit]
        texts = [one for one in rivals if isinstance(one.edit, TextEdit)]
        if len(texts) == len(rivals):
            return self.settle_text(path, rivals)
        winner = next((one for one in rivals if isinstance(one.edit, Take)), None) or next(
            (one for one in rivals if isinstance(one.edit, Put) and _redacts(one.edit)), None
        )
        if winner is None:
            hiding = [one for one in texts if _redacts(one.edit)]
            if hiding:
                for one in rivals:
                    if one not in hiding:
                        self.note(one, "a redaction of the same place holds")
                return self.settle(path, hiding)
            if not self.first_wins and path != ("created_at",):
                raise self.conflict(path, (first.branch, next(o.branch for o in rivals if o.edit != first.edit)))
            winner = first
        for one in rivals:
            self.note(one, None if one.edit == winner.edit else f"the change of {winner.branch!r} holds")
        return [winner.edit]

    def settle_text(self, path: Path, rivals: list[BranchEdit]) -> list[Edit]:
        old = value_at(self.message, path)
        assert isinstance(old, str)
        splices = [
            Spliced(one.order, one.branch, splice)
            for one in rivals
            if isinstance(one.edit, TextEdit)
            for splice in one.edit.splices
        ]
        try:
            held, dropped = merge_splices(old, splices, first_wins=self.first_wins)
        except Dispute as dispute:
            span = f", characters {dispute.start} to {dispute.end}"
            raise self.conflict(path, dispute.branches, span) from None
        for one in rivals:
            self.note(one)
        for gone in dropped:
            edit = TextEdit(path, (gone.splice,))
            self.note(BranchEdit(gone.order, gone.branch, edit), "another change of the same stretch holds")
        return [TextEdit(path, tuple(held))] if held else []


def _redacts(edit: Edit) -> bool:
    if isinstance(edit, TextEdit):
        return any(splice.kind == "redact" for splice in edit.splices)
    return edit.kind == "redact"


def _named(path: Path) -> str:
    if isinstance(path[0], int):
        return "part " + ".".join(str(key) for key in path)
    return ".".join(str(key) for key in path)


# --- system messages -------------------------------------------------------------


def clean_system(change: SystemChange, order: int, secrets: Sequence[Secret]) -> SystemChange:
    """
    Return *change*, which branch number *order* made, without the texts that other branches hid in what is new in it.
    """
    if not secrets:
        return change
    after = tuple(
        one if one in change.before else one.replace(text=without_secrets(one.text, order, secrets))
        for one in change.after
    )
    return change.replace(after=after)


def merge_system(
    base: tuple[SystemMessage, ...],
    changes: Sequence[tuple[str, SystemChange]],
    report: MergeReport,
    *,
    first_wins: bool = False,
) -> tuple[SystemMessage, ...]:
    """
    Return *base* with the branches' *changes*, tag by tag: additions follow each other, equal replacements are one.

    Raises ``MergeConflict`` where two branches replaced the messages of one tag differently, unless *first_wins*.
    """
    if len(changes) == 1 and changes[0][1].before == base:
        report.applied.append(MergeEntry(changes[0][0], "system"))
        return changes[0][1].after
    tags = dict.fromkeys(one.tag for one in base)
    for _, change in changes:
        tags |= dict.fromkeys(one.tag for one in change.after)
    merged: list[SystemMessage] = []
    for tag in sorted(tags, key=lambda tag: tag is not None):
        replaced: tuple[str, tuple[SystemMessage, ...]] | None = None
        added: list[SystemMessage] = []
        for branch, change in changes:
            before = tuple(one for one in change.before if one.tag == tag)
            after = tuple(one for one in change.after if one.tag == tag)
            if before == after:
                continue
            entry = MergeEntry(branch, "system", None, (tag or "",))
            if after[: len(before)] == before:
                added += after[len(before) :]
            elif replaced is None:
                replaced = branch, after
            elif replaced[1] != after and first_wins:
                report.dropped.append(entry.replace(reason=f"the change of {replaced[0]!r} holds"))
                continue
            elif replaced[1] != after:
                raise MergeConflict(
                    f"branches {replaced[0]!r} and {branch!r} replaced the system messages "
                    f"{'without a tag' if tag is None else f'of tag {tag!r}'} differently",
                    branches=(replaced[0], branch),
                    hint='choose with .map(...), or give merge="priority" or a function',
                )
            report.applied.append(entry)
        now = replaced[1] if replaced is not None else tuple(one for one in base if one.tag == tag)
        merged += dict.fromkeys((*now, *added))
    return tuple(merged)
