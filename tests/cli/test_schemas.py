"""The JSON of every command is what its schema says, and the schemas are those of a current draft."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

import tableformats.cli
from tableformats.cli.app import cli
from tableformats.cli.output import SCHEMA_VERSION
from tests.cli.test_commands import BOTH, DELTA, ICEBERG, Shell, shell, strict_json
from tests.support.delta_log import DeltaLog, add, field, stats
from tests.support.golden import TABLES

__all__ = ["shell"]

jsonschema = pytest.importorskip("jsonschema")
SCHEMAS = {
    path.stem: json.loads(path.read_text()) for path in Path(tableformats.cli.__path__[0]).glob("schemas/*.json")
}
JVM = TABLES.with_name("tables_jvm")
CALLS: dict[str, tuple[str, ...]] = {
    "describe": ("describe",),
    "schema": ("schema",),
    "history": ("history",),
    "files": ("files", "-w", "id > 2"),
    "plan": ("plan", "-w", "id > 2 AND id < 9"),
    "plan-files": ("plan", "-w", "id > 2", "--files"),
    "count": ("count",),
    "read": ("read",),
    "health": ("health", "--fail-on", "small-files=2"),
    "detail": ("detail",),
    "clustering": ("clustering",),
    "diagnose": ("diagnose", "-w", "id > 2"),
    "verify-stats": ("verify-stats",),
}


def check(name: str, answer: Any) -> None:
    jsonschema.Draft202012Validator(SCHEMAS[name]).validate(answer)
    assert answer["output_schema"] == f"{name}/{SCHEMA_VERSION}"


def test_schemas_are_schemas() -> None:
    for name, schema in SCHEMAS.items():
        jsonschema.Draft202012Validator.check_schema(schema)
        assert schema["$id"] == f"tableformats:{name}/{SCHEMA_VERSION}" and schema["title"]
        assert schema["additionalProperties"] is False and set(schema["required"]) == set(schema["properties"])


def test_every_command_has_a_schema() -> None:
    known = {"append": "commit", "overwrite": "commit"}
    assert {known.get(name, name) for name in cli.commands} - SCHEMAS.keys() == {"demo"}


@BOTH
@pytest.mark.parametrize("name", CALLS)
def test_answers(shell: Shell, location: Path, name: str) -> None:
    command, *more = CALLS[name]
    check(name, shell.json(command, location, *more, "--relocate"))


@pytest.mark.parametrize(
    "location", [JVM / n / "table" for n in ("delta-deletion-vectors", "iceberg-equality-deletes")]
)
@pytest.mark.parametrize("name", ["files", "plan", "history", "health", "detail"])
def test_answers_with_deletes(shell: Shell, location: Path, name: str) -> None:
    check(name, shell.json(name, location, "--relocate"))


@BOTH
def test_answers_about_two_versions_and_one_file(shell: Shell, location: Path) -> None:
    versions = shell.json("history", location, "--relocate")["versions"]
    check("diff", shell.json("diff", location, versions[-1]["version"], "--relocate"))
    for file in shell.json("files", location, "--relocate")["files"][:2]:
        check("plan-why", shell.json("plan", location, "-w", "id = 3", "--why", file["path"], "--relocate"))


def test_tables_without_anything(shell: Shell, tmp_path: Path) -> None:
    log = DeltaLog(tmp_path / "t").start(field("id", "integer"))
    for name, (command, *more) in CALLS.items():
        check(name, shell.json(command, log.root, *more))
    check("verify", shell.json("verify", log.root))
    log.commit(1, add("f", stats=stats(1, minValues={"id": 1})))
    code, out, _ = shell.run("verify", log.root, "--json")
    assert code == 3
    check("verify", strict_json(out))
    code, out, _ = shell.run("verify-stats", log.root, "--output", "json")
    assert code == 3
    check("verify-stats", strict_json(out))
    check("checkpoint", shell.json("checkpoint", log.root))
    (log.root / "left.parquet").touch()
    found = shell.json("orphans", log.root, "--older-than", "0m")
    check("orphans", found)
    assert len(found["orphans"]) == 1


def test_writing(shell: Shell, tmp_path: Path) -> None:
    at, rows = tmp_path / "t", tmp_path / "rows.csv"
    rows.write_text("id\n1\n2\n")
    start = ("create", at, "--format", "delta", "--column", "id", "bigint")
    check("create", shell.json(*start, "--dry-run"))
    check("create", shell.json(*start))
    check("dry-run", shell.json("append", at, rows, "--dry-run"))
    check("commit", shell.json("append", at, rows))
    check("dry-run", shell.json("overwrite", at, rows, "--where", "id < 9", "--dry-run"))
    check("commit", shell.json("overwrite", at, rows, "--yes"))
    check("alter", shell.json("alter", at, "--add-column", "x", "string"))


def test_plugins_and_errors(shell: Shell) -> None:
    check("plugins", shell.json("plugins"))
    for arguments in (("--json",), ("--output", "json"), ("--output=json",)):
        check("error", strict_json(shell.fails(1, "describe", "/no/such/table", *arguments)))
    check("error", strict_json(shell.fails(2, "plan", DELTA, "--nope", "--json")))
    assert ICEBERG.is_dir()
