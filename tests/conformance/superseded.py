"""
Superseded traces (D39): what a decision changes of a trace, as a JSON Patch (RFC 6902) on its ruled ``expected``.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from copy import deepcopy
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tests.conformance.scenario import Json, is_list

__all__ = ["PatchError", "Superseded", "apply_patch", "read_superseded"]

ABSENT: Any = object()


class PatchError(Exception):
    """
    A patch that cannot be applied to what it is given.
    """


@dataclass(frozen=True, slots=True)
class Superseded:
    """
    What supersedes a trace, why, and what is different then.
    """

    decided_by: str
    why: str
    patch: list[Json]


def read_superseded(directory: Path, key: str) -> Superseded | None:
    """
    Return what supersedes the scenario ``area/name``, if anything does.  Raises ``PatchError`` for a bad file.
    """
    path = directory / f"{key}.json"
    if not path.is_file():
        return None
    try:
        raw: Json = json.loads(path.read_text(encoding="utf-8"))
        return Superseded(str(raw["decided_by"]), str(raw["why"]), list(raw["patch"]))
    except (ValueError, KeyError, TypeError) as error:
        raise PatchError(f"{path.name} cannot be read: {error!r}") from error


def apply_patch(document: Json, patch: list[Json]) -> Json:
    """
    Return *document* with the operations of *patch* carried out.

    >>> apply_patch({"a": [1, 2]}, [{"op": "add", "path": "/a/-", "value": 3}, {"op": "remove", "path": "/a/0"}])
    {'a': [2, 3]}
    """
    changed = deepcopy(document)
    for number, operation in enumerate(patch):
        try:
            changed = _apply(changed, operation)
        except (KeyError, IndexError, ValueError, TypeError) as error:
            raise PatchError(f"operation {number} ({operation}) does not apply: {error}") from error
    return changed


def _apply(document: Json, operation: Mapping[str, Any]) -> Json:
    match operation["op"]:
        case "add":
            return _put(document, _tokens(operation["path"]), deepcopy(operation["value"]), insert=True)
        case "replace":
            path = _tokens(operation["path"])
            _get(document, path)
            return _put(document, path, deepcopy(operation["value"]), insert=False)
        case "remove":
            return _remove(document, _tokens(operation["path"]))
        case "move":
            source = _tokens(operation["from"])
            value = _get(document, source)
            return _put(_remove(document, source), _tokens(operation["path"]), value, insert=True)
        case "copy":
            value = deepcopy(_get(document, _tokens(operation["from"])))
            return _put(document, _tokens(operation["path"]), value, insert=True)
        case "test":
            found = _get(document, _tokens(operation["path"]))
            if found != operation["value"]:
                raise ValueError(f"found {found!r}")
            return document
        case other:
            raise ValueError(f"no operation {other!r}")


def _tokens(pointer: str) -> list[str]:
    if pointer and not pointer.startswith("/"):
        raise ValueError(f"{pointer!r} does not start with /")
    return [token.replace("~1", "/").replace("~0", "~") for token in pointer.split("/")[1:]]


def _index(items: list[Json], token: str, *, end: bool = False) -> int:
    if end and token == "-":
        return len(items)
    if not token.isdecimal() or (len(token) > 1 and token[0] == "0"):
        raise ValueError(f"{token!r} is no index")
    index = int(token)
    if index >= len(items) + end:
        raise IndexError(f"index {index} of {len(items)} entries")
    return index


def _get(document: Json, path: list[str]) -> Json:
    for token in path:
        document = document[_index(document, token)] if is_list(document) else document[token]
    return document


def _put(document: Json, path: list[str], value: Json, *, insert: bool) -> Json:
    if not path:
        return value
    parent = _get(document, path[:-1])
    if is_list(parent):
        items: list[Json] = parent
        index = _index(items, path[-1], end=insert)
        if insert:
            items.insert(index, value)
        else:
            items[index] = value
    else:
        parent[path[-1]] = value
    return document


def _remove(document: Json, path: list[str]) -> Json:
    if not path:
        raise ValueError("the whole document cannot be removed")
    parent = _get(document, path[:-1])
    if is_list(parent):
        items: list[Json] = parent
        del items[_index(items, path[-1])]
    else:
        del parent[path[-1]]
    return document
