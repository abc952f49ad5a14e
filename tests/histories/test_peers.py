"""Known bugs of writers, staged for our peers and for us: the peers' faults are found, and we are right."""

from __future__ import annotations

import warnings

import pytest

from .peers import CASES, _put_by_us, _race, right

MENDED = ("two overwrites", "two deletes, Delta", "two deletes, Iceberg")
"""Where the releases of the peers that are installed are right, too."""
STAGED = [name for name in CASES if name != "several winners"]


@pytest.mark.parametrize("name", STAGED)
def test_we_are_right(name: str) -> None:
    outcome = CASES[name][3]()
    assert right(outcome), outcome


@pytest.mark.parametrize("name", STAGED)
def test_the_fault_of_the_peer_is_found(name: str) -> None:
    """Where a release of the peer is right, this test says that the table of docs/measured/histories.md is old."""
    pytest.importorskip("deltalake" if CASES[name][1] == "deltalake" else "pyiceberg_core")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        outcome = CASES[name][2]()
    assert right(outcome) == (name in MENDED), outcome


def test_each_local_file_has_one_winner() -> None:
    outcome = _race(_put_by_us, rounds=1, count=100, processes=3)
    assert right(outcome), outcome
