"""Damaged JSON documents: each of its values in turn is removed, or becomes a neighbour or something of another type.

What a reader makes of each is pinned in a file: {path in the document: {outcome: the damages that have it}}.
"""

from __future__ import annotations

import copy
import hashlib
import json
from collections.abc import Callable, Collection, Iterator, Sequence
from pathlib import Path
from typing import Any

Path_ = tuple[Any, ...]
REMOVED = object()
OTHERS: dict[str, Any] = {
    "removed": REMOVED,
    "null": None,
    "true": True,
    "0": 0,
    "-1": -1,
    "2**31": 2**31,
    "2**63": 2**63,
    "1.5": 1.5,
    "text": "x",
    "empty": "",
    "[]": [],
    "{}": {},
}


def places(document: Any, path: Path_ = ()) -> Iterator[Path_]:
    """Every value below a document."""
    items = document.items() if isinstance(document, dict) else enumerate(document)
    for name, value in items:
        yield (*path, name)
        if isinstance(value, (dict, list)):
            yield from places(value, (*path, name))


def neighbours(value: Any) -> Iterator[tuple[str, Any]]:
    """Values of the same type, named."""
    if isinstance(value, bool):
        yield "false", False
    elif isinstance(value, int):
        yield "+1", value + 1
        yield "*2", value * 2
        yield "as text", str(value)
    elif isinstance(value, str):
        yield "longer", value + "x"
        yield "shorter", value[:-1]
        yield "upper", value.upper()
    elif isinstance(value, list) and value:
        yield "twice", [*value, value[-1]]
        yield "without the last", value[:-1]
        yield "reversed", value[::-1]


Share = tuple[int, int]
"""(k, n): every n-th place, from the k-th on."""


def damages(document: Any, chosen: Collection[str] = (), share: Share = (0, 1)) -> Iterator[tuple[Path_, str, Any]]:
    """(path, name of the damage, damaged document) for every value and damage, or for the ``chosen`` damages."""
    for path in in_share(document, share):
        before = value_at(document, path)
        for name, value in (*OTHERS.items(), *neighbours(before)):
            if chosen and name not in chosen:
                continue
            if value is REMOVED or type(value) is not type(before) or value != before:
                yield path, name, with_value(document, path, value)


def in_share(document: Any, share: Share) -> list[Path_]:
    """Places of a document, so that one test need not damage all of them."""
    return [*places(document)][share[0] :: share[1]]


def pinned_share(pinned: dict[str, Any], document: Any, share: Share) -> dict[str, Any]:
    """What is pinned of these places."""
    names = {shown(path) for path in in_share(document, share)}
    return {path: one for path, one in pinned.items() if path in names}


def value_at(document: Any, path: Path_) -> Any:
    for name in path:
        document = document[name]
    return document


def with_value(document: Any, path: Path_, value: Any) -> Any:
    """A copy of the document with another value at the path, or with none."""
    found = copy.deepcopy(document)
    parent = value_at(found, path[:-1])
    if value is REMOVED:
        del parent[path[-1]]
    else:
        parent[path[-1]] = value
    return found


def outcomes(
    document: Any, outcome_of: Callable[[Any], str], chosen: Collection[str] = (), share: Share = (0, 1)
) -> dict[str, dict[str, str]]:
    """{path: {outcome: names of the damages}}."""
    found: dict[str, dict[str, list[str]]] = {}
    for path, name, damaged in damages(document, chosen, share):
        found.setdefault(shown(path), {}).setdefault(outcome_of(damaged), []).append(name)
    return {path: {outcome: ", ".join(names) for outcome, names in one.items()} for path, one in found.items()}


def shown(path: Sequence[Any]) -> str:
    return "".join(f"[{name}]" if isinstance(name, int) else f".{name}" for name in path).lstrip(".")


def digest(value: object) -> str:
    return hashlib.sha256(repr(value).encode()).hexdigest()[:8]


def write(file: Path, found: dict[str, Any]) -> None:
    """One line for each path of each document."""
    documents = []
    for name, paths in found.items():
        lines = ",\n".join(f"{json.dumps(path)}: {json.dumps(one, ensure_ascii=False)}" for path, one in paths.items())
        documents.append(f"{json.dumps(name)}: {{\n{lines}\n}}")
    file.write_text("{\n" + ",\n".join(documents) + "\n}\n", "utf-8")
