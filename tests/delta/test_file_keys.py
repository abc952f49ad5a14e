"""Keys of files: the texts that the kernel puts together are those that Python does, and nothing else is read."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tableformats_delta.log import _keys
from tableformats_delta.log.file_actions import file_rows
from tableformats_delta.log.file_keys import file_keys, path_keys

from tableformats.errors import CorruptMetadataError
from tests.support.delta_log import UUIDS, add, vector

TEXTS = st.lists(st.sampled_from(["", "a", "b/c.parquet", "ä" * 9]), max_size=9)


def buffers(texts: list[str]) -> tuple[np.ndarray, np.ndarray]:
    offsets = np.cumsum([0, *(len(text.encode()) for text in texts)], dtype=np.int32)
    return offsets, np.frombuffer("".join(texts).encode(), np.uint8)


@given(TEXTS, st.integers(0, 3), st.data())
def test_endings(texts: list[str], skipped: int, data: st.DataObject) -> None:
    offsets, octets = buffers(["x"] * skipped + texts)
    rows = data.draw(st.lists(st.sampled_from(range(len(texts))), unique=True)) if texts else []
    endings = {row: data.draw(st.sampled_from(["", "\0u", "\0uxyz@7"])) for row in sorted(rows)}
    chosen = np.array(sorted(rows), np.int64)
    found, joined = _keys.with_endings(offsets[skipped:], octets, chosen, *buffers(list(endings.values())))
    whole = [text + endings.get(row, "") for row, text in enumerate(texts)]
    assert [joined[i:j].tobytes().decode() for i, j in zip(found[:-1], found[1:], strict=True)] == whole


@pytest.mark.parametrize(("rows", "n_endings"), [([1, 0], 2), ([0, 0], 2), ([2], 1), ([-1], 1), ([0], 2), ([0, 1], 1)])
def test_endings_of_other_rows(rows: list[int], n_endings: int) -> None:
    with pytest.raises(ValueError, match=r"rows|ending_offsets"):
        _keys.with_endings(*buffers(["a", "b"]), np.array(rows, np.int64), *buffers(["x"] * n_endings))


def test_offsets_beyond_the_data() -> None:
    rows, right = np.zeros(1, np.int64), buffers(["a"])
    for wrong in ([0, 2], [1, 0], [-1, 1]):
        offsets = np.array(wrong, np.int32)
        with pytest.raises(ValueError, match="offsets"):
            _keys.with_endings(offsets, right[1], rows, *right)
        with pytest.raises(ValueError, match="ending_offsets"):
            _keys.with_endings(*right, rows, offsets, right[1])


def test_more_than_offsets_can_say() -> None:
    octets = np.zeros(2**31 - 1, np.uint8)  # which nobody touches
    with pytest.raises(OverflowError, match="2 GiB"):
        _keys.with_endings(np.array([0, 2**31 - 1], np.int32), octets, np.zeros(1, np.int64), *buffers(["x"]))


@given(st.binary(max_size=20), st.binary(max_size=3))
def test_octets_that_stand_somewhere(data: bytes, octets: bytes) -> None:
    assert _keys.holds_any(np.frombuffer(data, np.uint8), octets) == any(octet in data for octet in octets)


def test_keys_of_files() -> None:
    other = vector(2, offset=None)
    actions = [add("a"), add("b%41", deletionVector=vector(1)), add("c"), add("d", deletionVector=other)]
    rows = file_rows([(action["add"], 0) for action in actions], "add", "/t/log")
    one, another = (action["add"]["deletionVector"] for action in (actions[1], actions[3]))
    keys = [b"a", f"bA\0u{one['pathOrInlineDv']}@{one['offset']}".encode(), b"c"]
    keys.append(f"d\0u{another['pathOrInlineDv']}".encode())
    for start in range(5):
        part = rows.slice(start)
        assert file_keys(part, "/t", "/t/log").to_pylist() == keys[start:]
        assert path_keys(part, "/t/log").to_pylist() == [b"a", b"bA", b"c", b"d"][start:]


def test_a_path_with_nul() -> None:
    for path in ("a\0b", "a%00b"):
        rows = file_rows([(add(path)["add"], 0)], "add", "/t/log")
        with pytest.raises(CorruptMetadataError, match="NUL"):
            file_keys(rows, "/t", "/t/log")


@pytest.mark.parametrize(
    ("path", "key"),
    [
        ("a/b", "a/b"),
        ("a%2Fb", "a/b"),
        ("a%252Fb", "a%2Fb"),
        ("/x/a", "/x/a"),
        ("file:/x/a", "/x/a"),
        ("file:///x/a", "/x/a"),
        ("s3://b/a", "s3://b/a"),
        ("c:/a", "c:/a"),
        ("a:b", "a:b"),
        ("ä", "ä"),
        ("%C3%A4", "ä"),
    ],
)
def test_spellings_of_a_path(path: str, key: str) -> None:
    rows = file_rows([(add(one)["add"], 0) for one in ("first", path, "last")], "add", "/t/log")
    assert path_keys(rows, "/t/log").to_pylist() == [b"first", key.encode(), b"last"]
    assert file_keys(rows.slice(1, 1), "/t", "/t/log").to_pylist() == [key.encode()]


NAME = f"deletion_vector_{UUIDS[0]}.bin"
ID = vector(0)["pathOrInlineDv"]


@pytest.mark.parametrize(
    ("kind", "stored", "offset", "ending"),
    [
        ("u", ID, None, f"u{ID}"),
        ("u", ID, 0, f"u{ID}@0"),
        ("u", "ab" + ID, 7, f"uab{ID}@7"),
        ("i", "wxyz", None, "iwxyz"),
        # The same vector by its path: inside of the table it has the id that its name says.
        ("p", f"/t/{NAME}", 1, f"u{ID}@1"),
        ("p", f"file:///t/{NAME}", 1, f"u{ID}@1"),
        ("p", f"/t/ab/{NAME}", None, f"uab{ID}"),
        ("p", f"/t/a%62/{NAME}", None, f"uab{ID}"),
        ("p", f"/t2/{NAME}", None, f"p/t2/{NAME}"),
        ("p", f"/t/{NAME}x", None, f"p/t/{NAME}x"),
        ("p", "/t", None, "p/t"),
        ("p", f"s3://b/{NAME}", None, f"ps3://b/{NAME}"),
    ],
)
def test_ids_of_vectors(kind: str, stored: str, offset: int | None, ending: str) -> None:
    """Alone, beside others of either kind, and beside files without one."""
    found = {"storageType": kind, "pathOrInlineDv": stored, "offset": offset, "sizeInBytes": 1, "cardinality": 1}
    others = [add("x", deletionVector=vector(1)), add("y"), add("z", deletionVector=vector(2, offset=None))]
    actions = [(one["add"], 0) for one in (add("a", deletionVector=found), *others)]
    for count in range(1, 5):
        keys = file_keys(file_rows(actions[:count], "add", "/t/log"), "/t", "/t/log").to_pylist()
        assert keys[0] == f"a\0{ending}".encode() and len(keys) == count
