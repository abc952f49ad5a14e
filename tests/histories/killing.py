"""A writer that is killed before its n-th change of the disk, or its n-th request: what is left, and who goes on."""

from __future__ import annotations

import json
import multiprocessing
import os
import shutil
import signal
import sys
import tempfile
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import tableformats as tf

from ..support.s3_stub import Request, S3Stub
from .checker import check
from .failing import FIRST, OF_STORES, PROPERTIES
from .history import History, Recorder, merged
from .ledger import local_files
from .orphans import orphans_of, wrong_orphans
from .tables import SCHEMA, Op, arrow_of, ledger_of, perform
from .workers import makers_of

__all__ = ["VERBS", "killed_locally", "killed_on_s3"]

VERBS = {
    "iceberg": (
        "append",
        "overwrite",
        "overwrite where",
        "delete",
        "alter",
        "create",
        "checkpoint",
        "replace",
        "restore",
    ),
}
VERBS["delta"] = (*VERBS["iceberg"], "compact")
_CHANGES = ("os.link", "os.rename", "os.remove", "os.mkdir")
_AFTER = Op("after", "append", {"rows": [{"id": 999, "p": 2, "k": 9}]})
Outcome = tuple[bool, list[str], int]
"""Whether the writer was killed, what is wrong, how many files nothing names."""


class _Killer:
    """Kills this process before its n-th change below ``root``. ``torn``: a file that is not on the disk yet is cut."""

    def __init__(self, root: str, number: int, torn: bool) -> None:
        self._root, self._left, self._torn = root, number, torn
        self._fsync = os.fsync
        os.fsync = self._synced
        sys.addaudithook(self._seen)

    def _seen(self, event: str, arguments: tuple[Any, ...]) -> None:
        if event == "open":
            path, flags = arguments[0], arguments[2]
            is_change = isinstance(path, str) and path.startswith(self._root) and bool(flags & os.O_CREAT)
        else:
            is_change = event in _CHANGES and str(arguments[0]).startswith(self._root)
        if is_change:
            self._count()

    def _synced(self, handle: int) -> None:
        path = os.readlink(f"/proc/self/fd/{handle}")
        if self._left == 0 and self._torn and os.path.isfile(path):
            os.ftruncate(handle, os.fstat(handle).st_size // 2)
        self._count()
        self._fsync(handle)

    def _count(self) -> None:
        if self._left == 0:
            os.kill(os.getpid(), signal.SIGKILL)
        self._left -= 1


def _victim(root: str, format: str, name: str, log: str, number: int, torn: bool, options: dict[str, Any]) -> None:
    with open(log, "a", encoding="utf-8") as out:

        def tell(event: Mapping[str, Any]) -> None:
            out.write(json.dumps(event) + "\n")
            out.flush()

        if number >= 0:
            _Killer(root, number, torn)
        perform(root, format, OF_STORES[name], Recorder(tell=tell), 1, level="serializable", storage_options=options)


def _context() -> Any:
    found = multiprocessing.get_context("forkserver")
    found.set_forkserver_preload(["tests.histories.killing", "tableformats_delta", "tableformats_iceberg", "obstore"])
    return found


def _begin(root: Any, format: str, name: str, options: dict[str, Any]) -> int:
    if name == "create":
        return 0
    table = tf.create_table(
        root, SCHEMA, format=format, partition_by="p", properties=PROPERTIES[format], storage_options=options or None
    )
    is_emptied = name == "restore" and format == "iceberg"  # what it is set back to
    if is_emptied:
        table.append(arrow_of(FIRST[:1]))
        table.delete("true")
    table.append(arrow_of(FIRST))
    return 2 + 2 * is_emptied


def killed_locally(format: str, name: str, number: int, torn: bool = False) -> Outcome:
    """Kill a writer on the local disk. ``number`` counts its changes of the disk from 0 on."""
    folder = Path(tempfile.mkdtemp(prefix="killed-", dir="/dev/shm" if os.path.isdir("/dev/shm") else None))
    try:
        root, log = str(folder / "t"), folder / "events"
        initial = _begin(root, format, name, {})
        victim = _context().Process(target=_victim, args=(root, format, name, str(log), number, torn, {}))
        victim.start()
        victim.join()
        return _judged(root, format, name, initial, log, victim.exitcode, {}, lambda: local_files(Path(root)))
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def killed_on_s3(format: str, name: str, number: int) -> Outcome:
    """Kill a writer when its n-th request comes to the store, which does not do it."""
    with S3Stub() as stub, tempfile.TemporaryDirectory() as folder:
        location, log = "s3://bucket/t", Path(folder) / "events"
        options = stub.options
        initial = _begin(location, format, name, options)
        seen = [0]
        victim = _context().Process(target=_victim, args=(location, format, name, str(log), -1, False, options))

        def comes(request: Request) -> bool:
            seen[0] += 1
            if seen[0] == number + 1 and victim.pid is not None:
                os.kill(victim.pid, signal.SIGKILL)
            return seen[0] > number

        stub.fault, stub.faulty = "reset", comes
        victim.start()
        victim.join()
        # Its process id may be another's now.
        stub.fault, stub.faulty = "", lambda request: False

        def files() -> dict[str, bytes]:
            return {key[2:]: data for key, (data, _) in stub.objects.items() if key.startswith("t/")}

        return _judged(location, format, name, initial, log, victim.exitcode, options, files)


def _judged(
    location: Any, format: str, name: str, initial: int, log: Path, code: int | None, options: Any, files: Any
) -> Outcome:
    """Whether the table is as before or after, and the next writer and reader go on."""
    was_killed = code == -signal.SIGKILL
    lines = log.read_text().splitlines() if log.exists() else []
    recorder = Recorder()
    recorder.events += merged([[json.loads(line) for line in lines]], time.monotonic_ns())  # type: ignore[arg-type]
    found = [] if code in (0, -signal.SIGKILL) else [f"the writer ended with {code}"]
    op = OF_STORES[name]
    steps = [(2, _AFTER), (3, Op("reader", "read"))]
    if name == "create":
        # A table that may be there is made again, or found.
        steps.insert(0, (4, Op("again", "create", op.arguments)))
    for process, step in steps:
        error = perform(
            location, format, step, recorder, process, level="serializable", storage_options=options or None
        )
        if error is not None and step.kind != "create":
            found.append(f"the next {step.kind} fails: {error!r}")
    now = files()
    table = tf.open_table(location, storage_options=options or None)
    makers = makers_of(recorder.events)
    if name == "restore" and format == "iceberg":  # nothing else tells who set the branch to it
        makers[f"snapshot {table.inspect.snapshots()['snapshot_id'][1]}"] = op.id
    ledger = ledger_of(format, now, None, makers)
    found += check(History.of(format, "serializable", initial, recorder.events), ledger)
    found += wrong_orphans(table, now, ledger)
    return was_killed, found, len(orphans_of(table))
