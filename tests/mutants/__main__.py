"""``python -m tests.mutants``: judge all mutants, or those that ``--only`` names, and say which survived."""

from __future__ import annotations

import argparse
from pathlib import Path

from tests.mutants import every
from tests.mutants.runner import FALLBACK, kept_results, run, table
from tests.support.marks import write_between


def main() -> None:
    options = argparse.ArgumentParser(prog="python -m tests.mutants", description=__doc__)
    options.add_argument("--list", action="store_true", help="print the mutants and do nothing")
    options.add_argument("--only", default="", help="judge those whose names or anchors contain this")
    options.add_argument("--missing", action="store_true", help="judge those that no earlier run has killed")
    options.add_argument("--quick", action="store_true", help="ask nobody but the tests that each mutant names")
    options.add_argument("--write", type=Path, help="put the kill table of all mutants between the marks of this file")
    given = options.parse_args()
    chosen = [m for m in every() if given.only in m.name or given.only in m.where]
    if given.missing:
        kept = kept_results()
        chosen = [m for m in chosen if m.name not in kept or kept[m.name].outcome != "killed"]
    if given.list:
        print("\n".join(f"{m.name}: {m.cause} ({m.where})" for m in chosen))
        return
    results = run(chosen, () if given.quick else FALLBACK)
    survivors = [name for name, result in results.items() if result.outcome != "killed"]
    if given.write is not None:
        write(given.write)
    print(f"{len(results) - len(survivors)} of {len(results)} mutants killed")
    if survivors:
        raise SystemExit(f"not killed: {', '.join(survivors)}")


def write(page: Path) -> None:
    """Put the table between the marks of ``page``; every mutant must have been judged."""
    kept = kept_results()
    if unknown := [m.name for m in every() if m.name not in kept]:
        raise SystemExit(f"not judged yet: {', '.join(unknown)}")
    found = [kept[m.name] for m in every()]
    killed = sum(result.outcome == "killed" for result in found)
    write_between(page, "mutants", f"{killed} of {len(found)} mutants are killed.\n\n{table(every(), kept)}")


if __name__ == "__main__":
    main()
