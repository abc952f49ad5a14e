"""The nth allocation, read, start of a thread or fsync fails, for n = 1, 2, ... until none is reached.

``python -m tests.fuzz.faults`` does so for every kind of fault while tables are opened, planned, explained, read and
written. A run ends in the right answer or in one error that says what happened: ours, MemoryError, OSError, or Python's
RuntimeError for a thread that cannot be started. Then the same call on the same objects, and on new ones, gives the
right answer. SQLite tests so ("How SQLite Is Tested", sections 3.1 and 3.2).

``faults.c`` makes calls fail. It is compiled with gcc and preloaded, so this works on Linux with glibc only. Runs are
made in children: a crash is a finding.
"""

from __future__ import annotations

import argparse
import ctypes
import gc
import json
import os
import select
import shutil
import signal
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

HERE = Path(__file__).parent
GOLDEN = HERE.parent / "golden" / "tables_jvm"
KINDS = {"own": 1, "arrow": 2, "python": 3, "read": 4, "thread": 5, "fsync": 6}
"""Allocations of our extensions, of Arrow's pool, of Python; reads of the table's files; threads; fsync."""
ELSEWHERE = 78
"""The status of a process that ended in a library that is not ours, with no function of ours near: the interpreter and
NumPy do not survive every allocation that fails."""
SILENCE, MOST_SILENCE = 2.0, 120.0
"""Seconds without an outcome after which a child hangs if all of its threads sleep, and in any case. Where Python
gets no memory this is counted and is no finding: ``Thread.start`` waits for ever for a thread that ended before it
began, and ``Condition.__exit__`` keeps its lock where there is no memory for its arguments."""
PYTHON_SAYS = (
    "can't start new thread",
    "can't allocate lock",
    "expected str, bytes or os.PathLike object, not PosixPath",
    "stat: path should be string, bytes, os.PathLike or integer, not PosixPath",
)
"""What Python's own functions say where they get no memory. They take a method that they could not bind for none."""
BATCH = 200
"""Faults of one child."""
_LIBRARY = "TABLEFORMATS_FAULTS"


def environment(folder: Path) -> dict[str, str] | None:
    """The variables under which faults can be made, with the library built in ``folder``; None where it cannot be."""
    library = folder / "faults.so"
    compiler = shutil.which("gcc") or shutil.which("cc")
    if not sys.platform.startswith("linux") or compiler is None:
        return None
    command = [compiler, "-O2", "-shared", "-fPIC", str(HERE / "faults.c"), "-o", str(library), "-ldl"]
    if subprocess.run(command, capture_output=True).returncode:
        return None
    # Arrow's other pools ask the system for memory seldom.
    more = {"LD_PRELOAD": str(library), "ARROW_DEFAULT_MEMORY_POOL": "system", _LIBRARY: str(library)}
    return {**os.environ, **more}


@dataclass(frozen=True)
class Operation:
    """``prepare`` makes what is used from a folder of its own; ``run`` gives an answer that can be compared.

    ``kinds``: the faults that it can meet.
    """

    name: str
    prepare: Callable[[Path], Any]
    run: Callable[[Any], Any]
    kinds: tuple[str, ...]


MEMORY = ("own", "arrow", "python")


def copied(name: str) -> Callable[[Path], Path]:
    def prepare(folder: Path) -> Path:
        shutil.copytree(GOLDEN / name / "table", folder / "table")
        return folder / "table"

    return prepare


def opened(root: Path) -> Any:
    import tableformats as tf

    return tf.open_table(root, relocate=(root / "metadata").is_dir() or None)


def planned(root: Path, where: str | None) -> Any:
    plan = opened(root).scan(where).plan()
    return [sorted(map(os.path.basename, plan.file_uris())), plan.report.rows_planned, len(list(plan.tasks()))]


def rows(root: Path, where: str | None) -> Any:
    return opened(root).scan(where).to_arrow()  # pyarrow's Python objects are another library's affair


def looked_at(root: Path) -> Any:
    table = opened(root)
    names = ("files", "log") if table.format == "delta" else ("files", "snapshots", "manifests")
    return [table.history().num_rows, [getattr(table.inspect, name)().num_rows for name in names]]


def new_table(folder: Path) -> Path:
    from tests.support import delta_log

    return delta_log.DeltaLog(folder / "table").start(delta_log.field("id", "long")).root


def append(root: Path) -> Any:
    import pyarrow as pa

    opened(root).append(pa.table({"id": [1, 2]}))
    return None


def length(root: Path) -> int:
    return int(opened(root).scan().to_arrow().num_rows)


def operations() -> list[Operation]:
    found = []
    for name in (
        "delta-deletion-vectors",
        "delta-v2-checkpoint",
        "iceberg-position-deletes",
        "iceberg-deletion-vectors",
    ):
        prepare = copied(name)
        kinds = (*MEMORY, "read")
        found.append(Operation(f"{name}: plan", prepare, lambda root: planned(root, "id > 3"), kinds))
        found.append(Operation(f"{name}: rows", prepare, lambda root: rows(root, "id > 3"), (*kinds, "thread")))
        found.append(Operation(f"{name}: inspect", prepare, looked_at, kinds))
    return found


# ---- one fault ------------------------------------------------------------------------------------------------------


class Faults:
    """The preloaded library."""

    def __init__(self) -> None:
        self._library = ctypes.CDLL(os.environ[_LIBRARY])
        self._library.fault_disarm.restype = ctypes.c_long
        self._library.fault_watch_python()
        self._library.fault_watch_crashes()

    def during(
        self, kind: str, number: int, folder: Path, call: Callable[[], Any]
    ) -> tuple[Any, Exception | None, int]:
        """What ``call`` gives or raises while the call ``number`` of ``kind`` fails, and how many it made."""
        place = str(folder).encode()
        arm, disarm = self._library.fault_arm, self._library.fault_disarm
        answer = error = None
        count = 0
        gc.disable()  # what is collected while memory fails is lost
        arm(KINDS[kind], ctypes.c_long(number), place)
        try:
            answer = call()
            count = disarm()
        except Exception as caught:
            count = disarm()
            error = caught
        finally:
            gc.enable()
        return answer, error, count


def is_allowed(error: Exception) -> bool:
    """Whether the error is ours, or says what failed."""
    from tableformats import CorruptMetadataError, TableFormatsError

    if isinstance(error, CorruptMetadataError):
        return isinstance(error.__cause__, SystemError)  # else the bytes are blamed, which are sound
    # NumPy fails without an exception where it has no memory, and Python makes a SystemError of that.
    if isinstance(error, (TableFormatsError, MemoryError, OSError, SystemError)):
        return True
    return str(error) in PYTHON_SAYS


def difference(right: Any, found: Any) -> str:
    """The right answer and another one, from where they differ."""
    texts = str(right), str(found)
    at = next((i for i, pair in enumerate(zip(*texts, strict=False)) if len({*pair}) > 1), 0)
    at = max(at - 100, 0)
    return " is not ".join(text[at : at + 400] for text in texts)


def check(faults: Faults, one: Operation, kind: str, number: int, root: Any, right: Any) -> tuple[str, str, int]:
    """(outcome, details, calls of the kind) of one fault: "answer", "error" or "FINDING"."""
    answer, error, count = faults.during(kind, number, root, lambda: one.run(root))
    outcome, details = "answer", ""
    if error is not None:
        outcome, details = "error", f"{type(error).__name__}: {error}"
        if not is_allowed(error):
            import traceback

            outcome = "FINDING"
            details = "".join(traceback.format_exception(error))[-2500:]
    elif answer != right:
        outcome, details = "FINDING", f"another answer: {difference(right, answer)}"
    del answer, error
    if outcome != "FINDING" and (again := one.run(root)) != right:
        outcome, details = "FINDING", f"another answer afterwards: {difference(right, again)}, after {details}"
    return outcome, details, count


def check_append(faults: Faults, kind: str, number: int, folder: Path) -> tuple[str, str, int]:
    """A failed append left all of its rows or none, and the next one works."""
    root = new_table(folder)
    _, error, count = faults.during(kind, number, folder, lambda: append(root))
    before = length(root)
    wrong = before not in (0, 2) or (error is None and before != 2) or (error is not None and not is_allowed(error))
    append(root)
    if wrong or length(root) != before + 2:
        return "FINDING", f"{before} rows after {error!r}, then {length(root)}", count
    return ("answer" if error is None else "error"), repr(error), count


def child(one: Operation | None, kind: str, numbers: range, target: int) -> None:
    """Faults of these numbers, until one is not reached; a line of JSON for each."""
    from tableformats.runtime import streams, threads

    status = 1
    try:
        faults = Faults()
        streams.PATIENCE = threads.PATIENCE = 0.2
        with tempfile.TemporaryDirectory(dir="/dev/shm" if os.path.isdir("/dev/shm") else None) as folder:
            if one is not None:
                root = one.prepare(Path(folder))
                right = [one.run(root) for _ in range(2)][1]
            for number in numbers:
                if one is None:
                    place = Path(folder, str(number))
                    place.mkdir()
                    found = check_append(faults, kind, number, place)
                    shutil.rmtree(place)
                else:
                    found = check(faults, one, kind, number, root, right)
                os.write(target, (json.dumps([number, *found]) + "\n").encode())
                if found[2] < number:
                    break
        status = 0
    except BaseException:
        import traceback

        os.write(target, (json.dumps([-1, "FINDING", traceback.format_exc()[-2500:], 0]) + "\n").encode())
    finally:
        os._exit(status)


def outcomes(one: Operation | None, kind: str, step: int, first: int, most: int) -> Iterator[tuple[int, str, str]]:
    """(number, outcome, details) of every ``step``-th fault, from children that do a batch each."""
    while first <= most:
        source, target = os.pipe()
        pid = os.fork()
        numbers = range(first, min(first + BATCH * step, most + 1), step)
        if not pid:
            os.close(source)
            child(one, kind, numbers, target)
        os.close(target)
        last, reached = first - step, True
        for line in lines_of(source, pid):
            number, outcome, details, count = json.loads(line)
            last, reached = max(number, last), count >= number
            yield number, outcome, details
        ended = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
        if ended:
            last += step
            if ended == ELSEWHERE:
                yield last, "crash elsewhere", ""
            elif ended == -signal.SIGKILL and kind == "python":
                yield last, "hangs", ""
            else:
                yield last, "FINDING", f"the process ended with {ended}"
        if not reached:
            return
        first = last + step


def lines_of(source: int, pid: int) -> Iterator[str]:
    """The lines that the child writes; it is killed where it hangs."""
    rest, silence = b"", 0.0
    try:
        while silence < MOST_SILENCE and not (silence and sleeps(pid)):
            if not select.select([source], [], [], SILENCE)[0]:
                silence += SILENCE
                continue
            silence, data = 0.0, os.read(source, 1 << 16)
            if not data:
                return
            *lines, rest = (rest + data).split(b"\n")
            yield from map(bytes.decode, lines)
        os.kill(pid, signal.SIGKILL)
    finally:
        os.close(source)


def sleeps(pid: int) -> bool:
    """Whether all threads of a process wait for something."""
    threads = Path(f"/proc/{pid}/task").glob("*/stat")
    return all(stat.read_text().rpartition(")")[2].split()[0] == "S" for stat in threads)


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m tests.fuzz.faults", description=__doc__)
    parser.add_argument("--kinds", nargs="*", choices=list(KINDS), default=list(KINDS))
    parser.add_argument("--step", type=int, default=1, help="every so many faults of memory")
    parser.add_argument("--first", type=int, default=1, help="the number of the first fault")
    parser.add_argument("--most", type=int, default=10**9, help="the number of the last fault at most")
    parser.add_argument("--only", default="", help="operations whose name contains this")
    asked = parser.parse_args()
    if _LIBRARY not in os.environ:
        with tempfile.TemporaryDirectory() as folder:
            variables = environment(Path(folder))
            if variables is None:
                sys.exit("faults need Linux, glibc and gcc")
            sys.exit(
                subprocess.run([sys.executable, "-m", "tests.fuzz.faults", *sys.argv[1:]], env=variables).returncode
            )
    import tests.support.delta_log  # noqa: F401  # imports

    for one in operations():  # imports
        with tempfile.TemporaryDirectory() as folder:
            one.run(one.prepare(Path(folder)))
    findings = 0
    found: list[tuple[str, Operation | None, str]] = []
    for one in operations():
        found += [(one.name, one, kind) for kind in one.kinds]
    found += [("append", None, kind) for kind in ("fsync", "thread", "own", "arrow", "python")]
    for name, operation, kind in found:
        if kind not in asked.kinds or asked.only not in name:
            continue
        totals: dict[str, int] = {}
        step = asked.step if kind in MEMORY else 1
        for number, outcome, details in outcomes(operation, kind, step, asked.first, asked.most):
            totals[outcome] = totals.get(outcome, 0) + 1
            if outcome == "FINDING":
                findings += 1
                print(f"{name}, {kind} {number}: {details}", flush=True)
        print(f"{name}, {kind}: {totals}", flush=True)
    sys.exit(1 if findings else 0)


if __name__ == "__main__":
    main()
