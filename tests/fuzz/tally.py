"""The record of the whole tables that were damaged and used: a line of JSON for each batch, and counts over them.

The record outlives the process that writes it. A finding does not end a run: it is mended, and the run goes on after
the last batch (``--resume``). The counts since the last finding are those of the present code.
"""

from __future__ import annotations

import json
import re
import subprocess
import time
from collections import Counter
from pathlib import Path
from typing import Any

from tests.support.marks import write_between

ROOT = Path(__file__).parents[2]
KINDS = (
    ("Delta commits", r"_delta_log/\d{20}\.json$"),
    ("Delta checkpoints and sidecars", r"checkpoint.*\.(parquet|json)$|_sidecars/"),
    ("`_last_checkpoint`", r"_last_checkpoint$"),
    ("`.crc`", r"\.crc$"),
    ("Delta deletion vectors", r"deletion_vector.*\.bin$"),
    ("Iceberg metadata and hints", r"\.metadata\.json$|\.metadata\.json\.gz$|version-hint"),
    ("Iceberg manifest lists", r"snap-[^/]*\.avro$"),
    ("Iceberg manifests", r"metadata/[^/]*\.avro$"),
    ("Puffin files", r"\.(puffin|stats)$"),
    ("data and delete files, ORC", r"\.orc$"),
    ("data and delete files, Avro", r"\.avro$"),
    ("data and delete files, Parquet", r"\.parquet$"),
)


def kind_of(path: str) -> str:
    return next((kind for kind, form in KINDS if re.search(form, path)), "other files")


class Tally:
    """What a record holds; ``path`` need not exist."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.batches: list[dict[str, Any]] = []
        if path.exists():
            self.batches = [json.loads(line) for line in path.read_text().splitlines()]
        self.commit = subprocess.run(
            ["git", "rev-parse", "--short", "HEAD"], capture_output=True, text=True, cwd=ROOT
        ).stdout.strip()
        self.seen = time.time()

    def rest(self, first: int, runs: int) -> tuple[int, int]:
        """The runs of ``first`` to ``first + runs`` that are not in the record: a first number, and how many."""
        ends = [b["first"] + b["runs"] for b in self.batches if first <= b["first"] < first + runs]
        at = max(ends, default=first)
        return at, max(first + runs - at, 0)

    def add(self, first: int, outcomes: list[tuple[str, str]]) -> None:
        """Write down a batch: outcomes and what was damaged, as :func:`tests.fuzz.tables.one` gives them."""
        files = [path for _, what in outcomes for path in what.partition(": ")[2].split("\n")[0].split(", ") if path]
        now = time.time()
        line = {
            "first": first,
            "runs": len(outcomes),
            "outcomes": Counter(outcome for outcome, _ in outcomes),
            "findings": [what for outcome, what in outcomes if outcome == "FINDING"],
            "damaged": Counter(map(kind_of, files)),
            "seconds": round(now - self.seen, 1),
            "commit": self.commit,
        }
        self.seen = now
        self.batches.append(line)
        self.path.parent.mkdir(parents=True, exist_ok=True)
        with self.path.open("a") as record:
            record.write(json.dumps(line) + "\n")

    def since_finding(self) -> list[dict[str, Any]]:
        """The batches after the last one with a finding."""
        last = max((i for i, b in enumerate(self.batches) if b["findings"]), default=-1)
        return self.batches[last + 1 :]

    def figures(self) -> str:
        """Counts, as a table: all of the record, and what came after the last finding."""
        whole, since = self.batches, self.since_finding()
        rows: list[tuple[str, list[int]]] = [
            ("tables", [sum(b["runs"] for b in part) for part in (whole, since)]),
            ("findings", [sum(len(b["findings"]) for b in part) for part in (whole, since)]),
            ("seconds", [round(sum(b["seconds"] for b in part)) for part in (whole, since)]),
        ]
        for field, form in (("outcomes", "ended in {}"), ("damaged", "damaged: {}")):
            counts = [sum((Counter(b[field]) for b in part), Counter[str]()) for part in (whole, since)]
            names = [name for name, _ in counts[0].most_common() if name != "FINDING"]
            rows += [(form.format(name), [count[name] for count in counts]) for name in names]
        lines = ["| | in the run | after its last finding |", "|-|-:|-:|"]
        return "\n".join([*lines, *(f"| {name} | {a:,} | {b:,} |" for name, (a, b) in rows)])

    def write(self, page: Path, mark: str) -> None:
        """Put the counts between the marks of ``page``, with the numbers and the commits of the runs."""
        numbers = f"Runs {self.batches[0]['first']} to {self.batches[-1]['first'] + self.batches[-1]['runs'] - 1}"
        commits = ", ".join(dict.fromkeys(b["commit"] for b in self.batches))
        write_between(page, mark, f"{numbers}, on commits {commits}.\n\n{self.figures()}")
