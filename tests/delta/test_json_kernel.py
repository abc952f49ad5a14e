"""Arguments that the compiled JSON reader refuses, and how it finds lines and their heads."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tableformats_delta.json import _json
from tableformats_delta.json import reference as json_reference
from tableformats_delta.json.columns import JsonColumns, member_tree


class TestKernelArguments:
    def test_refused(self) -> None:
        data, tree = np.frombuffer(b"{}{}", np.uint8), member_tree((("a",),))
        for offsets in ([0, 5], [2, 1], [-1, 2]):
            with pytest.raises(ValueError, match="offsets"):
                _json.MemberColumns(np.array(offsets, np.int32), data, tree, 1)
        for chosen in ([2], [-1]):
            with pytest.raises(ValueError, match="chosen"):
                _json.MemberColumns(np.array([0, 2, 4], np.int32), data, tree, 1, np.array(chosen))
        with pytest.raises(ValueError, match="column"):
            _json.MemberColumns(np.array([0, 2], np.int32), data, tree, 0)
        members = _json.MemberColumns(np.array([0, 2], np.int32), data, tree, 1)
        cells = _json.Cells([("text", 0)], 1)
        for read in (members.int64, members.text, members.kinds, cells.cells, cells.values, cells.text):
            for column in (-1, 1):
                with pytest.raises(IndexError):
                    read(column)

    def test_cells_take_no_more_than_there_is_room_for(self) -> None:
        tree = member_tree((("a",),))
        members = _json.MemberColumns(np.array([0, 2], np.int32), np.frombuffer(b"{}", np.uint8), tree, 1)
        for types, n in (([("int64", 0)], 0), ([("int64", 0)] * 2, 5), ([], 5)):
            with pytest.raises(ValueError, match="cells"):
                _json.Cells(types, n).take(members)
        cells = _json.Cells([("int64", 0)], 1)
        assert cells.take(members) is False
        with pytest.raises(ValueError, match="cells"):
            cells.take(members)
        with pytest.raises(KeyError):
            _json.Cells([("float", 0)], 1)
        with pytest.raises(ValueError, match="fewer"):
            _json.Cells([], -1)

    def test_paths_as_a_tree(self) -> None:
        """Name, first child, number of children, column; -1: the member has none."""
        assert member_tree((("a", "b"), ("c",), ("a", "é"), ("a",))) == (
            (b"", 1, 2, -1),
            (b"a", 3, 2, 3),
            (b"c", 5, 0, 1),
            (b"b", 5, 0, 0),
            ("é".encode(), 5, 0, 2),
        )
        assert member_tree(()) == ((b"", 1, 0, -1),)

    def test_paths_that_lead_through_each_other(self) -> None:
        found = JsonColumns(pa.array(['{"a":1}', '{"a":{"b":2}}']), [("a",), ("a", "b")])
        assert found.integers(("a",)).to_pylist() == [1, None]
        assert found.integers(("a", "b")).to_pylist() == [None, 2]


@given(st.lists(st.sampled_from([b"\n", b"add", b"adds", b"re", b"", b"\0", b"\xff"]), max_size=12).map(b"".join))
def test_lines_and_their_heads(data: bytes) -> None:
    heads = [b"adds", b"add", b"re", b"adds:"]
    octets = np.frombuffer(data, np.uint8)
    found, expected = (module.line_starts(octets, heads) for module in (_json, json_reference))
    assert [part.tolist() for part in found] == [part.tolist() for part in expected]
    lines = [data[start:stop] for start, stop in zip(found[0][:-1], found[0][1:], strict=True)]
    assert b"".join(lines) == data[: data.rfind(b"\n") + 1]
    assert [line.startswith(b"add") for line in lines] == [0 <= kind < 2 for kind in found[1]]


def test_no_heads_or_too_many() -> None:
    assert _json.line_starts(np.frombuffer(b"x\n", np.uint8), [])[1].tolist() == [-1]
    with pytest.raises(ValueError, match="heads"):
        _json.line_starts(np.frombuffer(b"x\n", np.uint8), [b"x"] * 128)
