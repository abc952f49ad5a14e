"""Credentials never show: a canary in everything that may hold one, and a look at all that a caller can see of us.

The store is fsspec's, in memory, and one whose every error says what it was given, as stores do.
"""

from __future__ import annotations

import inspect
import logging
import pickle
import traceback
from collections.abc import Callable, Iterator
from dataclasses import fields, is_dataclass
from pathlib import Path
from typing import Any

import fsspec
import pytest
from fsspec.implementations.memory import MemoryFileSystem

import tableformats as tf
from tableformats.io.redaction import HiddenOptions, Redactor, without_credentials
from tableformats.io.storage import Storage

GOLDEN = Path(__file__).resolve().parents[1] / "golden"
CANARY = "c4nary+S3cret/=="
NESTED = {"secret": CANARY, "client_kwargs": {"auth": ["user", {"token": CANARY + "2"}]}, "raw": CANARY.encode()}
TABLES = {"delta": "tables/delta-evolved", "iceberg": "tables/iceberg-evolved"}
VECTORS = {"delta": "tables_jvm/delta-deletion-vectors", "iceberg": "tables_jvm/iceberg-deletion-vectors"}


class Leaky(MemoryFileSystem):
    """A store whose errors show its options; ``failing`` are the methods that fail."""

    protocol = "leaky"
    store: dict[str, Any] = {}
    pseudo_dirs = [""]
    cachable = False
    failing: set[str] = set()

    def __init__(self, **options: Any) -> None:
        super().__init__()
        self.given = options
        self._fail("__init__")

    def __repr__(self) -> str:
        return f"Leaky({self.given})"

    def _fail(self, name: str) -> None:
        if name in self.failing:
            try:
                raise ValueError(f"403 of https://h/x?sig={self.given['secret']}", self.given)
            except ValueError as error:
                raise OSError(13, f"denied: {self.given}", f"https://h/x?sig={self.given['secret']}") from error

    def open(self, path: str, mode: str = "rb", **options: Any) -> Any:
        self._fail("open")
        return Broken(super().open(path, mode, **options), self)

    def info(self, path: str, **options: Any) -> Any:
        self._fail("info")
        return super().info(path, **options)

    def find(self, path: str, **options: Any) -> Any:
        self._fail("find")
        return super().find(path, **options)


class Broken:
    def __init__(self, inner: Any, store: Leaky) -> None:
        self._inner, self._store = inner, store

    def __getattr__(self, name: str) -> Any:
        return getattr(self._inner, name)

    def read(self, *size: int) -> Any:
        self._store._fail("read")
        return self._inner.read(*size)


@pytest.fixture(autouse=True)
def store(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    fsspec.register_implementation("leaky", Leaky, clobber=True)
    for group in (TABLES, VECTORS):
        for name in group.values():
            for file in (GOLDEN / name / "table").rglob("*"):
                if file.is_file():
                    MemoryFileSystem.pipe_file(
                        Leaky(), f"/{name}/{file.relative_to(GOLDEN / name / 'table')}", file.read_bytes()
                    )
    yield
    Leaky.store.clear()
    Leaky.pseudo_dirs[:] = [""]
    Leaky.failing = set()


def opened(name: str, **options: Any) -> tf.Table:
    given = {"storage_options": NESTED, "relocate": "iceberg" in name, **options}
    return tf.open_table(f"leaky://{name}", **given)


def clean(text: str | bytes) -> bool:
    data = text if isinstance(text, bytes) else text.encode(errors="replace")
    return b"c4nary" not in data


# ---- what can be seen -----------------------------------------------------------------------------------------------


def reachable(start: Any) -> Iterator[tuple[str, Any]]:
    """Everything of ours behind ``start``: attributes, properties without arguments, members, to any depth."""
    left, seen = [("it", start)], set()
    while left:
        name, value = left.pop()
        if id(value) in seen or isinstance(value, (str, int, float, bool, type(None), type)) or name.count(".") > 12:
            continue
        seen.add(id(value))
        yield name, value
        if isinstance(value, HiddenOptions):
            continue
        if isinstance(value, (list, tuple, set, frozenset)):
            left += [(f"{name}[{i}]", v) for i, v in enumerate(list(value)[:20])]
        elif isinstance(value, dict):
            left += [(f"{name}[{k!r}]", v) for k, v in list(value.items())[:20]]
        if not type(value).__module__.startswith("tableformats"):
            continue
        names = {f.name for f in fields(value)} if is_dataclass(value) else set()
        names |= {n for n in dir(value) if not n.startswith("_")}
        for member in sorted(names):
            try:
                found = inspect.getattr_static(type(value), member, None)
                if not callable(found) or isinstance(found, property):
                    left.append((f"{name}.{member}", getattr(value, member)))
            except (tf.TableFormatsError, AttributeError):
                continue


def look(start: Any) -> int:
    count = 0
    for name, value in reachable(start):
        count += 1
        assert clean(repr(value)) and clean(str(value)), name
        for method in ("explain", "_repr_html_"):
            if hasattr(value, method):
                assert clean(getattr(value, method)()), name
    return count


def products(table: tf.Table) -> dict[str, Any]:
    scan = table.scan("id > 2")
    plan = scan.plan()
    return {
        "table": table,
        "snapshot": scan.snapshot,
        "scan": scan,
        "plan": plan,
        "tasks": list(plan.tasks()),
        "splits": plan.splits(),
        "report": plan.report,
        "report values": plan.report.as_dict(),
        "files": plan.files,
        "storage": table.storage,
        "cache": table.cache,
        "history": table.history(),
        "inspector": table.inspect,
        "changes": None if table.format == "iceberg" else table.changes(1, 2),
        "schema": scan.schema,
        "rows": scan.to_arrow(),
        "filesystem": table.storage.filesystem,
        "options": table.storage.options,
    }


@pytest.mark.parametrize("name", TABLES.values())
def test_nothing_shows_it(name: str, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG)
    for cache in (True, tf.MetadataCache()):
        found = products(opened(name, cache=cache))
        assert {key: look(value) for key, value in found.items() if value is not None}["plan"] > 20
    assert clean(caplog.text)


@pytest.mark.parametrize("name", TABLES.values())
def test_no_pickle_has_it(name: str) -> None:
    found = products(opened(name))
    for key in ("table", "snapshot", "scan", "plan", "tasks", "splits", "report", "storage", "cache", "changes"):
        assert clean(pickle.dumps(found[key])), key
    for key in ("options", "filesystem"):
        with pytest.raises(TypeError):
            pickle.dumps(found[key])


def test_all_public_names_are_looked_at() -> None:
    """Classes whose instances hold no store are named here, so that a new one is thought of."""
    values = {
        "Commit",
        "Expression",
        "Field",
        "Schema",
        "Limits",
        "MetadataCache",
        "Column",
        "PartitionField",
        "ScanReport",
    }
    with_store = {"CatalogTransaction", "Changes", "Inspector", "Scan", "ScanPlan", "ScanTask", "Snapshot", "Table"}
    classes = {name for name in tf.__all__ if isinstance(getattr(tf, name), type)}
    errors = {name for name in classes if issubclass(getattr(tf, name), tf.TableFormatsError)}
    assert classes == values | with_store | errors


# ---- errors ---------------------------------------------------------------------------------------------------------


def chain(error: BaseException) -> Iterator[BaseException]:
    left, seen = [error], set()
    while left:
        one = left.pop()
        if id(one) not in seen:
            seen.add(id(one))
            yield one
            left += [e for e in (one.__cause__, one.__context__) if e is not None]


CALLS: dict[str, Callable[[tf.Table], Any]] = {
    "snapshot": lambda t: t.snapshot(),
    "plan": lambda t: t.scan().plan(),
    "read": lambda t: t.scan().to_arrow(),
    "count": lambda t: t.scan("id > 3").count(),
    "history": lambda t: t.history(),
    "files": lambda t: t.inspect.files(),
    "version": lambda t: t.snapshot(12345),
    "filter": lambda t: t.scan("no > 1"),
    "columns": lambda t: t.scan(columns=["no"]),
    "time": lambda t: t.snapshot(timestamp="x"),
}


@pytest.mark.parametrize("failing", ["open", "info", "find", "read", "__init__", None])
@pytest.mark.parametrize("format", ["delta", "iceberg"])
def test_no_error_says_it(format: str, failing: str | None, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG)
    failed = 0
    for name in (TABLES[format], VECTORS[format]):
        for early in (True, False):
            for call in CALLS.values():
                Leaky.failing = {failing} if early and failing else set()
                try:
                    table = opened(name, cache=False)
                    Leaky.failing = {failing} if failing else set()
                    call(table)
                except Exception as error:
                    failed += 1
                    for one in chain(error):
                        assert clean(repr(one)) and clean(str(one)) and clean(repr(vars(one))), (failing, one)
                    assert clean("".join(traceback.format_exception(type(error), error, error.__traceback__)))
                    assert clean(pickle.dumps(error)) if isinstance(error, tf.TableFormatsError) else True
    assert failed >= 8 and clean(caplog.text)


@pytest.mark.parametrize(
    "location",
    [
        f"leaky://user:{CANARY.replace('/', '%2F')}@nowhere/t",
        "leaky://nowhere/t?sv=1&sig=c4naryS3cret",
        "s3://AKIA:c4naryS3cret@bucket/t?region=eu&scheme=http&endpoint_override=127.0.0.1:1&connect_timeout=1",
        "abfss://c@account.dfs.core.windows.net/t?sig=c4naryS3cret",
    ],
)
def test_locations(location: str) -> None:
    """Credentials in a URI: in no root, and in no error of a store that is not there."""
    storage = Storage(location, allow_paths=["gs://u:c4nary@b/x"])
    storage.relocate("s3://u:c4nary@b/x", "s3://u:c4nary@c/x")
    shown = [storage.root, storage.join("x"), *storage.allow_paths, *storage.moves, *storage.moves.values()]
    assert all(map(clean, [*shown, repr(storage)])) and clean(pickle.dumps(storage))
    assert without_credentials(storage.root) == storage.root
    if location.startswith("leaky"):
        for call in (
            lambda: tf.open_table(location),
            lambda: tf.open_table(location, format="delta"),
            lambda: storage.read_bytes(storage.join("x")),
        ):
            with pytest.raises((tf.TableFormatsError, OSError)) as caught:
                call()
            assert all(clean(str(one)) and clean(repr(one)) for one in chain(caught.value))


def test_what_a_table_names_opens_no_other_endpoint(monkeypatch: pytest.MonkeyPatch) -> None:
    """A path of an allowed store is no URI with options: the store is opened by its name alone."""
    asked: list[str] = []
    storage = Storage("/data/t", allow_paths=["s3://ours"])
    monkeypatch.setattr(storage, "_filesystem", lambda path: asked.append(path))
    monkeypatch.setattr("tableformats.io.stores.opening.open_store", lambda uri, options, redactor: asked.append(uri))
    named = storage.resolve_one("s3://ours/x?endpoint_override=evil")
    storage.filesystem_path(named)
    storage.store_of(named)
    assert asked == ["s3://ours", "s3://ours"]


# ---- the pieces -----------------------------------------------------------------------------------------------------


def test_scrubbing_keeps_what_errors_are() -> None:
    class OwnError(Exception):
        def __init__(self, code: int, details: dict[str, Any]) -> None:
            super().__init__(code, details)
            self.message = f"it is {CANARY}"

        def __str__(self) -> str:
            return f"{self.args[0]}: {self.args[1]}"

    redactor = Redactor(NESTED, ["s3://user:pass%20word@b/t?sig=abc%2Fdef"])
    decoding = UnicodeDecodeError("utf-8", CANARY.encode(), 0, 1, "bad")
    for error in (
        OSError(2, f"no {CANARY}", f"/x/{CANARY}"),
        OwnError(5, {"x": CANARY}),
        KeyError(CANARY.encode()),
        decoding,
        ValueError("pass word, abc/def"),
    ):
        kind = type(error)
        redactor.redact_error(error)
        shown = f"{error} {error!r} {vars(error)}"
        assert type(error) is kind and clean(shown) and "pass word" not in shown and "abc/def" not in shown
    kept = FileNotFoundError(2, "nothing", "/x/y")
    redactor.redact_error(kept)
    assert (kept.errno, kept.filename, str(kept)) == (2, "/x/y", "[Errno 2] nothing: '/x/y'")
    of_each_other = Redactor({"a_key": "secret", "b_key": "secret-and-more", "c_key": "and-more-yet"}, [])
    assert of_each_other.redact("secret-and-more, secret") == "***, ***"
    assert redactor.redact("plain") == "plain" and not Redactor({"anon": True, "n": "ab"}, ["/x"])
