"""What Spark is given of deletes, without Spark: bits of positions, and chains of sets of equality deletes."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pyroaring import BitMap64

from tableformats.engines.spark.deletes import equality, positions
from tableformats.engines.spark.deletes.positions import as_lists, in_pieces, pages_of
from tableformats.errors import LimitExceededError


@given(st.lists(st.frozensets(st.integers(0, 5)), max_size=12))
def test_chains_say_what_the_sets_say(sets: list[frozenset[int]]) -> None:
    chains, chain, rank = equality.chains_of(sets)
    tables = {d: pa.table({"9": [d]}) for d in range(6)}
    keys = equality.keys_of_chains(chains, tables).to_pylist() if chains else []
    for i, wanted in enumerate(sets):
        applied = {key["0"] for key in keys if key["chain"] == chain[i] and rank[i] <= key["rank"]}
        assert applied == wanted


POSITIONS = st.frozensets(st.integers(0, 20_000) | st.integers(0, 2**31), max_size=40)


def _near(deleted: frozenset[int]) -> set[int]:
    near = {row + step for row in deleted for step in (-4096, -64, -1, 0, 1, 64, 4096) if row + step >= 0}
    return near | set(range(0, 25_000, 997))


@given(POSITIONS)
def test_lists_hold_exactly_the_deleted_positions(deleted: frozenset[int]) -> None:
    pages, words = (one[0].as_py() for one in as_lists([pages_of(BitMap64(deleted), "f")]).columns)

    def is_deleted(row: int) -> bool:
        start = pages[row >> 12] if row >> 12 < len(pages) else None
        return start is not None and words[start + (row >> 6 & 63)] >> (row & 63) & 1 == 1

    for row in _near(deleted):
        assert is_deleted(row) == (row in deleted), row


@given(st.lists(POSITIONS, max_size=6), st.sampled_from([0, 4_000, 4 << 20]))
def test_pieces_hold_exactly_the_deleted_positions(deleted: list[frozenset[int]], size: int) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(positions, "_PIECE_BYTES", size)
        pieces = list(in_pieces(pages_of(BitMap64(rows), "f") for rows in deleted))
    files = [(int(start), piece) for starts, piece in pieces for start in starts]
    assert len(files) == len(deleted) and all(start > 0 for start, _ in files)
    if size == 0:
        assert len(pieces) == len(deleted)

    def is_deleted(file: int, row: int) -> bool:
        start, piece = files[file]
        table = np.frombuffer(piece, ">i4", offset=start, count=2 + int.from_bytes(piece[start : start + 4], "big"))
        bits = int(table[1 + min(row >> 12, table[0])])
        return piece[bits + (row >> 3 & 511)] >> (row & 7) & 1 == 1

    for file, rows_of in enumerate(deleted):
        for row in _near(rows_of):
            assert is_deleted(file, row) == (row in rows_of), row


def test_positions_beyond_all_files_are_refused() -> None:
    with pytest.raises(LimitExceededError) as caught:
        pages_of(BitMap64([1 << 40]), "f.parquet")
    assert caught.value.path == "f.parquet"


def test_bits_that_one_value_cannot_hold_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    """Places in a piece are int32: they must not wrap around, however high the limits are."""
    assert positions._MOST_BYTES + 2 * positions._PAGE_BYTES <= 2**31
    monkeypatch.setattr(positions, "_MOST_BYTES", 4 + 512)
    pages_of(BitMap64([5, 4095]), "f.parquet")
    with pytest.raises(LimitExceededError) as caught:
        pages_of(BitMap64([5, 4096]), "f.parquet")
    assert caught.value.path == "f.parquet" and caught.value.hint
