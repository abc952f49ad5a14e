"""What the commands cost on large tables: a process each, as at a terminal. The goal is two seconds for 100,000 files.

``python -m benchmarks.commands`` prints all of them, and with ``--write`` puts them into docs/measured/commands.md.
The generated tables have metadata alone, so commands that read data files or write are not among them. For ``verify``
each data file is there, of its size and without contents. Where all are missing it names each of them, as
``verify-stats`` does.
"""

from __future__ import annotations

import argparse
import os
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from pathlib import Path
from typing import Any

from . import QUICK, sizes
from .generate import Table, build
from .planning import SPECS
from .processes import environment
from .report import machine, versions
from .table_text import markdown, write

FILTER = "country = 'BR' AND name < 'b' AND id > 1000000"
COMMANDS: dict[str, list[str]] = {
    **{name: [name] for name in ("describe", "schema", "detail", "history", "health", "clustering", "files", "plan")},
    "files, filtered": ["files", "-w", FILTER],
    "plan, filtered": ["plan", "-w", FILTER],
    "plan --files": ["plan", "--files", "-w", FILTER],
    "plan --why": ["plan", "-w", FILTER, "--why"],
    "diagnose": ["diagnose", "-w", FILTER],
    "diff": ["diff"],
    "report": ["report", "-o", os.devnull],
    "report, filtered": ["report", "-o", os.devnull, "-w", FILTER],
    "verify": ["verify"],
    "verify, no files": ["verify"],
    "verify-stats, no files": ["verify-stats"],
}
FILES = 100_000
CHECK_FAILED = 3
"""The exit code of a command that found something wrong."""
ROUNDS = 1 if QUICK else 3


def arguments(name: str, table: Table) -> list[str]:
    """Those of a command, with what depends on the table."""
    command, *more = COMMANDS[name]
    if name == "plan --why":
        import tableformats as tf

        more.append(tf.open_table(table.entry).plan(FILTER).file_uris()[0])
    if name == "diff":
        import tableformats as tf

        more += [str(version) for version in tf.open_table(table.entry).history()["version"].to_pylist()[-1:]]
    return [command, table.entry, *more]


@contextmanager
def stored_files(table: Table) -> Iterator[None]:
    """Within this context the files that the table names are there, of their sizes and without contents."""
    import tableformats as tf

    files = tf.open_table(table.entry).inspect.files()
    names = ("file_path", "file_size_in_bytes") if "file_path" in files.column_names else ("path", "size_bytes")
    created: set[Path] = set()
    try:
        for path, size in zip(*(files[name].to_pylist() for name in names), strict=True):
            file = table.folder / path.removeprefix("file://")
            if file.parent not in created:
                new = [folder for folder in (file.parent, *file.parent.parents) if not folder.exists()]
                file.parent.mkdir(parents=True, exist_ok=True)
                created.update([file.parent, *new[-1:]])
            file.touch()
            os.truncate(file, size)
        yield
    finally:
        for folder in created:
            shutil.rmtree(folder, ignore_errors=True)


def seconds_of(name: str, table: Table, rounds: int = ROUNDS) -> tuple[float, float]:
    """The least seconds of a command, and the least of its processor time."""
    walls, used = [], []
    command = [sys.executable, "-m", "tableformats", *arguments(name, table)]
    with stored_files(table) if name == "verify" else nullcontext():
        for _ in range(rounds):
            before, start = os.times(), time.perf_counter()
            done = subprocess.run(command, env=environment(), check=False, stdout=subprocess.DEVNULL)
            if done.returncode not in (0, CHECK_FAILED):
                raise AssertionError(f"{name} ended with {done.returncode}")
            walls.append(time.perf_counter() - start)
            after = os.times()
            used.append(after.children_user + after.children_system - before.children_user - before.children_system)
    return min(walls), min(used)


class Commands:
    """Every command that reads metadata, in a process of its own."""

    params: list[list[Any]] = [list(SPECS), sizes(1_000, FILES), ["report, filtered"] if QUICK else list(COMMANDS)]
    param_names = ["format", "files", "command"]
    timeout = 600

    def track_seconds(self, format: str, files: int, command: str) -> float:
        """From its start to its end."""
        return seconds_of(command, build(SPECS[format](files)))[0]

    track_seconds.unit = "seconds"  # type: ignore[attr-defined]


def main() -> None:
    """Print the times."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--files", type=int, default=FILES)
    parser.add_argument("--write", action="store_true", help="put the figures into docs/measured/commands.md")
    chosen = parser.parse_args()
    tables = {format: build(spec(chosen.files)) for format, spec in SPECS.items()}
    rows = []
    for name in COMMANDS:
        found = [seconds_of(name, table) for table in tables.values()]
        rows.append([f"`{name}`", *(f"{value:.2f}" for pair in found for value in pair)])
        print(*rows[-1], flush=True)
    if chosen.write:
        heads = [f"{format}, {what}" for format in tables for what in ("seconds", "processor time")]
        measured = f"Measured {time.strftime('%Y-%m-%d')}, {chosen.files:,} files, {machine()}. {versions()}"
        write("commands.md", f"{measured}\n\n{markdown(['command', *heads], rows)}")


if __name__ == "__main__":
    main()
