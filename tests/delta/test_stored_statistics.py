"""Statistics of files in the forms of a checkpoint: as structs, as text, or both."""

from __future__ import annotations

import datetime as dt
import json

import pyarrow as pa
import pytest
from tableformats_delta.maintenance.stored_statistics import StoredStatistics
from tableformats_delta.statistics.stats_struct import stats_columns, stats_type

from tableformats.schema import Field, PrimitiveType, Schema

from .test_checkpoint_writing import FORMS


@pytest.mark.parametrize("form", FORMS)
def test_statistics_that_are_known_in_several_forms(form: str) -> None:
    """Of each file those are kept that one of the forms has; a struct is not rounded by way of a text."""
    schema = Schema((Field(1, "t", PrimitiveType("timestamp")),))
    own = StoredStatistics.of(schema, (), FORMS[form])
    kind = stats_type(stats_columns(schema, (), {}))
    exact = {"numRecords": 3, "minValues": {"t": dt.datetime(1970, 1, 1, 0, 0, 1, 1, dt.timezone.utc)}}
    parsed, text = pa.array([exact, None, exact, None], kind), '{"numRecords":5}'
    texts = pa.array([text, text, None, None])
    for has_texts, has_structs, counts in [
        (True, True, [5, 5, 3, None]),
        (True, False, [5, 5, None, None]),
        (False, True, [3, None, 3, None]),
        (False, False, [None] * 4),
    ]:
        made = own.made(4, texts if has_texts else None, parsed if has_structs else None)
        assert made.keys() == own.members.keys()
        found = {"stats_parsed": [], **{name: column.to_pylist() for name, column in made.items()}}
        for stored in (found["stats_parsed"], [one and json.loads(one) for one in found.get("stats", [])]):
            assert not stored or [one and one["numRecords"] for one in stored] == counts
        assert not found["stats_parsed"] or has_texts or not has_structs or made["stats_parsed"].equals(parsed)
