"""The verifier's set of live files: which paths are live, with whatever deletion vector."""

from __future__ import annotations

from typing import Any

from tableformats_delta.verification.commit_file import file_key
from tableformats_delta.verification.live_files import LiveFiles

from tests.support.delta_log import vector


def key(path: str, offset: int | None = None) -> str:
    return file_key({"path": path} if offset is None else {"path": path, "deletionVector": vector(offset=offset)})


def test_paths_with_vectors() -> None:
    live = LiveFiles()
    assert not live.has_path("a") and not live.remove(key("a"))
    live.add(key("a"), {"size": 1})
    live.add(key("b", 1), {"size": 2})
    assert live.has_path("a") and live.has_path("b") and key("b") not in live and key("b", 1) in live
    live.add(key("b", 1), {"size": 3})
    assert len(live) == 2 and live.values_of("size") == [1, 3]
    assert not live.remove(key("b", 9)) and live.has_path("b")
    live.add(key("b", 2), {"size": 4})
    assert live.remove(key("b", 1)) and live.has_path("b") and not live.remove(key("b", 1))
    assert live.remove(key("b", 2)) and not live.has_path("b") and live.remove(key("a")) and not live.has_path("a")
    assert len(live) == 0 and list(live.actions()) == []
    live.add(key("a", 1), {"size": 5})
    assert live.has_path("a"), "the same path without a vector has gone before"


class Block:
    """The add actions of a file of a checkpoint, whose names tell where they are."""

    def __init__(self, name: str, *keys: str) -> None:
        self.name, self.keys = name, keys

    def __len__(self) -> int:
        return len(self.keys)

    def action(self, row: int) -> dict[str, Any]:
        return {"path": self.keys[row], "of": self.name}

    def plain(self, name: str) -> list[Any]:
        return [self.action(row)[name] for row in range(len(self))]


def test_actions_of_several_files_of_a_checkpoint() -> None:
    """A file that two of them have is the last one's; a commit's action is in the place of both."""
    live = LiveFiles()
    blocks: list[Any] = [Block("1", "a", "b"), Block("2"), Block("3", "a", "c"), Block("4", "d")]
    for block in blocks:
        live.begin(block)
    live.add("d", {"path": "d", "of": "commit"})
    live.add("e", {"path": "e", "of": "commit"})
    found = [(one["path"], one["of"]) for one in live.actions()]
    assert found == [("a", "3"), ("b", "1"), ("c", "3"), ("d", "commit"), ("e", "commit")]
    assert live.values_of("of") == [of for _, of in found] and live.values_of("path") == [*"abcde"]
    assert live.remove("a") and [one["path"] for one in live.actions()] == [*"bcde"]
