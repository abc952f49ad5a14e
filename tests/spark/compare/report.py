"""The figures of the comparison as a page."""

from __future__ import annotations

from collections import Counter

from .compare import Outcome
from .session import JARS, SPARK

SHOWN = 40


def text(outcomes: list[Outcome], seed: int) -> str:
    compared = sum(o.compared for o in outcomes)
    refused: Counter[str] = sum((o.refused for o in outcomes), Counter())
    errors: Counter[str] = sum((o.spark_errors for o in outcomes), Counter())
    examples = {reason: example for o in reversed(outcomes) for reason, example in o.examples.items()}
    alone = [line for o in outcomes for line in o.answered_alone]
    differences = [d for o in outcomes for d in o.differences]
    documented = [d for o in outcomes for d in o.documented]
    selective = sum(o.selective for o in outcomes)
    files, dropped = sum(o.files for o in outcomes), sum(o.files_dropped for o in outcomes)
    total = compared + refused.total() + errors.total() + sum("Error:" in d.what for d in differences)
    lines = [
        "# Comparison with Spark",
        "",
        "`python -m tests.spark.compare` writes this page. Random predicates over tables of Spark's own writers; Spark",
        "evaluates each as a column of the whole table, with nothing pushed down. Compared are the rows by value, the",
        "count, that no file with a matching row is dropped, and that files marked as fully matched are.",
        "",
        f"Spark {SPARK}, {', '.join(f'`{jar}`' for jar in JARS if 'spark' in jar)}; seed {seed}.",
        "",
        "| | |",
        "|-|-|",
        f"| tables | {len(outcomes)} |",
        f"| predicates | {total} |",
        f"| compared | {compared} |",
        f"| of these, some rows match and others do not | {selective} |",
        f"| different | {len(differences)} |",
        f"| different by a documented rule | {len(documented)} |",
        f"| refused by us | {refused.total()} |",
        f"| refused by Spark | {errors.total()} |",
        f"| of these, answered by us | {len(alone)} |",
        f"| files dropped, of all files of all plans | {dropped} of {files} |",
        "",
        "## Tables",
        "",
        "| Table | Compared | Different | Refused by us | Refused by Spark | Files dropped |",
        "|-|-|-|-|-|-|",
    ]
    lines += [
        f"| {o.table} | {o.compared} | {len(o.differences)} | {o.refused.total()} | {o.spark_errors.total()} "
        f"| {100 * o.files_dropped // max(o.files, 1)} % |"
        for o in outcomes
    ]
    if differences:
        lines += ["", "## Differences", "", "| Table | Predicate | What differs |", "|-|-|-|"]
        lines += [f"| {d.table} | {_code(d.smallest)} | {d.what} |" for d in differences]
    if documented:
        lines += ["", "## Documented differences", "", "| Table | Predicate | What differs | Rule |", "|-|-|-|-|"]
        lines += [f"| {d.table} | {_code(d.smallest)} | {d.what} | {d.rule} |" for d in documented]
    if refused:
        lines += ["", "## Refused by us", "", "| Reason | Times | Example |", "|-|-|-|"]
        lines += [f"| {_plain(r)} | {n} | {_code(examples[r])} |" for r, n in refused.most_common(SHOWN)]
    lines += ["", "## Refused by Spark", "", "| Error class | Times |", "|-|-|"]
    lines += [f"| {name} | {n} |" for name, n in errors.most_common()]
    if alone:
        lines += ["", "Of these, we answered:", ""]
        lines += [f"- {_code(line)}" for line in alone[:SHOWN]]
    return "\n".join(lines) + "\n"


def _code(predicate: str) -> str:
    return "`" + predicate.replace("|", "\\|").replace("`", "'")[:300] + "`"


def _plain(reason: str) -> str:
    return reason.replace("|", "\\|").replace("<", "\\<").replace("*", "\\*")
