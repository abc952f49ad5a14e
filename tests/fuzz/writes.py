"""Writing to tables with damaged files: each verb commits, or ends in one of our errors and leaves the table as it was.

``python -m tests.fuzz.tables --writing`` runs it. These are findings, beside those of reading: a file of the table that
is changed or gone, by whatever verb; a file that a refused verb leaves behind (data files may stay after damage that is
found while the commit is written: nothing names them); and rows after an append that are not those before and the new
ones.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pyarrow as pa

import tableformats as tf
from tests.fuzz.tables import Finding, attempt, captured

Verb = Callable[[tf.Table, pa.Table], Any]
METADATA = ("_delta_log", "metadata")
HINTS = ("_last_checkpoint", "version-hint.text")
"""Files that a commit may replace; they are no part of what the table is."""


def properties_of(table: tf.Table) -> dict[str, str]:
    """One that both formats take."""
    return {"custom.owner": "x"} if table.format == "iceberg" else {"owner": "x"}


VERBS: Mapping[str, Verb] = {
    "append": lambda table, rows: table.append(rows),
    "append, more columns": lambda table, rows: table.append(
        rows.append_column("more", pa.nulls(len(rows), pa.int64())), schema="merge"
    ),
    "overwrite": lambda table, rows: table.overwrite(rows),
    "overwrite where": lambda table, rows: table.overwrite(rows, "id > 3"),
    "delete": lambda table, rows: table.delete("id > 3"),
    "delete all": lambda table, rows: table.delete("true"),
    "add columns": lambda table, rows: table.alter.add_columns({"more": "struct<a: int, b: array<string>>"}),
    "rename column": lambda table, rows: table.alter.rename_column("id", "other"),
    "drop columns": lambda table, rows: table.alter.drop_columns("id"),
    "set required": lambda table, rows: table.alter.set_required("id"),
    "set properties": lambda table, rows: table.alter.set_properties(properties_of(table)),
    "add constraint": lambda table, rows: table.alter.add_constraint("c", "id IS NULL OR id > -1000000"),
    "checkpoint": lambda table, rows: table.checkpoint(),
    "compact log": lambda table, rows: table.compact_log(0, 1),
    "restore": lambda table, rows: table.restore(0),
    "create tag": lambda table, rows: table.create_tag("here"),
    "verify": lambda table, rows: table.verify(),
    "verify deeply": lambda table, rows: table.verify(deep=True),
}
COMMANDS = (("verify",), ("checkpoint",), ("alter", "--add-column", "more", "bigint"))


def write(root: Path, rng: random.Random) -> str:
    """One to three verbs on the table; the outcome of the last."""
    outcome = "opens not"
    for _ in range(rng.choice((1, 2, 3))):
        if rng.random() < 0.15:
            outcome = by_command(root, rng)
            continue
        table = attempt(lambda: tf.open_table(root, relocate=True, cache=rng.random() < 0.5))
        if isinstance(table, tf.TableFormatsError):
            return f"opens not, {type(table).__name__}"
        outcome = by_verb(table, root, rng.choice(list(VERBS)), rng)
    return outcome


def by_verb(table: tf.Table, root: Path, name: str, rng: random.Random) -> str:
    found = attempt(lambda: table.scan().to_arrow())
    readable = isinstance(found, pa.Table)
    if readable:
        rows = found.slice(0, 2)
    else:
        schema = attempt(lambda: table.schema.to_arrow())
        rows = (
            None
            if isinstance(schema, tf.TableFormatsError)
            else pa.table([pa.nulls(1, f.type) for f in schema], schema=schema)
        )
    if rows is None:
        return f"has no schema, {type(schema).__name__}"
    before = files_in(root)
    done = attempt(lambda: VERBS[name](table, rows))
    refused = isinstance(done, tf.TableFormatsError)
    after = files_in(root)
    if isinstance(done, tf.CorruptMetadataError):
        after = {path: data for path, data in after.items() if path in before or Path(path).parts[0] in METADATA}
    compare(before, after, name, refused and not isinstance(done, tf.CommitUnknownError))
    if refused:
        return f"{name}: {type(done).__name__}"
    if name == "append" and readable:
        after = attempt(lambda: tf.open_table(root, relocate=True).count())
        if after != len(found) + len(rows):
            raise Finding(f"{len(found)} rows and {len(rows)} make {after!r}")
    return f"{name}: done"


def by_command(root: Path, rng: random.Random) -> str:
    name, *options = rng.choice(COMMANDS)
    before = files_in(root)
    status, shown = captured([name, str(root), *options, *(["--relocate"] if (root / "metadata").is_dir() else [])])
    if "This is unexpected" in shown or "Traceback" in shown or status not in (0, 1, 2, 3):
        raise Finding(f"{name}: status {status}, {shown[-500:]}")
    if wrong := [c for c in shown if not c.isprintable() and c != "\n"]:
        raise Finding(f"{name}: {sorted(set(wrong))!r} in what is shown")
    compare(before, files_in(root), name, status != 0 and name != "verify")
    return f"command {name}: {status}"


def files_in(root: Path) -> dict[str, bytes]:
    return {str(p.relative_to(root)): p.read_bytes() for p in root.rglob("*") if p.is_file() and p.name not in HINTS}


def compare(before: dict[str, bytes], after: dict[str, bytes], verb: str, refused: bool) -> None:
    """A commit adds files and changes none; a refused one adds none either."""
    for name, data in before.items():
        if after.get(name) != data:
            raise Finding(f"{verb}: {name} is {'changed' if name in after else 'gone'}")
    if refused and (more := sorted(after.keys() - before.keys())):
        raise Finding(f"{verb} was refused and left {more}")


__all__ = ["write"]
