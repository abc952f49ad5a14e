"""The verifier's set of live files: which paths are live, with whatever deletion vector."""

from __future__ import annotations

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
    live.add(key("b", 2), {"size": 4})
    assert live.remove(key("b", 1)) and live.has_path("b") and not live.remove(key("b", 1))
    assert live.remove(key("b", 2)) and not live.has_path("b") and live.remove(key("a")) and not live.has_path("a")
    assert len(live) == 0 and list(live.actions()) == []
