"""Metadata files of which one value is damaged: the error, or what the verifier says, is the one that is pinned.

Each value of a file of each version is removed, or becomes a neighbour or something of another type.
"""

from __future__ import annotations

import json

import pytest

from tests.iceberg import metadata_cases as cases
from tests.support import leaves

PINNED = json.loads(cases.PINNED.read_text("utf-8"))


SHARES = [(name, (k, n)) for name, n in zip(cases.DOCUMENTS, (1, 6, 1), strict=True) for k in range(n)]


@pytest.mark.parametrize(("name", "share"), SHARES, ids=str)
def test_a_damaged_value_has_its_outcome(name: str, share: leaves.Share) -> None:
    document = cases.DOCUMENTS[name]
    assert cases.outcome_of(document).startswith("sound")
    found = leaves.outcomes(document, cases.outcome_of, share=share)
    assert found == leaves.pinned_share(PINNED[name], document, share)
