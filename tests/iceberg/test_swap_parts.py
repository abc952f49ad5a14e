"""Parts of the swap of metadata: answers without a yes, names of files, and which way a catalog is told."""

from __future__ import annotations

import json
from pathlib import Path
from types import SimpleNamespace
from typing import Any
from unittest.mock import Mock

import pytest
from tableformats_iceberg.write import swap as swaps
from tableformats_iceberg.write.create import create_updates
from tableformats_iceberg.write.swap import (
    CatalogSwap,
    CurrentMetadata,
    DirectorySwap,
    MetadataSwap,
    holds,
    logged_no_more,
)

import tableformats as tf
from tableformats.io.storage import Storage
from tableformats.plugin import Field, PutOutcome, Schema, primitive
from tests.support.iceberg_tables import metadata_json, parse, snapshot_json

Json = dict[str, Any]
WON, LOST, UNKNOWN = PutOutcome.WON, PutOutcome.LOST, PutOutcome.UNKNOWN
SET = {"action": "set-properties", "updates": {"a": "b"}}


def added(number: int) -> Json:
    return {"action": "add-snapshot", "snapshot": snapshot_json(number, 1)}


def uuid_is(text: str) -> Json:
    return {"action": "assign-uuid", "uuid": text}


# ---- what the newest metadata says ----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("newest", "updates", "found"),
    [
        ({"snapshots": [snapshot_json(7, 1), snapshot_json(8, 1)]}, [added(7)], True),
        ({"snapshots": [snapshot_json(7, 1), snapshot_json(8, 1)]}, [added(7), added(8), SET], True),
        ({"snapshots": [snapshot_json(7, 1)]}, [added(7), added(8)], False),
        ({"snapshots": [snapshot_json(7, 1)]}, [added(8)], False),
        ({}, [added(7)], False),
        ({"table-uuid": "AB"}, [SET, uuid_is("aB")], True),
        ({"table-uuid": "AC"}, [SET, uuid_is("aB")], False),
        ({"table-uuid": None}, [uuid_is("ab")], False),
        ({"properties": {"a": "b"}}, [SET], True),
        ({"properties": {"a": "c"}}, [SET], False),
        ({}, [{"action": "set-current-schema", "schema-id": 9}], False),
        ({}, [], True),
    ],
)
def test_whether_metadata_has_the_updates(newest: Json, updates: list[Json], found: bool) -> None:
    assert holds(metadata_json(**newest), updates) is found


class Told(MetadataSwap):
    """Finds one of these metadata, or errors, at each look."""

    def __init__(self, *found: Json | Exception) -> None:
        self._found = [*found]

    def newest(self) -> CurrentMetadata:
        found = self._found.pop(0)
        if isinstance(found, Exception):
            raise found
        return CurrentMetadata("m", metadata_json(properties=found), None)  # type: ignore[arg-type]

    def check(self, version: int) -> None:
        """Nothing."""

    commit: Any = None


OTHER, OWN, ERROR = {"a": "c"}, {"a": "b"}, tf.StoreError("no answer")


@pytest.mark.parametrize(
    ("outcome", "looks", "expected", "left"),
    [
        (UNKNOWN, [OWN, OTHER, OTHER], WON, 2),
        (UNKNOWN, [OTHER, OWN, OTHER], WON, 1),
        (UNKNOWN, [OTHER, OTHER, OTHER], UNKNOWN, 0),
        (UNKNOWN, [ERROR, OSError("no disk"), OWN], WON, 0),
        (UNKNOWN, [ERROR, ERROR, ERROR], UNKNOWN, 0),
        (LOST, [OWN, OTHER, OTHER], WON, 2),
        (LOST, [OTHER, OWN, OTHER], LOST, 2),
        (LOST, [ERROR, OTHER, OWN], LOST, 1),
        (LOST, [ERROR, ERROR, ERROR], UNKNOWN, 0),
    ],
)
def test_looks_at_the_newest_metadata(
    outcome: PutOutcome, looks: list[Any], expected: PutOutcome, left: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """After an answer that says nothing; it stays unknown where the metadata are those from before."""
    monkeypatch.setattr(swaps, "LOOKS_S", (0.0, 0.0, 0.0))
    swap = Told(*looks)
    assert swap.looked_up(outcome, [{"type": "assert-table-uuid", "uuid": "u"}], [SET]) is expected
    assert len(swap._found) == left
    if outcome is UNKNOWN:
        wrong = [{"type": "assert-table-uuid", "uuid": "of another"}]
        assert Told(OTHER, OWN).looked_up(UNKNOWN, wrong, [SET]) is LOST, "it can never be applied any more"


@pytest.mark.parametrize(
    ("before", "kept", "found"),
    [("abc", "bc", ["a"]), ("abc", "abcd", []), ("ab", "", ["a", "b"]), ("", "a", [])],
)
def test_metadata_files_that_the_log_lets_go(before: str, kept: str, found: list[str]) -> None:
    old, new = ({"metadata-log": [{"metadata-file": name} for name in names]} for names in (before, kept))
    asked = {"properties": {"write.metadata.delete-after-commit.enabled": "true"}}
    assert logged_no_more(old, {**new, **asked}) == found
    assert logged_no_more(old, new) == [] == logged_no_more(None, {**new, **asked})
    assert logged_no_more({}, {**asked}) == []


# ---- directories ----------------------------------------------------------------------------------------------------


class Directory:
    """A table's files by their names."""

    def __init__(self, *names: str, is_local: bool = True) -> None:
        self.names, self.is_local, self.root = names, is_local, "/t"

    def join(self, *parts: str) -> str:
        return "/".join(("/t", *parts))

    def is_file(self, path: str) -> bool:
        return path.rpartition("/")[2] in self.names

    def list(self, path: str) -> list[Any]:
        return [SimpleNamespace(name=name) for name in self.names]


def base_of(name: str, **properties: str) -> Any:
    return SimpleNamespace(json={"properties": properties}, parsed=SimpleNamespace(path=f"/t/metadata/{name}"))


V1, V2, V3 = (f"v{number}.metadata.json" for number in (1, 2, 3))
DELETING = {"write.metadata.delete-after-commit.enabled": "true"}


@pytest.mark.parametrize(
    ("names", "is_local", "properties", "found"),
    [
        ((V1, V2), True, {}, False),
        ((V1, V2, V3), True, {}, False),
        ((V2,), True, {}, False),
        ((V2, V3), True, {}, True),
        (("v3.gz.metadata.json",), True, {}, True),
        ((V2, "x.json", "v1.metadata.json"), True, {}, False),
        ((), True, {}, False),
        ((V2, V3), False, {}, False),
        ((V2, V3), False, DELETING, True),
        ((V1, V2, V3), False, DELETING, False),
        ((V2, V3), False, {**DELETING, "write.metadata.delete-after-commit.enabled": "FALSE"}, False),
        ((V2, V3), False, {**DELETING, "write.metadata.delete-after-commit.enabled": "what"}, True),
    ],
)
def test_files_that_were_written_too_late(
    names: tuple[str, ...], is_local: bool, properties: dict[str, str], found: bool
) -> None:
    """Version 2 upon version 1, which another writer has deleted, who went on to version 3."""
    swap = DirectorySwap(Directory(*names, is_local=is_local))  # type: ignore[arg-type]
    assert swap._is_overtaken(base_of(V1, **properties), 2) is found


@pytest.mark.parametrize(
    ("names", "is_local", "found"),
    [
        ((V1,), True, True),
        ((V1,), False, False),
        ((V1, V3), True, True),
        ((V1, V2), True, False),
        ((V1, "v2.gz.metadata.json"), True, False),
        ((V1, "v2.metadata.json.gz"), True, False),
        ((), True, False),
        ((V3,), True, False),
    ],
)
def test_whether_a_file_is_the_newest(names: tuple[str, ...], is_local: bool, found: bool) -> None:
    swap = DirectorySwap(Directory(*names, is_local=is_local))  # type: ignore[arg-type]
    assert swap._is_newest(f"/t/metadata/{V1}") is found


@pytest.mark.parametrize(
    ("name", "root", "version"),
    [
        ("v7.metadata.json", "/t", 7),
        ("v12.gz.metadata.json", "/t", 12),
        ("v12.metadata.json.gz", "/t", 12),
        ("00001-ab.metadata.json", "/t", None),
        ("v.metadata.json", "/t", None),
        ("v7.metadata.json", "/t/metadata/v7.metadata.json", None),
    ],
)
def test_versions_of_names(name: str, root: str, version: int | None) -> None:
    directory = Directory()
    directory.root = root
    swap = DirectorySwap(directory)  # type: ignore[arg-type]
    if version is not None:
        assert swap._version_of(f"/t/metadata/{name}") == version
        return
    with pytest.raises(tf.UnsupportedFeatureError) as caught:
        swap._version_of(f"/t/metadata/{name}")
    assert caught.value.field == "catalog"


# ---- catalogs -------------------------------------------------------------------------------------------------------


def catalog(folder: Path, **members: Any) -> tuple[CatalogSwap, Mock]:
    (folder / "metadata").mkdir(exist_ok=True)
    answers = {name: Mock(return_value=WON) for name in ("commit", "register", "swap")}
    writer = Mock(**{"applies_updates": False, "can_swap": True, **answers, **members})
    return CatalogSwap(Storage(folder), writer), writer


def current(folder: Path, name: str = "00004-ab.metadata.json", **changes: Any) -> CurrentMetadata:
    document = metadata_json(location=str(folder), **changes)
    return CurrentMetadata(f"{folder}/metadata/{name}", document, parse(location=str(folder), **changes))


@pytest.mark.parametrize(
    ("previous", "number"),
    [
        (None, "00000"),
        ("/t/metadata/00000-ab.metadata.json", "00001"),
        ("/t/metadata/00009-ab.metadata.json", "00010"),
        ("/t/metadata/123456-ab.metadata.json", "123457"),
        ("/t/metadata/v3.metadata.json", "00001"),
        ("/t/00005-x/first.json", "00001"),
    ],
)
def test_names_of_metadata_files(tmp_path: Path, previous: str | None, number: str) -> None:
    swap, _ = catalog(tmp_path)
    document = metadata_json(location=f"{tmp_path}/")
    location, path, data = swap._new_file(document, previous)
    name = location.rpartition("/")[2]
    assert name.startswith(f"{number}-") and name.endswith(".metadata.json") and ".gz" not in name
    assert location == f"{tmp_path}/metadata/{name}" and path.endswith(name) and json.loads(data) == document
    elsewhere = {"write.metadata.path": f"{tmp_path}/own/", "write.metadata.compression-codec": "gzip"}
    location, path, data = swap._new_file({**document, "properties": elsewhere}, previous)
    name = location.rpartition("/")[2]
    assert location == f"{tmp_path}/own/{name}" and name.endswith(".gz.metadata.json") and data[:2] == b"\x1f\x8b"


@pytest.mark.parametrize(
    ("applies_updates", "can_swap", "is_new", "told"),
    [
        (True, True, False, "commit"),
        (True, False, True, "commit"),
        (False, False, False, "commit"),
        (False, True, False, "swap"),
        (False, True, True, "register"),
        (False, False, True, "register"),
    ],
)
def test_how_a_catalog_is_told(tmp_path: Path, applies_updates: bool, can_swap: bool, is_new: bool, told: str) -> None:
    """It applies the updates, or gets the location of a file with them."""
    swap, writer = catalog(tmp_path, applies_updates=applies_updates, can_swap=can_swap)
    base = None if is_new else current(tmp_path)
    updates: list[Json] = [SET]
    if is_new:
        updates = create_updates(str(tmp_path), Schema((Field(1, "a", primitive("int")),)))
    stored: list[int] = []
    assert swap.commit(base, [], updates, lambda: stored.append(1)) is WON and stored == [1]
    assert [name for name in ("commit", "register", "swap") if getattr(writer, name).called] == [told]
    if told == "commit":
        writer.commit.assert_called_once_with([], updates)
        return
    *old, location = getattr(writer, told).call_args.args
    assert old == ([] if base is None else [base.stored_path])
    assert json.loads(Path(location).read_text())["location"] == str(tmp_path)
    Path(location).unlink()
    writer.current = Mock(return_value=(location, None))
    assert swap.newest().stored_path == location, "what was written here is not read again"
    assert swap.newest() is swap.known


def test_what_is_not_told_to_a_catalog(tmp_path: Path) -> None:
    swap, writer = catalog(tmp_path)
    base = current(tmp_path, properties={"a": "b"})
    assert swap.commit(base, [{"type": "assert-table-uuid", "uuid": "other"}], [SET]) is LOST
    assert swap.commit(base, [], [SET]) is WON, "it would change nothing"
    assert not writer.swap.called and not list((tmp_path / "metadata").iterdir())


def test_an_answer_of_a_catalog_that_says_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(swaps, "LOOKS_S", (0.0,))
    for members in (
        {"swap": Mock(return_value=UNKNOWN)},
        {"applies_updates": True, "commit": Mock(return_value=UNKNOWN)},
    ):
        swap, _ = catalog(tmp_path, **members)
        base = current(tmp_path)
        for now, expected in ((base.json, UNKNOWN), ({**base.json, "properties": {"a": "b"}}, WON)):
            swap.newest = lambda now=now: SimpleNamespace(json=now)  # type: ignore[method-assign, assignment, misc]
            assert swap.commit(base, [], [SET]) is expected


def test_a_catalog_whose_table_is_the_same(tmp_path: Path) -> None:
    """Its metadata are not read again, until the catalog names another file."""
    swap, writer = catalog(tmp_path)
    for number in (1, 2):
        (tmp_path / f"metadata/{number}.json").write_text(json.dumps(metadata_json(location=str(tmp_path))))
    locations = [f"{tmp_path}/metadata/{number}.json" for number in (1, 1, 2)]
    writer.current = Mock(side_effect=[(one, None) for one in locations])
    first, again, other = swap.newest(), swap.newest(), swap.newest()
    assert first is again and (first.stored_path, other.stored_path) == (locations[0], locations[2])


@pytest.mark.parametrize(
    ("version", "applies_updates", "can_swap", "is_taken"),
    [(2, False, False, True), (3, False, False, False), (3, True, False, True), (3, False, True, True)],
)
def test_versions_that_a_catalog_takes(
    tmp_path: Path, version: int, applies_updates: bool, can_swap: bool, is_taken: bool
) -> None:
    swap, _ = catalog(tmp_path, applies_updates=applies_updates, can_swap=can_swap, catalog_name="c", table_name="t")
    if is_taken:
        swap.check(version)
        return
    with pytest.raises(tf.UnsupportedFeatureError) as caught:
        swap.check(version)
    assert (caught.value.field, caught.value.path) == ("format-version", "t")
