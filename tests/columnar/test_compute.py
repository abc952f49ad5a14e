"""Arrow's functions as tableformats.columnar.compute has them: what pyarrow.compute gives for the same arguments."""

from __future__ import annotations

from typing import Any

import pyarrow as pa
import pyarrow.compute
import pytest

from tableformats.columnar import compute

NUMBERS = pa.array([1, None, 3])
TEXTS = pa.array(["a", None, "c"])
FLAGS = pa.array([True, None, False])
BATCH = pa.record_batch([NUMBERS, TEXTS], names=["number", "text"])

CALLS: list[tuple[str, tuple[Any, ...], dict[str, Any]]] = [
    ("is_null", (NUMBERS,), {}),
    ("and_", (FLAGS, True), {}),
    ("sum", (NUMBERS,), {}),
    ("sum", (NUMBERS,), {"skip_nulls": False}),
    ("all", (pa.array([], pa.bool_()),), {}),
    ("any", (FLAGS,), {"min_count": 0}),
    ("is_in", (NUMBERS, NUMBERS), {}),
    ("index_in", (NUMBERS,), {"value_set": pa.array([3])}),
    ("starts_with", (TEXTS, "a"), {}),
    ("replace_substring_regex", (TEXTS,), {"pattern": "a", "replacement": "b"}),
    ("binary_join_element_wise", (TEXTS, TEXTS, "-"), {}),
    ("binary_join_element_wise", (TEXTS, TEXTS, "-"), {"null_handling": "skip"}),
    ("coalesce", (NUMBERS, 0), {}),
    ("min_element_wise", (NUMBERS, 2), {"skip_nulls": False}),
    ("struct_field", (BATCH.to_struct_array(), [1]), {}),
    ("list_flatten", (pa.array([[1], None, [2, 3]]),), {}),
    ("dictionary_encode", (TEXTS, "encode"), {}),
    ("drop_null", (NUMBERS,), {}),
    ("filter", (NUMBERS, FLAGS), {}),
    ("filter", (BATCH, FLAGS), {}),
    ("take", (BATCH, pa.array([2, 0])), {}),
    ("take", (pa.chunked_array([NUMBERS, NUMBERS]), pa.array([4, None])), {}),
    ("cast", (NUMBERS, pa.string()), {}),
    ("cast", (pa.array([300]), pa.int8()), {"safe": False}),
    ("fill_null", (NUMBERS, 0), {}),
    ("fill_null", (NUMBERS, pa.scalar(7, pa.int8())), {}),
    ("fill_null", (NUMBERS, NUMBERS), {}),
]


@pytest.mark.parametrize(("name", "arguments", "options"), CALLS)
def test_gives_what_pyarrow_compute_gives(name: str, arguments: tuple[Any, ...], options: dict[str, Any]) -> None:
    ours = getattr(compute, name)(*arguments, **options)
    theirs = getattr(pyarrow.compute, name)(*arguments, **options)
    assert type(ours) is type(theirs)
    assert ours.equals(theirs)


@pytest.mark.parametrize(
    ("call", "error"),
    [
        (lambda: compute.cast(pa.array([300]), pa.int8()), pa.ArrowInvalid),
        (lambda: compute.take(NUMBERS, pa.array([3])), pa.ArrowIndexError),
        (lambda: compute.equal(NUMBERS, TEXTS), pa.ArrowNotImplementedError),
        (lambda: compute.equal(NUMBERS, NUMBERS, 1), TypeError),
        (lambda: compute.no_such_function, AttributeError),
        (lambda: compute.__no_such_name__, AttributeError),
    ],
)
def test_refuses_what_pyarrow_compute_refuses(call: Any, error: type[Exception]) -> None:
    with pytest.raises(error):
        call()


def test_what_it_cannot_make_is_that_of_pyarrow_compute() -> None:
    assert compute.scalar is pyarrow.compute.scalar
