"""``python -m tests.coverage``: line coverage of the planning core and of both plugins, ``.pyx`` included.

Builds the extensions with line tracing in a copy of the tree, runs the tests that need no Spark there, and prints the
lines that none of them reached. Needs the extra ``[coverage]``.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
from pathlib import Path

from tests.mutants.mutant import ROOT
from tests.mutants.runner import FALLBACK, copied_tree
from tests.support.marks import write_between

TESTS = (*FALLBACK, "tests/fuzz", "tests/golden")
CORE = "_core cache columnar expressions io planning plugin pruning runtime schema table"
PARTS = {
    "planning core": ",".join(["tableformats/*.py", *(f"tableformats/{name}/*" for name in CORE.split())]),
    "Arrow reader": "tableformats/engines/arrow/*",
    "Delta plugin": "plugins/delta/*",
    "Iceberg plugin": "plugins/iceberg/*",
}
# Whose module a line of a .pxd was compiled into decides whether Cython's plugin finds it: they are left out.
SETTINGS = """
[run]
plugins = Cython.Coverage
source = tableformats, plugins
omit = *.pxd, */__main__.py
[report]
exclude_also =
    if TYPE_CHECKING:
    raise NotImplementedError
    @(abc\\.)?abstractmethod
"""


def main() -> None:
    options = argparse.ArgumentParser(prog="python -m tests.coverage", description=__doc__)
    options.add_argument("--missing", action="store_true", help="print the numbers of the lines that were not reached")
    options.add_argument("--write", type=Path, help="put the figures between the marks of this file")
    options.add_argument("tests", nargs="*", default=TESTS, help="what to run, in place of all tests without Spark")
    given = options.parse_args()
    with copied_tree(built=False) as copy:
        environment = {**copy.environment, "TF_TRACE": "1"}
        # The tables beside the repository, where there are any.
        environment["TABLEFORMATS_CONFORMANCE"] = os.environ.get(
            "TABLEFORMATS_CONFORMANCE", str(ROOT.parent / "shared" / "tables")
        )
        (copy.root / ".coveragerc").write_text(SETTINGS)

        def run(*command: str) -> str:
            done = subprocess.run(
                [sys.executable, *command],
                cwd=copy.root,
                env=environment,
                text=True,
                stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT,
            )
            if done.returncode:
                raise SystemExit(done.stdout)
            return done.stdout

        run("setup.py", "-q", "build_ext", "--inplace")
        place = f"--basetemp={copy.root / 'tmp'}"  # goes with the copy
        pytest = ("-m", "pytest", "-q", "-p", "no:cacheprovider", place, "-m", "not spark", *given.tests)
        # It takes a quarter of an hour, so its dots are shown; a line that a failing test reached was reached.
        subprocess.run([sys.executable, "-m", "coverage", "run", *pytest], cwd=copy.root, env=environment, check=False)
        lines = ["| part | lines reached |", "|-|-:|"]
        for name, files in PARTS.items():
            report = ("-m", "coverage", "report", f"--include={files}")
            print(f"\n{name}\n{run(*report, *(['--show-missing'] if given.missing else []))}", flush=True)
            lines.append(f"| {name} | {run(*report, '--format=total', '--precision=1').strip()} % |")
        print("\n".join(lines))
        if given.write is not None:
            write_between(given.write, "coverage", "\n".join(lines))


if __name__ == "__main__":
    main()
