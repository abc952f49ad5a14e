"""This library, deltalake and Delta for Spark change one table in turn, by random programs with a model of rows.

    python -m tests.golden.delta_turns FOLDER [--steps 40] [--seed 1]

The model is a list of rows to which each verb is applied, independent of all three. In the end each version is read by
all three (deltalake only where it has the features of the table), and the verifier goes over the log with all rows. The
command exits with the first answer that differs and the program that led there. It needs what
:mod:`tests.golden.read_jvm` needs, and deltalake.
"""

from __future__ import annotations

import argparse
import random
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import tableformats as tf
from tests.golden.read_jvm import delta_session
from tests.support.rows import collect
from tests.support.verified import assert_clean
from tests.write.test_changes import CONDITIONS, Row, applied, as_texts, is_theirs, rows_of, run, run_theirs

Step = tuple[str, Any]
FEATURES: dict[str, dict[str, str]] = {
    "plain": {},
    "checkpoints of structs": {
        "delta.checkpointInterval": "3",
        "delta.checkpoint.writeStatsAsStruct": "true",
        "delta.checkpoint.writeStatsAsJson": "false",
    },
    "vectors and row ids": {
        "delta.enableDeletionVectors": "true",
        "delta.enableRowTracking": "true",
        "delta.enableInCommitTimestamps": "true",
        "delta.checkpointInterval": "4",
    },
    "mapping, changes and V2": {
        "delta.columnMapping.mode": "name",
        "delta.enableChangeDataFeed": "true",
        "delta.checkpointPolicy": "v2",
        "delta.checkpointInterval": "3",
    },
}
BY_DELTALAKE = ("plain", "checkpoints of structs")
"""The tables that deltalake writes too."""
UPKEEP = ("checkpoint", "optimize")
"""Steps after which the rows are what they were."""


@dataclass
class Program:
    """One table and what is done to it; ``told`` has the steps so far, for errors."""

    spark: Any
    root: Path
    features: str
    partitioned: bool
    rows: list[Row] = field(default_factory=list)
    expected: dict[int, list[Row]] = field(default_factory=dict)
    told: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        partition = "p" if self.partitioned else None
        properties = FEATURES[self.features]
        schema = rows_of().schema
        tf.create_table(self.root, schema, format="delta", partition_by=partition, properties=properties)
        self.expected[0] = []

    @property
    def version(self) -> int:
        """The newest version, by the names of the log."""
        return max(int(p.stem) for p in (self.root / "_delta_log").glob("*.json") if p.stem.isdigit())

    def take(self, actor: str, step: Step) -> None:
        """Have ``actor`` do a step, and the model too."""
        self.told.append(f"{actor}: {step}")
        if step[0] == "checkpoint":
            tf.open_table(self.root).checkpoint()
        elif step[0] == "optimize" and actor == "spark":
            self.spark.sql(f"OPTIMIZE delta.`{self.root}`")
        elif step[0] == "optimize":
            import deltalake

            deltalake.DeltaTable(str(self.root)).optimize.compact()
        else:
            {"ours": self._ours, "deltalake": self._deltalake, "spark": self._spark}[actor](step)
            self.rows = applied(self.rows, step)
        self.expected[self.version] = self.rows

    def _ours(self, step: Step) -> None:
        run(tf.open_table(self.root), step)

    def _deltalake(self, step: Step) -> None:
        run_theirs(self.root, step)

    def _spark(self, step: Step) -> None:
        verb, given = step
        if verb == "delete":
            self.spark.sql(f"DELETE FROM delta.`{self.root}` WHERE {given}")
            return
        options: dict[str, str] = {}
        if verb == "dynamic":
            options["partitionOverwriteMode"] = "dynamic"
        if verb == "replace":
            options["replaceWhere"], new = given
            given = [row for row in new if CONDITIONS[options["replaceWhere"]](row)]
        frame = self.spark.createDataFrame(rows_of(*given))
        mode = "append" if verb == "append" else "overwrite"
        frame.write.format("delta").mode(mode).options(**options).save(str(self.root))

    def check(self) -> None:
        """Compare each version, as all three read it, with the model. Raises AssertionError."""
        table = tf.open_table(self.root)
        for version, wanted in self.expected.items():
            frame = self.spark.sql(f"SELECT id, p, f FROM delta.`{self.root}` VERSION AS OF {version}")
            found = {"ours": table.to_arrow(version=version), "spark": collect(frame)}
            if self.features in BY_DELTALAKE:
                import deltalake

                theirs = deltalake.DeltaTable(str(self.root), version=version)
                found["deltalake"] = theirs.to_pyarrow_table().select(["id", "p", "f"])
            for reader, rows in found.items():
                texts = as_texts([tuple(r.values()) for r in rows.to_pylist()])
                assert texts == as_texts(wanted), f"{reader}, version {version}: {texts} of {as_texts(wanted)}"
            for condition, matches in CONDITIONS.items():
                count = table.count(condition, version=version)
                assert count == sum(map(matches, wanted)), f"{condition}, version {version}: {count} rows"
        assert_clean(self.root)


def steps(chance: random.Random, program: Program) -> Iterator[tuple[str, Step]]:
    """(actor, step) without end."""

    def row() -> Row:
        return chance.randrange(6), chance.choice(["a", "b", None]), chance.choice([0.5, float("nan"), None])

    def new(least: int = 0) -> list[Row]:
        return [row() for _ in range(chance.randrange(least, 6))]

    verbs: dict[str, Callable[[], Any]] = {
        "append": lambda: new(1),
        "overwrite": new,
        "dynamic": lambda: new(1),
        "delete": lambda: chance.choice([*CONDITIONS]),
        "replace": lambda: (chance.choice([*CONDITIONS]), new()),
        **dict.fromkeys(UPKEEP, lambda: None),
    }
    weights = {"append": 8, "overwrite": 1, "dynamic": 2, "delete": 4, "replace": 3, "checkpoint": 1, "optimize": 1}
    while True:
        [verb] = chance.choices([*verbs], [weights[name] for name in verbs]) if program.rows else ["append"]
        if verb == "dynamic" and not program.partitioned:
            verb = "append"
        step = verb, verbs[verb]()
        # Spark drops row groups by bounds in which NaN, its greatest value, does not count: those of Arrow's writer.
        asks_for_nan = verb in ("delete", "replace") and ("f > 1.0" in str(step[1]) or "f = 0.5" in str(step[1]))
        actors = ["spark"] if verb == "optimize" else ["ours"] if asks_for_nan else ["ours", "spark"]
        if program.features in BY_DELTALAKE and verb != "checkpoint" and (verb == "optimize" or is_theirs(step)):
            actors.append("deltalake")
        yield chance.choice(actors), step


def main(folder: Path, count: int, seed: int) -> None:
    """Programs of 12 steps each, with each set of features in turn, until ``count`` steps are done."""
    chance, spark, done = random.Random(seed), delta_session(), 0
    while done < count:
        features = [*FEATURES][done // 12 % len(FEATURES)]
        program = Program(spark, folder / f"{seed}-{done}", features, chance.random() < 0.5)
        try:
            for _, (actor, step) in zip(range(12), steps(chance, program), strict=False):
                program.take(actor, step)
            program.check()
        except BaseException:
            print(f"{features}, partitioned: {program.partitioned}", *program.told, sep="\n", flush=True)
            raise
        done += 12
        verbs = ", ".join(line.partition(": (")[0] + " " + line.split("'")[1] for line in program.told)
        print(
            f"{features}: {len(program.expected)} versions read by all with the rows of the model ({verbs})", flush=True
        )


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--steps", type=int, default=40)
    parser.add_argument("--seed", type=int, default=1)
    asked = parser.parse_args()
    main(asked.folder.resolve(), asked.steps, asked.seed)
