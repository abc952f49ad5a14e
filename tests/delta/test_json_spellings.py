"""Numbers in every spelling, many texts at once, against Python's decimal numbers and floats."""

from __future__ import annotations

import decimal
import random
from types import ModuleType
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from tableformats_delta.json import _json
from tableformats_delta.json import columns as json_columns
from tableformats_delta.json import reference as json_reference
from tableformats_delta.json.columns import JsonColumns, JsonTable

EXACT = decimal.Context(prec=100)
PLAIN = [
    *("0", "-0", "7", "-1.5", "5.0", "5e3", "-25e-1", "1E2", "0.1", "12345678901234567.25", "1e-30", "1e400", "-1e400"),
    *("9223372036854775807", "9223372036854775808", "-9223372036854775808", "-9223372036854775808.0", "-9.3e18"),
    *("9223372036854775807.0", "9.223372036854775808e18", "1e18", "1e19", "-1e19", "18446744073709551616.5"),
    *("-18446744073709551616.25", "9" * 36 + ".5", "-" + "9" * 36 + ".5", "9" * 37, "-" + "9" * 38, "1" + "0" * 38),
    *("170141183460469231731687303715884105.5", "-1.7014118346046923e34", "3" * 20 + "e2", "-" + "7" * 30 + "e-1"),
    *("1" * 400, "-" + "1" * 400),
]
QUOTED = [f'"{one}"' for one in PLAIN]
OTHER = ["null", "true", '"x"', '""', '"\\u0031"', "[1]", "{}", '"1"']


def number_of(spelled: str) -> decimal.Decimal | None:
    try:
        return decimal.Decimal(spelled.strip('"').replace("\\u0031", "1"))
    except decimal.InvalidOperation:
        return None


def integer(spelled: str) -> int | None:
    number = number_of(spelled)
    if spelled[0] == '"' or number is None or number != number.to_integral_value(context=EXACT):
        return None
    return int(number) if -(2**63) <= number < 2**63 else None


def fixed(spelled: str, scale: int) -> decimal.Decimal | None:
    number = number_of(spelled)
    if number is None or number.copy_abs() >= decimal.Decimal(f"1e{38 - scale}"):
        return None
    scaled = number.scaleb(scale, EXACT)
    return number if scaled == scaled.to_integral_value(context=EXACT) else None


@pytest.fixture(params=[_json, json_reference], ids=["compiled", "reference"])
def spelled(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    twin: ModuleType = request.param
    for name in ("Cells", "MemberColumns"):
        monkeypatch.setattr(json_columns, name, getattr(twin, name))
    found = [*PLAIN, *QUOTED, *OTHER]
    random.Random(3).shuffle(found)
    return found


def column(spelled: list[str], kind: pa.DataType) -> list[Any]:
    table = JsonTable({("a",): kind}, len(spelled))
    text = pa.array([f'{{"b": 1, "a": {one}}}' for one in spelled])
    for start in range(0, len(spelled), 40):
        table.read(text, np.arange(start, min(start + 40, len(spelled))))
    found: list[Any] = table.columns()["a",].to_pylist()
    return found


def test_integers(spelled: list[str]) -> None:
    expected = [integer(one) for one in spelled]
    assert column(spelled, pa.int64()) == expected
    text = pa.array([f'{{"a": {one}}}' for one in spelled])
    assert JsonColumns(text, [("a",)]).integers(("a",)).to_pylist() == expected


@pytest.mark.parametrize("chosen", [slice(None), slice(0, len(PLAIN))], ids=["all", "numbers"])
def test_doubles(spelled: list[str], chosen: slice) -> None:
    some = spelled if chosen == slice(None) else PLAIN
    numbers = [number_of(one) for one in some]
    assert column(some, pa.float64()) == [None if one is None else float(one) for one in numbers]


@pytest.mark.parametrize("scale", [0, 2, 30])
def test_decimals(spelled: list[str], scale: int) -> None:
    assert column(spelled, pa.decimal128(38, scale)) == [fixed(one, scale) for one in spelled]


@pytest.mark.parametrize("inner", ["1", "[]", "{}", "[1]", '{"a": 1}', "[[], 1]", '{"a": {}, "b": 1}'])
def test_both_readers_take_texts_of_one_depth(inner: str, monkeypatch: pytest.MonkeyPatch) -> None:
    found = []
    for twin in (_json, json_reference):
        monkeypatch.setattr(json_columns, "MemberColumns", twin.MemberColumns)
        deep = [f'{{"a": {"[" * depth}{inner}{"]" * depth}}}' for depth in range(json_reference.DEPTH + 1)]
        sound = JsonColumns(pa.array(deep), [("a",)]).sound.tolist()
        assert sound == sorted(sound, reverse=True) and set(sound) == {True, False}
        found.append(sound)
    assert found[0] == found[1]
