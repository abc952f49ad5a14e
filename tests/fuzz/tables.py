"""Whole tables with one or several damaged files, through plan, rows, metadata tables and the command.

``python -m tests.fuzz.tables --runs 50000`` copies a committed table of a real writer, damages it, and does everything
that can be done with it. These are findings: an exception that is not ours, more than :data:`MAX_SECONDS`, text that
could control a terminal, an answer where only the error may differ (none is claimed: contents are not checked), and a
process that ends. A finding prints the number of its run, which makes it again: ``--only 17``.

The children fork from a process that has imported everything; each does a batch of runs, so that a crash costs one.
"""

from __future__ import annotations

import argparse
import contextlib
import gc
import io
import json
import os
import random
import re
import shutil
import signal
import sys
import tempfile
import threading
import time
import traceback
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

os.environ["TABLEFORMATS_LET_THROUGH"] = "1"  # a foreign exception is a finding, also where users get an error of ours

import tableformats as tf
from tableformats.cli.app import main as command
from tests.fuzz.tally import Tally
from tests.fuzz.targets.mutators import avro_container, orc_tail, parquet_footer

GOLDEN = Path(__file__).parents[1] / "golden"
TABLES = sorted(p for folder in ("tables", "tables_jvm") for p in (GOLDEN / folder).iterdir() if (p / "table").is_dir())
MAX_SECONDS = 10.0
"""Of processor time for everything that is done with a table."""
BATCH = 50
PROGRESS = 1000
"""After so many runs a line says how many there were."""
HANGS = 600
"""Seconds after which a run hangs that uses no processor: other programs may have it."""
COMMANDS = (
    *("describe", "schema", "history", "files", "plan", "count", "read", "health", "detail", "diff", "clustering"),
    "report",
)
INSPECTED = tuple(name for name in dir(tf.open_table(TABLES[0] / "table").inspect) if not name.startswith("_"))
FILTERS = (None, "id > 3", "id IS NULL OR id IN (1, 2)", "name LIKE 'a%' OR id < 5", "isnan(score) OR score > 1")
NUMBERS = (-1, 0, 1, 2**31 - 1, 2**31, 2**63 - 1, -(2**63), 2**64, 1e308, -0.0)
TEXTS = ("", "\0", "../x", "%2e%2e/x", "s3://b/k", "/etc/passwd", "\x1b[2J", "\u202e", "true", "9" * 400, "x" * 5000)
ODD: tuple[Any, ...] = (*NUMBERS, *TEXTS, None, True, [], {}, [None], {"a": {}})

Change = Callable[[random.Random, bytes], bytes]
Use = Callable[[Path, random.Random], str]


# ---- damage ---------------------------------------------------------------------------------------------------------


def bits(rng: random.Random, data: bytes) -> bytes:
    out = bytearray(data)
    for _ in range(rng.choice((1, 1, 2, 5))):
        if out:
            out[rng.randrange(len(out))] ^= 1 << rng.randrange(8)
    return bytes(out)


def octets(rng: random.Random, data: bytes) -> bytes:
    out = bytearray(data)
    for _ in range(rng.choice((1, 2, 8))):
        if out:
            out[rng.randrange(len(out))] = rng.choice((0, 1, 2, 127, 128, 255, rng.randrange(256)))
    return bytes(out)


def cut(rng: random.Random, data: bytes) -> bytes:
    return data[: rng.randrange(len(data) + 1)]


def spliced(rng: random.Random, data: bytes) -> bytes:
    """A piece left out, repeated, or moved."""
    if not data:
        return data
    first, last = sorted((rng.randrange(len(data)), rng.randrange(len(data))))
    piece, at = data[first:last][:4096], rng.randrange(len(data))
    rest = data[:first] + data[last:] if rng.random() < 0.5 else data
    return rest[:at] + piece * rng.choice((0, 1, 1, 3)) + rest[at:]


def in_json(rng: random.Random, data: bytes) -> bytes:
    """A value of one JSON document of a file changed, left out or doubled; JSON within strings is entered too."""
    lines = (
        data.decode("utf-8", "replace").splitlines() if b"\n{" in data.rstrip() else [data.decode("utf-8", "replace")]
    )
    at = rng.randrange(len(lines)) if lines else 0
    try:
        lines[at] = json.dumps(changed(rng, json.loads(lines[at])), ensure_ascii=rng.random() < 0.5)
    except (ValueError, IndexError, RecursionError):
        return bits(rng, data)
    return ("\n".join(lines) + "\n").encode("utf-8", "surrogatepass")


def changed(rng: random.Random, value: Any) -> Any:
    """``value`` with one of the values in it changed."""
    if isinstance(value, dict) and value and rng.random() < 0.9:
        key = rng.choice(list(value))
        action = rng.random()
        if action < 0.08:
            return {k: v for k, v in value.items() if k != key}
        if action < 0.12:
            return {**value, rng.choice(TEXTS): value[key]}
        return {**value, key: changed(rng, value[key])}
    if isinstance(value, list) and value and rng.random() < 0.9:
        at = rng.randrange(len(value))
        if rng.random() < 0.15:
            return value[:at] + value[at + 1 :] if rng.random() < 0.5 else [*value, value[at]]
        return [*value[:at], changed(rng, value[at]), *value[at + 1 :]]
    if isinstance(value, str) and value[:1] in ("{", "[") and rng.random() < 0.8:
        with contextlib.suppress(ValueError):
            return json.dumps(changed(rng, json.loads(value)))
    if isinstance(value, str) and value and rng.random() < 0.5:
        return bits(rng, value.encode()).decode("utf-8", "replace")
    if isinstance(value, (int, float)) and not isinstance(value, bool) and rng.random() < 0.4:
        return value + rng.choice((-1, 1, 1000, -1000))
    return rng.choice(ODD)


OURS = re.compile(r"\x1b\[[0-9;]*m|\x1b\[\?25[hl]|\x1b\[2K|\x1b\[1A|\r")
PLAIN: tuple[Change, ...] = (bits, bits, octets, octets, cut, spliced)


def damaged(rng: random.Random, name: str, data: bytes) -> bytes:
    """The bytes of a file, damaged; the frames of its format are made right again most of the time."""
    change = rng.choice(PLAIN)
    inner: Callable[[bytes], bytes] = lambda piece: change(rng, piece)  # noqa: E731
    if rng.random() < 0.15:
        return inner(data)
    if re.search(r"\.json$|\.crc$|_last_checkpoint$", name):
        return in_json(rng, data) if rng.random() < 0.85 else inner(data)
    return reframed(name, data, inner)


def reframed(name: str, data: bytes, change: Callable[[bytes], bytes]) -> bytes:
    """The bytes of a file, changed within the frame of its format."""
    frames = {".avro": avro_container, ".orc": orc_tail, ".parquet": parquet_footer}
    return frames[Path(name).suffix](data, change) if Path(name).suffix in frames else change(data)


def files_of(root: Path) -> list[Path]:
    """The files of a table, without those that Hadoop writes beside them."""
    return sorted(
        path for path in root.rglob("*") if path.is_file() and not path.name.endswith((".json.crc", ".avro.crc"))
    )


def damage(rng: random.Random, root: Path) -> str:
    """Damage files below ``root``, metadata more often than data; says which."""
    files = files_of(root)
    metadata = [path for path in files if path.parent.name in ("_delta_log", "metadata", "_sidecars")]
    others = [path for path in files if path not in metadata]
    chosen = []
    for _ in range(rng.choice((1, 1, 1, 2, 3))):
        path = rng.choice(metadata if not others or rng.random() < 0.75 else others)
        if rng.random() < 0.04:
            path.unlink(missing_ok=True)
        elif path.exists():
            path.write_bytes(damaged(rng, path.name, path.read_bytes()))
        chosen.append(str(path.relative_to(root)))
    return ", ".join(chosen)


# ---- what is done with a table --------------------------------------------------------------------------------------


class Finding(AssertionError):
    """The library did what it promises never to do."""


def use(root: Path, rng: random.Random) -> str:
    """Everything that is promised to end in an answer or in one of our errors; the outcome of the rows."""
    outcome = attempt(lambda: tf.open_table(root, relocate=True, cache=rng.random() < 0.5))
    if isinstance(outcome, tf.TableFormatsError):
        attempt_command(root, rng)
        return type(outcome).__name__
    table, where = outcome, rng.choice(FILTERS)
    scan = attempt(lambda: table.scan(where))
    if isinstance(scan, tf.InvalidPredicateError):  # the column is no more
        scan = attempt(lambda: table.scan())
    found = scan
    if not isinstance(scan, tf.TableFormatsError):
        planned = attempt(lambda: scan.plan())
        if not isinstance(planned, tf.TableFormatsError):
            attempt(lambda: (planned.explain(), planned.files, planned._repr_html_(), list(planned.tasks())))
        found = attempt(lambda: scan.to_arrow())
        attempt(lambda: scan.count())
    attempt(lambda: table.history())
    for name in rng.sample(INSPECTED, 4):
        attempt(getattr(table.inspect, name))
    attempt(lambda: table.changes(0).to_arrow() if table.format == "delta" else None)
    attempt_command(root, rng)
    return type(found).__name__ if isinstance(found, tf.TableFormatsError) else "rows"


def attempt(call: Callable[[], Any]) -> Any:
    """What ``call`` gives, or the error of ours that it ends in, whose text is harmless."""
    try:
        return call()
    except tf.TableFormatsError as error:
        if not str(error).isprintable():
            raise Finding(f"the error's text would confuse a terminal: {str(error)!r}") from error
        return error


def attempt_command(root: Path, rng: random.Random) -> None:
    """One command on the table, at times at a terminal: it ends without a traceback, and prints what is harmless."""
    name = rng.choice(COMMANDS)
    arguments = [name, str(root), *(["--relocate"] if (root / "metadata").is_dir() else [])]
    if name != "clustering" and rng.random() < 0.5:
        arguments.append("--json")
    status, shown = (at_terminal if rng.random() < 0.3 else captured)(arguments)
    if "This is unexpected" in shown or status not in (0, 1, 2, 3):
        raise Finding(f"{arguments}: status {status}, {shown[-500:]}")
    wrong = [c for c in shown if not c.isprintable() and c != "\n"]
    if wrong:
        raise Finding(f"{arguments}: {sorted(set(wrong))!r} in what is shown")


def captured(arguments: list[str]) -> tuple[int, str]:
    """A command's status and what it prints at no terminal."""
    out, err = io.StringIO(), io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        status = command(arguments)
    return status, out.getvalue() + err.getvalue()


def at_terminal(arguments: list[str]) -> tuple[int, str]:
    """The same at a pseudo-terminal, without the sequences by which we colour text and move over our own lines."""
    outside, inside = os.openpty()
    parts: list[bytes] = []

    def read() -> None:
        with contextlib.suppress(OSError):  # the other end was closed
            while part := os.read(outside, 1 << 16):
                parts.append(part)

    reader = threading.Thread(target=read)
    reader.start()
    try:
        with (
            open(inside, "w", encoding="utf-8") as terminal,
            contextlib.redirect_stdout(terminal),
            contextlib.redirect_stderr(terminal),
        ):
            status = command(arguments)
    finally:
        reader.join()
        os.close(outside)
    return status, OURS.sub("", b"".join(parts).decode("utf-8", "replace"))


# ---- running --------------------------------------------------------------------------------------------------------


def one(number: int, folder: Path, use: Use = use) -> tuple[str, str]:
    """The outcome of run ``number``, and what was done."""
    rng = random.Random(number)
    source = rng.choice(TABLES)
    root = folder / "table"
    shutil.rmtree(root, ignore_errors=True)
    shutil.copytree(source / "table", root)
    what = f"{source.name}: {damage(rng, root)}"
    started = time.process_time()
    try:
        outcome = use(root, rng)
    except Exception:
        return "FINDING", f"run {number}, {what}\n{traceback.format_exc()[-3000:]}"
    if (seconds := time.process_time() - started) > MAX_SECONDS:
        return "FINDING", f"run {number}, {what}: {seconds:.1f} s"
    return outcome, what


def warm(folder: Path, use: Use) -> None:
    """Use every table as it is, and each command, so that children of this process need not import anything."""
    for number, source in enumerate(TABLES):
        shutil.rmtree(folder / "table", ignore_errors=True)
        shutil.copytree(source / "table", folder / "table")
        with contextlib.suppress(Finding, tf.TableFormatsError):
            use(folder / "table", random.Random(number))
    gc.collect()
    gc.freeze()  # children would copy every page whose counts of references the collector changes


def batches(first: int, runs: int, seconds: float, use: Use) -> Iterator[tuple[int, list[tuple[str, str]]]]:
    """The first number and the outcomes of each batch; a child does :data:`BATCH` runs."""
    end = time.time() + seconds if seconds else float("inf")
    start, last = first, first + runs
    while start < last and time.time() < end:
        outcomes = batch(start, min(BATCH, last - start), use)
        yield start, outcomes
        start += len(outcomes)


def batch(start: int, count: int, use: Use) -> list[tuple[str, str]]:
    """The outcomes of some runs, made in a child; the last is a finding where the child ended too early."""
    source, target = os.pipe()
    child = os.fork()
    if not child:
        child_runs(start, count, target, use)
    os.close(target)
    with os.fdopen(source) as lines:
        outcomes: list[tuple[str, str]] = [tuple(json.loads(line)) for line in lines]
    status = os.waitpid(child, 0)[1]
    if status:
        outcomes.append(("FINDING", f"run {start + len(outcomes)}: the process ended with {status}"))
    return outcomes


def child_runs(start: int, count: int, target: int, use: Use) -> None:
    status = 1
    try:
        with tempfile.TemporaryDirectory(dir="/dev/shm" if os.path.isdir("/dev/shm") else None) as folder:
            for number in range(start, start + count):
                signal.alarm(HANGS)
                signal.setitimer(signal.ITIMER_PROF, 3 * MAX_SECONDS)
                os.write(target, (json.dumps(one(number, Path(folder), use)) + "\n").encode())
        status = 0
    finally:
        os._exit(status)


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m tests.fuzz.tables", description=__doc__)
    parser.add_argument("--runs", type=int, default=10**9)
    parser.add_argument("--seconds", type=float, default=0)
    parser.add_argument("--first", type=int, default=0, help="the number of the first run")
    parser.add_argument("--resume", action="store_true", help="go on after the last run of the record, up to --runs")
    parser.add_argument("--record", type=Path, default=Path("build/fuzz/tables.jsonl"), help="what was run so far")
    parser.add_argument("--write", type=Path, help="put the counts of the record between the marks of this file")
    parser.add_argument("--only", type=int, help="do this run alone, here")
    parser.add_argument("--writing", action="store_true", help="write to the tables: tests/fuzz/writes.py")
    asked = parser.parse_args()
    done = use
    if asked.writing:
        from tests.fuzz.writes import write as done
    if asked.only is not None:
        print("\n".join(one(asked.only, Path(tempfile.mkdtemp()), done)))
        return
    tally = Tally(asked.record)
    if asked.write is not None:
        tally.write(asked.write, "writes" if asked.writing else "tables")
        return
    first, runs = tally.rest(asked.first, asked.runs) if asked.resume else (asked.first, asked.runs)
    with tempfile.TemporaryDirectory() as folder:
        warm(Path(folder), done)
    found = shown = total = 0
    for start, outcomes in batches(first, runs, asked.seconds, done):
        tally.add(start, outcomes)
        for outcome, what in outcomes:
            if outcome == "FINDING":
                found += 1
                print(what, flush=True)
        total += len(outcomes)
        if total // PROGRESS > shown:
            shown = total // PROGRESS
            print(f"{total} tables, {found} findings", file=sys.stderr, flush=True)
    print(f"{total} tables, {found} findings\n{tally.figures()}")
    sys.exit(1 if found else 0)


if __name__ == "__main__":
    main()
