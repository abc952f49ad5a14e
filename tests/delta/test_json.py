"""The reader of JSON members: what Python's reader finds, from bounded memory, whatever the bytes are."""

from __future__ import annotations

import json
import math
import random
from decimal import Decimal
from types import ModuleType
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tableformats_delta.json import _json
from tableformats_delta.json import columns as json_columns
from tableformats_delta.json import reference as json_reference
from tableformats_delta.json.columns import JsonColumns, JsonTable

PATHS: list[tuple[str, ...]] = [("a",), ("n", "x"), ("n", "y.z"), ("m", "x"), ("é\n\U0001f600",)]
BY_HAND = json.dumps({"skip": [1, {"a": []}, '\\"', None], "a": 1, "n": {"x": 2.5, "q": {}, "y.z": "s\né"}, "m": {}})


@pytest.fixture(params=[_json, json_reference], ids=["compiled", "reference"])
def twin(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    for name in ("Cells", "MemberColumns"):
        monkeypatch.setattr(json_columns, name, getattr(request.param, name))
    module: ModuleType = request.param
    return module


class Columns(JsonColumns):
    """Members as columns and, as a table has them that was read piece by piece, in every type."""

    def __init__(self, text: pa.StringArray, paths: list[tuple[str, ...]], rows: Any = None) -> None:
        super().__init__(text, paths, rows)
        self._text, self._rows = text, np.arange(len(text)) if rows is None else rows
        self._tables: dict[pa.DataType, dict[tuple[str, ...], pa.Array]] = {}

    def _table(self, path: tuple[str, ...], kind: pa.DataType) -> pa.Array:
        if kind not in self._tables:
            whole = max(len(self._rows), 1)
            one, other = (self._read(kind, size) for size in (whole, max(whole // 3, 1)))
            assert repr([one[p].to_pylist() for p in one]) == repr([other[p].to_pylist() for p in other])
            self._tables[kind] = one
        return self._tables[kind][path]

    def _read(self, kind: pa.DataType, size: int) -> dict[tuple[str, ...], pa.Array]:
        table = JsonTable(dict.fromkeys(self._columns, kind), len(self._rows) + 1)
        for start in range(0, len(self._rows), size):
            table.read(self._text, np.ascontiguousarray(self._rows[start : start + size], np.int64))
        columns = table.columns()
        for column in columns.values():
            column.validate(full=pa.types.is_string(kind))
            assert len(column) == len(self._rows)
        return columns

    def integers(self, path: tuple[str, ...]) -> pa.Array:
        found = super().integers(path)
        assert found.equals(self._table(path, pa.int64()))
        return found

    def texts(self, path: tuple[str, ...]) -> pa.Array:
        found = super().texts(path)
        assert found.equals(self._table(path, pa.string()))
        return found

    def doubles(self, path: tuple[str, ...]) -> pa.Array:
        return self._table(path, pa.float64())

    def decimals(self, path: tuple[str, ...], scale: int) -> pa.Array:
        return self._table(path, pa.decimal128(38, scale))

    def booleans(self, path: tuple[str, ...]) -> pa.Array:
        return self._table(path, pa.bool_())


def columns(texts: list[Any], paths: list[tuple[str, ...]] | None = None, rows: Any = None) -> Columns:
    kind = pa.binary() if any(isinstance(text, bytes) for text in texts) else pa.string()
    array = pa.array([t.encode() if kind == pa.binary() and isinstance(t, str) else t for t in texts], kind)
    return Columns(array, paths or PATHS, rows)


def is_sound(text: str | bytes) -> bool:
    return bool(columns([text]).sound[0])


def everything(found: Columns, paths: list[tuple[str, ...]]) -> list[Any]:
    """All columns under all types."""
    kinds = [found.integers, found.doubles, found.texts, found.booleans, lambda path: found.decimals(path, 3)]
    return [found.sound.tolist(), *(kind(path).to_pylist() for path in paths for kind in kinds)]


def both(texts: list[Any], paths: list[tuple[str, ...]] | None = None, rows: Any = None) -> tuple[Any, Any]:
    answers = []
    for module in (_json, json_reference):
        with pytest.MonkeyPatch.context() as patch:
            for name in ("Cells", "MemberColumns"):
                patch.setattr(json_columns, name, getattr(module, name))
            answers.append(everything(columns(texts, paths, rows), paths or PATHS))
    return answers[0], answers[1]


@pytest.mark.usefixtures("twin")
class TestTexts:
    @pytest.mark.parametrize(
        "text",
        [
            "{}",
            " {} ",
            "\t\r\n{\n}\n",
            '{"a":1}',
            '{ "a" : 1 , "b" : [ ] }',
            '{"b":[{},[],{"c":[1,[2,{"d":null}]]}]}',
            '{"b":NaN}',
            '{"b":[-Infinity,Infinity]}',
            '{"b":-0}',
            '{"b":0.0e-0}',
            '{"b":1E+5}',
            '{"b":""}',
            '{"":1}',
            '{"b":"\\"\\\\\\/\\b\\f\\n\\r\\t\\u00e4\\ud800"}',
            '{"b":"\x7f\u00e4\u4e2d\U0001f600"}',
            '{"b":1,"b":2}',
            '{"b":' + "1" * 1024 + "}",
            '{"b":' * 127 + "{}" + "}" * 127,
            '{"b":' + "[" * 127 + "]" * 127 + "}",
        ],
    )
    def test_sound(self, text: str) -> None:
        assert is_sound(text)
        json.loads(text)

    @pytest.mark.parametrize(
        "text",
        [
            "",
            " ",
            "null",
            "1",
            "[]",
            '"x"',
            "{",
            "}",
            "{}}",
            "{}{}",
            "{} x",
            "{},",
            '{"a"}',
            '{"a":}',
            '{"a":1,}',
            "{,}",
            '{"a" 1}',
            '{"a":1 "b":2}',
            "{a:1}",
            "{'a':1}",
            '{"a":[1,]}',
            '{"a":[,]}',
            '{"a":[1 2]}',
            '{"a":[}',
            '{"a":{]}',
            '{"a":[1}',
            '{"b":{"c":1]}',
            '{"a":+1}',
            '{"a":.5}',
            '{"a":1.}',
            '{"a":01}',
            '{"a":-}',
            '{"a":1e}',
            '{"a":1e+}',
            '{"a":--1}',
            '{"a":-NaN}',
            '{"a":nan}',
            '{"a":tru}',
            '{"a":True}',
            '{"a":truex}',
            '{"a":nullnull}',
            '{"a":"\n"}',
            '{"a":"\0"}',
            '{"a":"\\x"}',
            '{"a":"\\u12"}',
            '{"a":"\\u12g4"}',
            '{"a":"',
            '{"a":"\\',
            '{"a":"\\"',
            '{"a\n":1}',
            "{}\0",
            "\ufeff{}",
            '{"b":' + "1" * 1025 + "}",
            '{"b":' * 128 + "{}" + "}" * 128,
            '{"b":' + "[" * 128 + "]" * 128 + "}",
            "[" * 100_000,
            '{"a":' * 100_000,
            '{"b":' + "[" * 100_000 + "}",
        ],
    )
    def test_malformed(self, text: str) -> None:
        assert not is_sound(text)

    @pytest.mark.parametrize(
        "octets",
        [
            b"\x80",
            b"\xc0\x80",
            b"\xc1\xbf",
            b"\xc3",
            b"\xe0\x80\x80",
            b"\xe0\x9f\xbf",
            b"\xed\xa0\x80",
            b"\xe4\xb8",
            b"\xf0\x80\x80\x80",
            b"\xf0\x8f\xbf\xbf",
            b"\xf4\x90\x80\x80",
            b"\xf5\x80\x80\x80",
            b"\xff",
            b"\xf0\x9f\x98",
        ],
    )
    def test_bad_utf8(self, octets: bytes) -> None:
        for before in range(9):  # at every place of a word
            pad = b"x" * before
            assert is_sound(b'{"b":"' + pad + "ä中\U0001f600".encode() + pad + b'"}')
            assert not is_sound(b'{"b":"' + pad + octets + pad + b'"}')
            assert not is_sound(b'{"' + pad + octets + b'":1}')
            assert not is_sound(b'{"b":"' + pad + octets)

    @pytest.mark.parametrize(
        ("text", "sound"),
        [
            ('{"a":1,"a":1}', False),
            ('{"a":1,"\\u0061":1}', False),
            ('{"n":{},"n":{}}', False),
            ('{"n":1,"n":2}', False),
            ('{"n":{"x":1,"x":1}}', False),
            ('{"n":{"x":1,"a":1,"a":1}}', True),
            ('{"a":{"a":1,"a":2}}', True),
            ('{"n":{"x":1},"m":{"x":1}}', True),
            ('{"N":1,"N":1}', True),
        ],
    )
    def test_a_wanted_member_that_stands_twice(self, text: str, sound: bool) -> None:
        found = columns(['{"a":7}', text, '{"a":8}'])
        assert found.sound.tolist() == [True, sound, True]
        assert found.integers(("a",)).to_pylist()[::2] == [7, 8]
        if not sound:
            assert all(found.integers(path)[1].as_py() is None for path in PATHS)

    def test_escaped_and_unusual_names(self) -> None:
        spelled = ['{"\\u0061":1}', '{"a":1}', '{"\\u0041":1}', '{"a\\u0000":1}', '{"\\ud83d":1}', '{"\\"":1}']
        assert columns(spelled).integers(("a",)).to_pylist() == [1, 1, None, None, None, None]
        name = PATHS[-1]
        spelled = [
            json.dumps({name[0]: 1}),
            '{"é\\n\U0001f600":2}',
            '{"\\u00e9\\n\\ud83d\\ude00":3}',
            '{"é\\n\\ud83d":4}',
            '{"é\\n\\ud83d\\u0041":5}',
        ]
        assert columns(spelled).integers(name).to_pylist() == [1, 2, 3, None, None]
        assert columns(['{"\\ud800":1}'], [("\ud800",)]).integers(("\ud800",)).to_pylist() in ([None], [1])

    def test_names_that_move_from_text_to_text(self) -> None:
        texts = [
            '{"a":1,"n":{"x":2}}',
            '{"n":{"x":2},"a":1}',
            '{"x":9,"a":1,"n":{"a":9,"x":2}}',
            '{"a":1,"n":{"x":2}}',
            '{"ab":9,"a":1,"n":{"x":2}}',
            '{"":9,"a":1,"n":{"":9,"x":2}}',
            '{"m":{"x":9},"a":1,"n":{"x":2}}',
        ]
        found = columns(texts)
        assert found.integers(("a",)).to_pylist() == [1] * len(texts)
        assert found.integers(("n", "x")).to_pylist() == [2] * len(texts)

    def test_more_members_than_are_remembered(self) -> None:
        many = {f"k{i}": i for i in range(600)}
        texts = [json.dumps({**many, "a": i, **{f"l{i}": 0 for i in range(600)}, "n": {"x": -i}}) for i in range(3)]
        found = columns(texts)
        assert found.integers(("a",)).to_pylist() == [0, 1, 2]
        assert found.integers(("n", "x")).to_pylist() == [0, -1, -2]

    def test_objects_where_values_are_wanted_and_the_other_way_round(self) -> None:
        found = columns(['{"a":{"x":1},"n":7}', '{"a":[1],"n":[{"x":1}]}', '{"n":{"x":{"x":1}}}'])
        assert found.sound.all()
        for path in PATHS:
            assert found.integers(path).null_count == found.texts(path).null_count == 3

    def test_chosen_rows_nulls_and_slices(self) -> None:
        texts = pa.array([f'{{"a":{i}}}' if i != 4 else None for i in range(9)]).slice(2)
        assert JsonColumns(texts, [("a",)], np.array([0, 2, 3, 6])).integers(("a",)).to_pylist() == [2, None, 5, 8]
        assert JsonColumns(texts, [("a",)], np.array([], np.int64)).integers(("a",)).to_pylist() == []
        hidden = pa.StringArray.from_buffers(
            2, pa.py_buffer(np.array([0, 7, 14], np.int32)), pa.py_buffer(b'{"a":1}{"a":2}'), pa.py_buffer(b"\x02")
        )
        assert JsonColumns(hidden, [("a",)]).integers(("a",)).to_pylist() == [None, 2]

    def test_nothing(self) -> None:
        assert JsonColumns(pa.array([], pa.string()), [("a",)]).texts(("a",)).to_pylist() == []
        assert JsonColumns(pa.array(["{}", "x"]), []).sound.tolist() == [True, False]


@pytest.mark.usefixtures("twin")
class TestValues:
    def one(self, spelled: str, kind: str, *more: Any) -> Any:
        found = columns([f'{{"a":{spelled}}}'])
        assert found.sound[0]
        return getattr(found, kind)(("a",), *more)[0].as_py()

    @pytest.mark.parametrize(
        ("spelled", "value"),
        [
            ("0", 0),
            ("-0", 0),
            ("7", 7),
            ("999999999999999999", 10**18 - 1),
            ("9223372036854775807", 2**63 - 1),
            ("-9223372036854775808", -(2**63)),
            ("9223372036854775808", None),
            ("-9223372036854775809", None),
            ("1" * 1024, None),
            ("5.0", 5),
            ("5e3", 5000),
            ("-1.5e1", -15),
            ("5.5", None),
            ("1e18", 10**18),
            ("1e19", None),
            ("1e400", None),
            ("1e-400", None),
            ("1e999999999999", None),
            ("NaN", None),
            ("-Infinity", None),
            ('"5"', None),
            ("true", None),
            ("null", None),
            ("[5]", None),
            ("{}", None),
            ("18446744073709551617", None),
            ("9007199254740993", 2**53 + 1),
            ("9007199254740993.0", 2**53 + 1),
        ],
    )
    def test_integers(self, spelled: str, value: int | None) -> None:
        assert self.one(spelled, "integers") == value

    @pytest.mark.parametrize(
        "spelled",
        [
            "0",
            "1",
            "0.1",
            "-2.5",
            "9007199254740992",
            "9007199254740993",
            "123456789012345678",
            "1e22",
            "1e23",
            "1e-22",
            "1e-23",
            "9007199254740993e-3",
            "1.7976931348623157e308",
            "1.7976931348623159e308",
            "5e-324",
            "2e-324",
            "2.2250738585072011e-308",
            "0.000000000000000000000001",
            "8.41e21",
            "9.0e15",
            "1e400",
            "-1e400",
            "1e-400",
            "1" * 400,
            "-" + "1" * 400,
            "0e999999",
            "3.14159265358979323846264338327950288",
            "6.02214076E+23",
        ],
    )
    def test_doubles_are_correctly_rounded(self, spelled: str) -> None:
        for text in (spelled, "-" + spelled.lstrip("-")):
            assert self.one(text, "doubles") == float(text)

    def test_other_doubles(self) -> None:
        assert math.copysign(1, self.one("-0.0", "doubles")) == -1
        assert math.isnan(self.one("NaN", "doubles"))
        assert self.one("-Infinity", "doubles") == -math.inf
        spelled = ('"Infinity"', '"-inf"', '"1.5"', '"x"', '""', "true", '"\\u0031"')
        values = [math.inf, -math.inf, 1.5, None, None, None, 1.0]
        assert [self.one(s, "doubles") for s in spelled] == values

    @pytest.mark.parametrize(
        ("spelled", "scale", "value"),
        [
            ("1.5", 2, "1.50"),
            ("-1.5", 2, "-1.50"),
            ("0", 0, "0"),
            ("-0.00", 1, "0.0"),
            ("1.2300", 2, "1.23"),
            ("1.234", 2, None),
            ("9" * 38, 0, "9" * 38),
            ("-" + "9" * 38, 0, "-" + "9" * 38),
            ("1" + "0" * 38, 0, None),
            ("9" * 36 + ".99", 2, "9" * 36 + ".99"),
            ("9" * 37, 2, None),
            ("0." + "0" * 37 + "1", 38, "0." + "0" * 37 + "1"),
            ("0.1", 38, "0.1"),
            ("1", 38, None),
            ("18446744073709551616", 0, "18446744073709551616"),
            ("0" + ".000" + "1" * 30, 33, "0.000" + "1" * 30),
            ("1E-3", 3, "0.001"),
            ("12e1", 1, "120.0"),
            ('"1.5"', 1, "1.5"),
            ('"NaN"', 1, None),
            ("NaN", 1, None),
            ("Infinity", 1, None),
            ("1e99999999999", 1, None),
            ("true", 1, None),
            ("-170141183460469231731687303715884105728", 0, None),
            ("-18446744073709551616", 0, "-18446744073709551616"),
        ],
    )
    def test_decimals(self, spelled: str, scale: int, value: str | None) -> None:
        assert self.one(spelled, "decimals", scale) == (None if value is None else Decimal(value))

    @pytest.mark.parametrize(
        ("spelled", "value"),
        [
            ('""', ""),
            ('"x"', "x"),
            ('"\\"\\\\\\/\\b\\f\\n\\r\\t"', '"\\/\b\f\n\r\t'),
            ('"\\u0000\\u007F"', "\0\x7f"),
            ('"\\u07ff\\u0800\\uffff\\ud800\\udc00\\uDBFF\\uDFFF"', "\u07ff\u0800\uffff\U00010000\U0010ffff"),
            ('"\\ud800"', None),
            ('"\\udc00"', None),
            ('"\\ud800x"', None),
            ('"\\ud800\\n"', None),
            ('"\\ud800\\ud800"', None),
            ('"ä中\U0001f600"', "ä中\U0001f600"),
            ("1", None),
            ("null", None),
            ("[]", None),
        ],
    )
    def test_texts(self, spelled: str, value: str | None) -> None:
        assert self.one(spelled, "texts") == value

    def test_booleans(self) -> None:
        spelled = ("true", "false", "null", "1", '"true"')
        assert [self.one(s, "booleans") for s in spelled] == [True, False, None, None, None]


SCALARS = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(),
    st.integers(-(2**65), 2**65),
    st.floats(),
    st.text(max_size=5),
    st.decimals(allow_nan=False, places=3),
    st.sampled_from(["NaN", "-Infinity", "1.5", "\ud800", "\U0001f600"]),
)
NAMES = st.sampled_from(["a", "n", "m", "x", "y.z", "b", "é\n\U0001f600", "\ud800"])
VALUES = st.recursive(
    SCALARS,
    lambda inner: st.one_of(st.lists(inner, max_size=3), st.dictionaries(NAMES, inner, max_size=5)),
    max_leaves=12,
)


def dump(value: Any, ascii_only: bool) -> str:
    if isinstance(value, dict):
        return "{" + " ,".join(f"{dump(k, ascii_only)}: {dump(v, ascii_only)}" for k, v in value.items()) + "}"
    if isinstance(value, list):
        return "[" + ",\n".join(dump(v, ascii_only) for v in value) + "]"
    if isinstance(value, Decimal):
        return format(value, "f")
    text = json.dumps(value, ensure_ascii=ascii_only)
    return text if ascii_only or not any("\ud800" <= c <= "\udfff" for c in text) else json.dumps(value)


TEXTS = st.builds(dump, st.dictionaries(NAMES, VALUES, max_size=6), st.booleans())


def expected(text: str, path: tuple[str, ...]) -> tuple[Any, Any, Any, Any]:
    """What Python's reader finds of one member: as integer, double (of numbers alone), text, boolean."""
    here = json.loads(text, parse_float=lambda spelled: Decimal(spelled).normalize())
    for name in path:
        here = here.get(name) if isinstance(here, dict) else None
    number = here if isinstance(here, (int, Decimal)) and not isinstance(here, bool) else None
    whole = number is not None and number == int(number) and -(2**63) <= number < 2**63
    surrogate = isinstance(here, str) and any("\ud800" <= c <= "\udfff" for c in here)
    return (
        int(number) if number is not None and whole else None,
        None if number is None else float(str(number)),
        here if isinstance(here, str) and not surrogate else None,
        here if isinstance(here, bool) else None,
    )


@given(TEXTS)
def test_python_reader_finds_the_same(text: str) -> None:
    found = columns([text])
    assert found.sound.tolist() == [True]
    for path in PATHS:
        integer, double, string, boolean = expected(text, path)
        assert found.integers(path).to_pylist() == [integer]
        assert found.texts(path).to_pylist() == [string]
        assert found.booleans(path).to_pylist() == [boolean]
        if double is not None:
            assert found.doubles(path).to_pylist() == [double]


@given(
    st.lists(st.one_of(st.none(), TEXTS, st.text(alphabet='{}[]":,1anxe+-.\\u \n', max_size=24)), max_size=5), st.data()
)
def test_twins_agree(texts: list[str | None], data: st.DataObject) -> None:
    """On whole texts, on what is none, and on bytes that were damaged."""
    damaged = []
    for text in texts:
        octets = bytearray((text or "").encode("utf-8", "surrogatepass"))
        for _ in range(data.draw(st.integers(0, 2)) if octets else 0):
            octets[data.draw(st.integers(0, len(octets) - 1))] = data.draw(st.integers(0, 255))
        damaged.append(None if text is None else bytes(octets))
    rows = data.draw(st.one_of(st.none(), st.sets(st.integers(0, max(len(texts) - 1, 0)), max_size=len(texts))))
    answer, other = both(damaged or [b""], rows=None if rows is None else np.array(sorted(rows), np.int64))
    assert repr(answer) == repr(other)


def test_damaged_at_every_byte() -> None:
    """Cut at every byte, and every byte made every other one that means something: the twins say the same."""
    whole = BY_HAND.encode()
    texts = [whole[:n] for n in range(len(whole))]
    assert not any(columns(list(texts)).sound)
    for octet in b'"\\{}[],:0-.eEtn u\n\x00\x1f\x7f\x80\xc3\xff':
        texts += [whole[:n] + bytes([octet]) + whole[n + 1 :] for n in range(len(whole))]
    answer, other = both(list(texts))
    assert repr(answer) == repr(other)
    assert 0 < sum(answer[0]) < len(texts) // 2


@pytest.mark.parametrize("seed", range(3))
def test_texts_within_texts(seed: int) -> None:
    """Strings with many escapes are read 64 bytes at once, wherever these begin and end."""
    chance = random.Random(seed)
    quotes, others = ['"', '":', '{"', ',"'], ["\\", '\\"', "\n", "/", "é", "\U0001f600", "\x7f"]
    texts = []
    for size in range(200):
        pieces = chance.choices([*quotes, *others, "name", "x" * 15, "y" * 40], [9] * 4 + [1] * 7 + [3] * 3, k=size)
        inner = "".join(pieces)
        texts.append(json.dumps({"a": inner, "n": {"x": len(inner)}}, ensure_ascii=bool(size % 2)))
        assert columns([texts[-1]]).texts(("a",)).to_pylist() == [inner]
    answer, other = both(texts)
    assert repr(answer) == repr(other)


def test_a_text_within_a_text_damaged_at_every_byte() -> None:
    whole = json.dumps({"a": json.dumps({f"column {i}": "v" * (i % 5) for i in range(12)})}).encode()
    texts = [whole[:n] for n in range(len(whole))]
    for octet in b'"\\u\n\x80\xc3':
        texts += [whole[:n] + bytes([octet]) + whole[n + 1 :] for n in range(len(whole))]
    answer, other = both(list(texts), [("a",)])
    assert repr(answer) == repr(other)
    assert 0 < sum(answer[0]) < len(texts) // 2


def test_kinds_of_values(twin: ModuleType) -> None:
    values = ["-5", "0", "1.5", "-1e3", "true", "false", "null", '"x"', "{}", "[]"]
    text = pa.array([f'{{"a": {value}}}' for value in values] + ["{}"])
    names = ["INTEGER", "INTEGER", "REAL", "REAL", "TRUE", "FALSE", "NULL", "TEXT", "OBJECT", "ARRAY", "ABSENT"]
    order = ["ABSENT", "NULL", "FALSE", "TRUE", "INTEGER", "REAL", "TEXT", "ESCAPED", "OBJECT", "ARRAY"]
    assert JsonColumns(text, [("a",)]).kinds(("a",)).tolist() == [order.index(name) for name in names]
