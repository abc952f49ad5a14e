"""Runs mutants in a copy of the tree, and remembers which test refused each.

The copy has the repository's files and the extensions that are built; only a mutant of native code builds again,
without optimisation. A mutant is *killed* where a test fails, *survived* where all pass, *broken* where no test could
be run.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path

from tests.mutants.clock import Clock
from tests.mutants.mutant import ROOT, Mutant

_NOT_ASKED = {"bench", "cli", "docs", "fuzz", "golden", "mutants", "property", "spark", "support", "testing"}
_SUBJECTS = sorted(path.name for path in (ROOT / "tests").glob("[a-z]*") if path.is_dir())
FALLBACK = ("tests/property", *(f"tests/{name}" for name in _SUBJECTS if name not in _NOT_ASKED))
"""Folders of tests that are asked where a mutant's killers do not notice it."""
TIMEOUT = 600
"""Seconds (of :class:`Clock`) of one run of tests."""
NO_ANSWER = f"no answer in {TIMEOUT} s"
TABLES = 30
"""How many tables each laboratory makes for a mutant."""
PAGE = ROOT / "docs" / "measured" / "mutants.md"
"""The committed table of verdicts."""
_KILLED_ROW = re.compile(r"^\| (\S+) \| .* \| `(\S+)` \|$", re.MULTILINE)
RESULTS = ROOT / "build" / "mutants.json"
_FAILED = re.compile(r"^(?:FAILED|ERROR) (\S+)", re.MULTILINE)


@dataclass(frozen=True)
class Result:
    """What became of a mutant: killed, survived or broken; ``by`` is the test, ``seconds`` its time."""

    outcome: str
    by: str
    seconds: float


class Copy:
    """A copy of the tree in which tests run."""

    def __init__(self, root: Path) -> None:
        self.root = root

    def test(self, tests: Sequence[str]) -> tuple[str, str]:
        """(outcome, the failing test or the end of the output)."""
        chosen = [] if any(test.startswith("tests/spark/") for test in tests) else ["-m", "not spark"]
        command = [sys.executable, "-m", "pytest", "-q", "-x", "-p", "no:cacheprovider", *chosen, *tests]
        done = self._run(command)
        if done is None:
            return "broken", NO_ANSWER
        if done.returncode == 0:
            return "survived", ""
        found = _FAILED.search(done.stdout)
        if done.returncode == 1 and found:
            return "killed", found.group(1)
        return "broken", done.stdout[-500:]

    def collected(self, tests: Sequence[str]) -> set[str]:
        """The ids of the tests in these folders."""
        command = [sys.executable, "-m", "pytest", "-q", "--collect-only", "-p", "no:cacheprovider", *tests]
        done = self._run(command)
        return {line for line in done.stdout.splitlines() if "::" in line} if done is not None else set()

    @contextmanager
    def changed(self, file: str, start: int, end: int, after: str) -> Iterator[None]:
        """The tree with other bytes in a Python file."""
        target = self.root / file
        sound = target.read_bytes()
        target.write_bytes(sound[:start] + after.encode() + sound[end:])
        _forget_compiled(target)
        try:
            yield
        finally:
            target.write_bytes(sound)
            _forget_compiled(target)

    @contextmanager
    def mutated(self, mutant: Mutant) -> Iterator[str]:
        """The tree with the mutant in it; gives what went wrong in building it."""
        target = self.root / mutant.located(self.root).file
        sound = target.read_text()
        built = {path: path.read_bytes() for path in self.root.rglob("*.so")} if mutant.is_native else {}
        target.write_text(mutant.mutated(self.root))
        _forget_compiled(target)
        try:
            yield self._build() if mutant.is_native else ""
        finally:
            target.write_text(sound)
            _forget_compiled(target)
            for path, content in built.items():
                path.write_bytes(content)

    def _build(self) -> str:
        done = self._run([sys.executable, "setup.py", "-q", "build_ext", "--inplace"], TF_DEBUG="1")
        return "" if done is not None and done.returncode == 0 else "it does not build"

    def _run(self, command: Sequence[str], **more: str) -> subprocess.CompletedProcess[str] | None:
        with subprocess.Popen(
            command,
            cwd=self.root,
            env={**self.environment, **more},
            text=True,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        ) as process:
            clock = Clock(process.pid)
            while True:
                try:
                    output, _ = process.communicate(timeout=1)
                    return subprocess.CompletedProcess(command, process.returncode, output)
                except subprocess.TimeoutExpired:
                    if clock.spent() > TIMEOUT:
                        os.killpg(process.pid, signal.SIGKILL)
                        return None
                except BaseException:  # an interruption does not reach another session
                    os.killpg(process.pid, signal.SIGKILL)
                    raise

    @property
    def environment(self) -> dict[str, str]:
        """Variables under which the copy's code and fixed examples are used, and no tables outside of it."""
        paths = [self.root, self.root / "plugins/delta", self.root / "plugins/iceberg"]
        return {
            **os.environ,
            "PYTHONPATH": os.pathsep.join(map(str, paths)),
            "TABLEFORMATS_PROFILE": "mutants",
            "TABLEFORMATS_EXAMPLES": str(TABLES),
            "TABLEFORMATS_CONFORMANCE": str(self.root / "none"),
        }


@contextmanager
def copied_tree(built: bool = True) -> Iterator[Copy]:
    """A copy of the repository's files and, if ``built``, of the extensions that are; gone afterwards."""
    listed = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, check=True, text=True, stdout=subprocess.PIPE).stdout
    # What setup.py generated is taken too, so that it builds no more than what a mutant changes.
    globs = {"tableformats": "*.so", "plugins": "*.so", "build/cython": "*.c"} if built else {}
    extensions = (path.relative_to(ROOT) for home, glob in globs.items() for path in (ROOT / home).rglob(glob))
    with tempfile.TemporaryDirectory() as folder:
        for name in [*listed.split("\0")[:-1], *map(str, extensions)]:
            if (ROOT / name).is_file():
                target = Path(folder) / name
                target.parent.mkdir(parents=True, exist_ok=True)
                shutil.copy2(ROOT / name, target)
        yield Copy(Path(folder))


def judge(copy: Copy, mutant: Mutant, fallback: Sequence[str]) -> Result:
    """Put ``mutant`` into the copy and see who notices: its killers, else the tests ``fallback``."""
    start = time.monotonic()
    with copy.mutated(mutant) as wrong:
        outcome, by = ("broken", wrong) if wrong else copy.test(mutant.killing_tests(copy.root))
        if outcome == "survived" and fallback:
            outcome, by = copy.test(fallback)
    return Result(outcome, by, round(time.monotonic() - start, 1))


def run(mutants: Sequence[Mutant], fallback: Sequence[str] = FALLBACK) -> dict[str, Result]:
    """Judge ``mutants``; each result is kept at once. At last the tests that failed must pass without a mutant."""
    results: dict[str, Result] = {}
    with copied_tree() as copy:
        for mutant in mutants:
            result = results[mutant.name] = judge(copy, mutant, fallback)
            print(f"{result.outcome:9} {mutant.name} ({result.seconds} s) {result.by}", flush=True)
            RESULTS.parent.mkdir(exist_ok=True)
            found = {**kept_results(), mutant.name: result}
            RESULTS.write_text(json.dumps({name: asdict(r) for name, r in found.items()}, indent=1))
        killers = sorted({r.by.partition("[")[0] for r in results.values() if r.outcome == "killed"})
        outcome, by = copy.test(killers) if killers else ("survived", "")
        if outcome != "survived":
            raise SystemExit(f"a test fails without a mutant: {by}")
    return results


def kept_results() -> dict[str, Result]:
    """What earlier runs found, by the mutants' names: runs here, and those that the committed table tells of."""
    found = {name: Result("killed", f"tests/{by}", 0) for name, by in _KILLED_ROW.findall(PAGE.read_text("utf-8"))}
    if RESULTS.exists():
        found.update({name: Result(**result) for name, result in json.loads(RESULTS.read_text()).items()})
    return found


def table(mutants: Iterable[Mutant], results: dict[str, Result]) -> str:
    """The kill table in Markdown."""
    lines = ["| mutant | what a naive reader does | killed by |", "|-|-|-|"]
    for mutant in mutants:
        result = results[mutant.name]
        by = f"`{_short(result.by)}`" if result.outcome == "killed" else f"**{result.outcome}**"
        lines.append(f"| {mutant.name} | {mutant.cause} | {by} |")
    return "\n".join(lines)


def _short(test: str) -> str:
    """A test's id without its parameters."""
    return test.partition("[")[0].removeprefix("tests/")


def _forget_compiled(source: Path) -> None:
    """A text of the same size and second would be taken for the one that was compiled."""
    for compiled in (source.parent / "__pycache__").glob(f"{source.stem}.*.pyc"):
        compiled.unlink()


__all__ = ["FALLBACK", "RESULTS", "Copy", "Result", "copied_tree", "judge", "kept_results", "run", "table"]
