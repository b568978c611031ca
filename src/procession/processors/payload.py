"""
HookPayload: what flows along the edges of a processor workflow.  The nine kinds are in ``payloads.py``.

A payload is forked for parallel branches and put together again afterwards: the message list as a patch, the rest
field by field.  Conditions and maps of a processor workflow are given the payload of the phase they run in.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

from procession.errors import MergeConflict
from procession.messages.message import Message
from procession.messages.message_list import MessageList
from procession.messages.shapes import is_form, is_items
from procession.processors.hooks import Hook
from procession.steps.forkable import MergePolicy, register_kept

__all__ = ["HookPayload"]


_NOTHING: Mapping[str, Any] = {}


class HookPayload:
    """
    What every hook is given: the messages, and where in the run it stands.
    """

    hook: ClassVar[Hook]
    changeable: ClassVar[tuple[str, ...]] = ()
    """The fields besides the messages that a branch may change."""
    by_key: ClassVar[tuple[str, ...]] = ()
    """Those of them that are put together key by key where they are mappings."""

    fields: ClassVar[tuple[str, ...]] = ()
    """All of them, those of the class above it included."""
    kept_as: ClassVar[str]
    """What a payload of the class is called where a run is kept."""

    __slots__ = ("message_list", "retry_count", "step_number", "steps")

    def __init_subclass__(cls) -> None:
        cls.fields = tuple(name for base in cls.__mro__ for name in base.__dict__.get("__slots__", ()))
        if "hook" in cls.__dict__:
            cls.kept_as = cls.hook.value
            register_kept(cls.kept_as, cls.from_whole)

    def __init__(
        self,
        message_list: MessageList,
        *,
        step_number: int = 0,
        steps: Sequence[Any] = (),
        retry_count: int = 0,
    ) -> None:
        self.message_list = message_list
        self.step_number = step_number
        self.steps = steps
        self.retry_count = retry_count

    @property
    def phase(self) -> str:
        """
        The name of the hook.
        """
        return self.hook.value

    @property
    def messages(self) -> Sequence[Message]:
        """
        The messages in this hook's scope, read-only (D9).
        """
        return self.message_list.view()

    def fork(self) -> HookPayload:
        """
        Return a copy whose message list may change without this one.
        """
        cls = type(self)
        made = cls.__new__(cls)
        for field in cls.fields:
            setattr(made, field, getattr(self, field))
        made.message_list = self.message_list.fork()
        return made

    def merge(self, outputs: Mapping[str, Any], policy: MergePolicy) -> HookPayload:
        """
        Put the branches' payloads together under *policy* (D26).
        """
        if callable(policy):
            return self.adopt(outputs, policy(self, outputs), allow_drop=True)
        # An arm in which nothing runs has no fork: its output is this very payload.
        branches = {key: out for key, out in outputs.items() if isinstance(out, HookPayload) and out is not self}
        if policy == "chain":  # each branch began with what the one before left
            return self.adopt(outputs, list(branches.values())[-1] if branches else None, allow_drop=True)
        self.message_list.merge({key: branch.message_list.diff() for key, branch in branches.items()}, policy)
        for field in self.changeable:
            self._merge_field(field, branches, first_wins=policy == "priority")
        return self

    def adopt(self, outputs: Any, picked: Any, *, allow_drop: bool) -> HookPayload:
        """
        Go on with what a map picked or built: a payload, a mapping of them (the last one counts), or nothing.
        """
        if is_form(picked):
            last = [value for value in picked.values() if isinstance(value, HookPayload)]
            picked = last[-1] if last else None
        if picked is None:
            picked = self
        elif not isinstance(picked, HookPayload):
            raise MergeConflict(
                f"a map in a processor workflow returned {type(picked).__name__}",
                branches=(),
                hint="return one of the payloads it was given, a changed copy of one, or None for no change",
            )
        if is_form(outputs) and not allow_drop:
            self._refuse_dropped(outputs, picked)
        if picked is not self:
            self.message_list.adopt_state(picked.message_list)
            for field in self.changeable:
                setattr(self, field, getattr(picked, field))
        return self

    def changes_since(self, base: Any) -> Any:
        """
        Return what a processor made of *base*, a fork of this payload as it was before.
        """
        from procession.processors.payload_changes import changes_of  # with a run that is kept

        return changes_of(self, base)

    def redo(self, changes: Any) -> HookPayload:
        """
        Change this payload as a processor did, in place, and return it.

        Raises ``MessageError`` where it is not the payload that the processor was given.
        """
        from procession.processors.payload_changes import redo_changes

        made: HookPayload = redo_changes(self, changes)
        return made

    def whole(self) -> Any:
        """
        Return all that the payload holds, for a run that begins with it.
        """
        from procession.processors.payload_changes import whole_of

        return whole_of(self)

    @classmethod
    def from_whole(cls, fields: Any) -> HookPayload:
        """
        Return the payload whose ``whole`` this is.
        """
        from procession.processors.payload_changes import from_whole

        made: HookPayload = from_whole(cls, fields)
        return made

    def refuse_said_again(self, outputs: Mapping[str, HookPayload]) -> None:
        """
        Refuse to go on where this state of a graph says what one of *outputs*, by step, had hidden (D26).

        Merging cleans what it can tell; text that steps beside a guard rewrote on and on may be left.
        """
        for key, output in outputs.items():
            hidden = output.message_list.hidden_texts()
            if hidden and self.message_list.without_shown(hidden) != hidden:
                raise MergeConflict(
                    f"{key!r} hid a text in {self.phase} that steps beside it say again",
                    branches=(key,),
                    hint="let the steps that copy or rewrite text come after the guard",
                )

    def _refuse_dropped(self, outputs: Mapping[str, Any], picked: HookPayload) -> None:
        patches = {
            key: output.message_list.diff()
            for key, output in outputs.items()
            if isinstance(output, HookPayload) and output is not picked and output is not self
        }
        dropped = self.message_list.dropped_redactions(patches, picked.message_list)
        if dropped:
            raise MergeConflict(
                f"the map drops what {', '.join(repr(key) for key in dropped)} redacted",
                branches=tuple(dropped),
                hint="pick that branch, leave the map out so that the branches are merged, or say allow_drop=True",
            )

    def _merge_field(self, field: str, branches: Mapping[str, HookPayload], *, first_wins: bool) -> None:
        before = getattr(self, field)
        changed = {key: value for key, branch in branches.items() if (value := getattr(branch, field)) is not before}
        if not changed:
            return
        if first_wins and len(changed) > 1:  # a copy of what was given is no change that could win
            changed = {key: value for key, value in changed.items() if not _is_copy(value, before)} or changed
        values = list(changed.values())
        if field in self.by_key and all(is_form(value) for value in (before or _NOTHING, *values)):
            setattr(self, field, _merge_mappings(field, before or _NOTHING, changed, first_wins=first_wins))
        elif first_wins or all(value == values[0] for value in values[1:]):
            setattr(self, field, values[0])
        else:
            setattr(self, field, self._resolve(field, before, changed, branches))

    def _resolve(self, field: str, before: Any, changed: Mapping[str, Any], branches: Mapping[str, Any]) -> Any:
        raise MergeConflict(
            f"{', '.join(repr(key) for key in changed)} changed {field!r} in different ways in {self.phase}",
            branches=tuple(changed),
            hint="choose in a .map(...), or put the processors one after the other",
        )


def _is_copy(value: Any, before: Any) -> bool:
    return bool(value == before) or (is_items(value) and is_items(before) and list(value) == list(before))


def _merge_mappings(
    field: str, before: Mapping[str, Any], changed: Mapping[str, Mapping[str, Any]], *, first_wins: bool
) -> dict[str, Any]:
    merged = dict(before)
    set_by: dict[str, str] = {}
    for branch, values in changed.items():
        for key in {**before, **values}:
            value = values.get(key)
            if value == before.get(key) and (key in values) == (key in before):
                continue
            if key in set_by and merged.get(key) != value:
                if first_wins:
                    continue
                raise MergeConflict(
                    f"{set_by[key]!r} and {branch!r} set {field}[{key!r}] differently",
                    branches=(set_by[key], branch),
                    hint="choose in a .map(...), or put the processors one after the other",
                )
            set_by[key] = branch
            if key in values:
                merged[key] = value
            else:
                merged.pop(key, None)
    return merged
