"""What is said of a location that is no table: of files, of directories, of what lies in them and above them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

import pytest

from tableformats.io.storage import Storage
from tableformats.plugin.recognition import not_of_format, unknown_location

FORMATS = "delta, iceberg"
UNKNOWN = "the location is no table of a known format (delta, iceberg)"
PLAIN = "the directory holds plain data files without the metadata of a table"


def made(root: Path, *names: str) -> Path:
    """Files and, with a slash at the end, directories below ``root``."""
    root.mkdir(exist_ok=True)
    for name in names:
        path = root / name
        path.mkdir(parents=True, exist_ok=True) if name.endswith("/") else (
            path.parent.mkdir(parents=True, exist_ok=True),
            path.write_bytes(b""),
        )
    return root


def claiming(root: Path, **tables: Sequence[str]) -> tuple[Callable[[Storage], Sequence[str]], list[str]]:
    """Which formats claim which places below ``root``, and the places that were asked about."""
    asked: list[str] = []

    def claims(storage: Storage) -> Sequence[str]:
        asked.append(storage.root)
        return tables.get(storage.root.removeprefix(f"{root}").strip("/").replace("/", "_"), ())

    return claims, asked


def said(root: Path, location: str = "", formats: str = FORMATS, **tables: Sequence[str]) -> tuple[str, str | None]:
    error = unknown_location(Storage(root / location), claiming(root, **tables)[0], formats)
    assert error.path == str(root / location)
    return error.message, error.hint


@pytest.mark.parametrize(
    ("name", "message", "hint"),
    [
        ("x.parquet", "the location is one Parquet file, no table", "Read it with pyarrow.parquet.read_table"),
        ("x.PARQ", "the location is one Parquet file, no table", "Read it with pyarrow.parquet.read_table"),
        ("x.csv", "the location is a file, and no metadata file of a table", "Pass the directory of the table"),
        *(
            (
                name,
                f"the location holds a {kind} table, and there is no plugin for it (installed: delta, iceberg)",
                "Install a plugin for this format, or read it with its own library",
            )
            for name, kind in (("x.ducklake", "DuckLake"), ("x.DuckDB", "DuckDB"), ("x.lance", "Lance"))
        ),
    ],
)
def test_files(tmp_path: Path, name: str, message: str, hint: str) -> None:
    assert said(made(tmp_path / "d", name), name) == (message, hint)


@pytest.mark.parametrize(
    ("names", "message"),
    [
        ([], "the directory is empty"),
        (["a.txt"], UNKNOWN),
        (["a/"], UNKNOWN),
        (["a.parquet"], PLAIN),
        (["a.PARQ", "b.txt"], PLAIN),
        (["a.orc"], PLAIN),
        (["a.csv"], PLAIN),
        (["day=1/"], PLAIN),
        (["day=1"], UNKNOWN),
        (["a.csv/"], UNKNOWN),
        ([".hoodie/"], "the location holds a Hudi table"),
        ([".hoodie/", "a.parquet"], "the location holds a Hudi table"),
        (["_versions/"], "the location holds a Lance table"),
        (["_versions"], UNKNOWN),
        (["snapshot/", "manifest/", "more/"], "the location holds a Paimon table"),
        (["snapshot/", "manifest/"], "the location holds a Paimon table"),
        (["snapshot/"], UNKNOWN),
        (["snapshot", "manifest"], UNKNOWN),
        (["a.ducklake", "b"], "the location holds a DuckLake table"),
        (["a.ducklake/"], UNKNOWN),
    ],
)
def test_directories(tmp_path: Path, names: list[str], message: str) -> None:
    found = said(made(tmp_path / "d", *names))[0]
    assert found == message or (message.startswith("the location holds") and found.startswith(f"{message}, and there"))


def test_a_directory_that_is_named_as_a_table(tmp_path: Path) -> None:
    made(tmp_path / "d", "x.lance/a.parquet", "y.lance/")
    assert said(tmp_path / "d", "x.lance")[0].startswith("the location holds a Lance table")
    assert said(tmp_path / "d", "y.lance")[0] == "the directory is empty"


def test_without_any_format(tmp_path: Path) -> None:
    root = made(tmp_path / "d", "a", ".hoodie/b")
    assert said(root, "a", "")[0] == "the location is a file, and no metadata file of a table"
    assert said(made(tmp_path / "e", "a"), formats="") == (
        "the location is no table of a known format (none is installed)",
        "Pass the directory of the table itself, or its metadata file",
    )
    assert said(root, formats="")[0].endswith("there is no plugin for it (installed: none)")


# ---- tables below ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("count", "named"), [(1, "t0"), (3, "t0, t1, t2"), (4, "t0, t1, t2, ..."), (9, "t0, t1, t2, ...")]
)
def test_a_directory_of_tables(tmp_path: Path, count: int, named: str) -> None:
    root = made(tmp_path / "d", *(f"t{i}/" for i in range(count)), "a.parquet")
    tables = {f"t{i}": ["delta"] for i in range(count)}
    assert said(root, **tables) == (f"the directory holds tables, but is none: {named}", f"Open one of them: {root}/t0")


def test_tables_two_levels_below(tmp_path: Path) -> None:
    """Partitions and hidden directories are not looked into."""
    root = made(tmp_path / "d", "a/x/", "a/y/", "b=1/t/", "_c/t/", ".d/t/", "e/t/")
    tables = {"a_y": ["delta"], "b=1_t": ["delta"], "_c_t": ["delta"], ".d_t": ["delta"], "e_t": ["iceberg"]}
    assert said(root, **tables) == (
        "the directory holds tables, but is none: a/y, e/t",
        f"Open one of them: {root}/a/y",
    )
    assert said(root, a=["delta"], e_t=["iceberg"])[0] == "the directory holds tables, but is none: a"


def test_how_many_directories_are_asked_about(tmp_path: Path) -> None:
    many = made(tmp_path / "d", *(f"t{i:02}/" for i in range(52)))
    assert said(many, t49=["delta"])[0] == "the directory holds tables, but is none: t49"
    assert said(many, t50=["delta"])[0] == UNKNOWN
    deep = made(tmp_path / "e", *(f"s{i:02}/t{k}/" for i in range(22) for k in range(2)))
    assert said(deep, s19_t1=["delta"])[0] == "the directory holds tables, but is none: s19/t1"
    assert said(deep, s20_t0=["delta"])[0] == UNKNOWN
    wide = made(tmp_path / "f", *(f"s/t{i:02}/" for i in range(52)))
    assert said(wide, s_t49=["delta"])[0] == "the directory holds tables, but is none: s/t49"
    assert said(wide, s_t50=["delta"])[0] == UNKNOWN


# ---- tables above ---------------------------------------------------------------------------------------------------


def test_a_place_inside_of_a_table(tmp_path: Path) -> None:
    root = made(tmp_path / "d", "t/1/2/3/4/5/6/7/8/9/")
    message, hint = f"this is inside of the Delta table {root}/t", f"Open {root}/t"
    assert said(root, "t/1", t=["delta"]) == said(root, "t/1/2/3/4/5/6/7/8", t=["delta"]) == (message, hint)
    assert said(root, "t/1/2/3/4/5/6/7/8/9", t=["delta"])[0] == "the directory is empty"
    both = said(root, "t/1", t=["delta", "iceberg"])
    assert both == (f"this is inside of the Delta and Iceberg table {root}/t", hint)
    assert said(root, "t/1/2", t=["delta"], t_1=["iceberg"])[1] == f"Open {root}/t/1"


def test_the_root_of_the_file_system_is_not_asked_about(tmp_path: Path) -> None:
    claims, asked = claiming(tmp_path)
    unknown_location(Storage(made(tmp_path / "d")), claims, FORMATS)
    assert asked[-1] == f"/{tmp_path.parts[1]}" and "/" not in asked


# ---- another format -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("found", "message", "hint"),
    [
        (["iceberg"], "format='delta', but this is an Iceberg table", "Leave out format=, or pass format='iceberg'"),
        (["hudi"], "format='delta', but this is a Hudi table", "Leave out format=, or pass format='hudi'"),
        (
            ["hudi", "iceberg"],
            "format='delta', but this is a Hudi and Iceberg table",
            "Leave out format=, or pass format='hudi'",
        ),
    ],
)
def test_a_table_of_another_format(tmp_path: Path, found: list[str], message: str, hint: str) -> None:
    error = not_of_format(Storage(tmp_path), "delta", lambda storage: found, FORMATS)
    assert (error.message, error.hint, error.field, error.path) == (message, hint, "format", str(tmp_path))


def test_no_table_of_the_format(tmp_path: Path) -> None:
    error = not_of_format(Storage(made(tmp_path / "d")), "delta", lambda storage: (), FORMATS)
    assert error.message == "there is no Delta table: the directory is empty"
    assert error.hint == "Check the path; a table has metadata beside its data"


def test_a_place_that_cannot_be_listed(tmp_path: Path) -> None:
    def refuse(storage: Storage) -> Sequence[str]:
        raise OSError("refused")

    error = unknown_location(Storage(made(tmp_path / "d", "a.parquet")), refuse, FORMATS)
    assert error.message == UNKNOWN
