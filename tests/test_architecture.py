"""Holds the house by reading its imports: who may import whom, who may touch what, and how long a file may be.

Layers are read from bottom to top: a module imports at module level only what stands below its own layer. A few
things reach upwards when they are called (a scan makes its plan, and hands it to an engine); they are listed in
:data:`UPWARD_WHEN_CALLED` and no others may. Imports for type checkers alone do not count.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
CORE = ROOT / "tableformats"
PLUGINS = {path.name: path for path in sorted(ROOT.glob("plugins/*/tableformats_*")) if path.is_dir()}

LAYERS = [
    {"compute", "errors"},
    {"arrays", "concurrency", "datetimes", "limits", "pickling", "secrets"},
    {"allocator", "packed", "schema"},
    {"expressions"},
    {"literals"},
    {"binding", "predicates", "transforms"},
    {"_core"},
    {"codes"},
    {"evidence"},
    {"pruning"},
    {"inflate", "report"},
    {"orc_tail", "storage"},
    {"plugin"},
    {"blocks", "record_counts", "relevant_deletes", "stored"},
    {"kept"},
    {"scan"},
    {"changes", "plan_files", "planning", "residuals", "splits"},
    {"tasks"},
    {"table"},
    {"arrow", "inspect"},
    {"counting", "spark"},
    {"cli", "testing"},
]
RANK = {unit: rank for rank, layer in enumerate(LAYERS) for unit in layer}
UPWARD_WHEN_CALLED = {
    "scan": {"plan_files", "planning", "splits", "tasks", "counting", "arrow", "spark", "inspect"},
    "table": {"inspect"},
    "changes": {"arrow"},
}
PURE = {
    "errors",
    "datetimes",
    "limits",
    "pickling",
    "secrets",
    "schema",
    "expressions",
    "literals",
    "binding",
    "predicates",
    "transforms",
}
DOES_IO = {"fsspec", "http", "io", "os", "pathlib", "shutil", "socket", "subprocess", "tempfile", "urllib"}
FOR_PLUGINS = {
    "plugin",
    "schema",
    "expressions",
    "transforms",
    "errors",
    "storage",
    "report",
    "datetimes",
    "inflate",
    "limits",
    "_core",
    "arrays",
    "compute",
    "concurrency",
    "orc_tail",
}

# Optional or slow libraries, and the only modules that may import them: at module level, or when called.
ANYWHERE = ""
# Classes that Spark looks for derive from its own; these modules are imported by its Python processes.
SUBCLASSES_SPARK = {"tableformats.spark.datasource", "tableformats.spark.streaming"}
OPTIONAL: dict[str, tuple[set[str], set[str]]] = {
    "click": ({"tableformats.cli"}, {"tableformats.cli"}),
    "rich": ({"tableformats.cli"}, {"tableformats.cli"}),
    "pyspark": (SUBCLASSES_SPARK, {"tableformats.spark", "tableformats.cli.demo"}),
    "py4j": (set(), {"tableformats.spark"}),
    "sqlglot": (set(), {"tableformats.expressions.parse.sql"}),
    "pandas": (set(), {ANYWHERE}),
    "polars": (set(), {"tableformats.table.scan"}),
    "duckdb": (set(), {"tableformats.table.scan"}),
    "fsspec": (set(), {"tableformats.io.storage"}),
    "deltalake": (set(), {"tableformats.cli.demo"}),
    "pyiceberg": (set(), {"tableformats.table.table", "tableformats.expressions.parse", "tableformats.cli.demo"}),
}

FORMAT_NAMES = {"delta", "iceberg"}
NAMES_FORMATS = {"tableformats.cli.demo"}  # it writes tables of both
# Spellings that are fixed outside of this project: attributes that files carry, whatever wrote them.
FIXED_SPELLINGS = {"iceberg.id"}

MOST_LINES = 600
ROUNDING = {"scaleb": 2, "quantize": 2}
"""Methods of decimals that round, with the number of arguments that they have where a context is one of them."""
SOURCES = {".py", ".pyi", ".pyx", ".pxd", ".c", ".h", ".java"}


@dataclass(frozen=True)
class Import:
    """``importer`` imports ``target`` (both dotted) in ``line``; ``called``: not before a function is called."""

    importer: str
    target: str
    line: int
    called: bool

    @property
    def library(self) -> str:
        return self.target.split(".")[0]

    def __str__(self) -> str:
        return f"{self.importer}:{self.line} imports {self.target}{' when called' if self.called else ''}"


def modules(package: Path) -> list[tuple[str, Path]]:
    """(dotted name, file) of all modules of a package, packages by their own name."""
    found = []
    for path in sorted(package.rglob("*.py")):
        parts = path.relative_to(package.parent).with_suffix("").parts
        found.append((".".join(parts[:-1] if parts[-1] == "__init__" else parts), path))
    return found


ALL_MODULES = [module for package in (CORE, *PLUGINS.values()) for module in modules(package)]
KNOWN = {name for name, _ in ALL_MODULES}


@cache
def tree_of(path: Path) -> ast.Module:
    return ast.parse(path.read_text(encoding="utf-8"), str(path))


def imports(name: str, path: Path) -> Iterator[Import]:
    """The imports of one module, those under ``if TYPE_CHECKING`` left out."""
    package = name if path.name == "__init__.py" else name.rpartition(".")[0]

    def visit(node: ast.AST, called: bool) -> Iterator[Import]:
        if isinstance(node, ast.If) and "TYPE_CHECKING" in ast.dump(node.test):
            return
        if isinstance(node, ast.Import):
            yield from (Import(name, alias.name, node.lineno, called) for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            base = node.module or ""
            if node.level:
                above = package.split(".")[: len(package.split(".")) - node.level + 1]
                base = ".".join([*above, *([base] if base else [])])
            for alias in node.names:
                member = f"{base}.{alias.name}"
                # "from . import pruning" names a module, "from .pruning import NONE" what is in one.
                yield Import(name, member if _is_module(member) else base, node.lineno, called)
        inside = called or isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda))
        for child in ast.iter_child_nodes(node):
            yield from visit(child, inside)

    return visit(tree_of(path), False)


def _is_module(dotted: str) -> bool:
    parts = dotted.split(".")
    return dotted in KNOWN or (parts[0] == "tableformats" and (ROOT / "/".join(parts)).with_suffix(".pyx").exists())


ALL_IMPORTS = [found for name, path in ALL_MODULES for found in imports(name, path)]


def unit_of(dotted: str) -> str | None:
    """The package of the core that a dotted name is in; None: none."""
    parts = dotted.split(".")
    return parts[1] if parts[0] == "tableformats" and len(parts) > 1 else None


def within(module: str, places: set[str]) -> bool:
    return any(place == ANYWHERE or module == place or module.startswith(place + ".") for place in places)


def complain(broken: list[Import], rule: str) -> None:
    assert not broken, f"{rule}:\n" + "\n".join(f"  {found}" for found in broken)


def test_reads_the_imports_that_are_there() -> None:
    """The other tests say nothing if this file cannot see."""
    seen = {(found.importer, found.target, found.called) for found in ALL_IMPORTS}
    assert ("tableformats.planning.planner", "tableformats.pruning.compiled_predicate", False) in seen
    assert ("tableformats.table.scan", "tableformats.planning.planner", True) in seen
    assert ("tableformats.planning.block_cache", "tableformats._core.filekeys", False) in seen
    assert ("tableformats.cli.app", "click", False) in seen
    assert not any(
        found.importer == "tableformats.schema.types" and found.target == "pyarrow" and not found.called
        for found in ALL_IMPORTS
    )
    assert set(PLUGINS) == {"tableformats_delta", "tableformats_iceberg"}


def test_every_module_has_a_layer() -> None:
    units = {unit_of(name) for name, _ in ALL_MODULES} - {None, "__main__"}
    assert units == set(RANK), "give new modules of the core a place in LAYERS"


def test_the_core_imports_downwards() -> None:
    broken = []
    for found in ALL_IMPORTS:
        importer, target = unit_of(found.importer), unit_of(found.target)
        if importer not in RANK or target not in RANK or importer == target or RANK[target] < RANK[importer]:
            continue
        if not (found.called and target in UPWARD_WHEN_CALLED.get(importer, set())):
            broken.append(found)
    complain(broken, "a module imports what stands below it")


def test_the_bottom_does_no_input_or_output() -> None:
    broken = [found for found in ALL_IMPORTS if unit_of(found.importer) in PURE and _does_io(found.target)]
    complain(broken, "the predicate tree, the schema and what they stand on touch no I/O")
    for name, path in ALL_MODULES:
        if unit_of(name) in PURE:
            names = {node.id for node in ast.walk(tree_of(path)) if isinstance(node, ast.Name)}
            assert "open" not in names, f"{name} opens a file"


def _does_io(target: str) -> bool:
    if target.startswith("urllib.parse"):
        return False
    return target.split(".")[0] in DOES_IO or target.startswith(("pyarrow.fs", "pyarrow.parquet", "pyarrow.dataset"))


def test_the_core_imports_no_plugin() -> None:
    complain(
        [f for f in ALL_IMPORTS if f.importer.split(".")[0] == "tableformats" and f.library in PLUGINS],
        "plugins are found through entry points",
    )


def test_plugins_import_what_is_offered_to_them() -> None:
    broken = []
    for found in ALL_IMPORTS:
        own = found.importer.split(".")[0]
        if own not in PLUGINS:
            continue
        of_core = found.library == "tableformats" and unit_of(found.target) not in FOR_PLUGINS
        of_another = found.library in PLUGINS and found.library != own
        if of_core or of_another:
            broken.append(found)
    complain(broken, f"plugins import of the core only {sorted(FOR_PLUGINS)}, and never another plugin")


@pytest.mark.parametrize("library", OPTIONAL)
def test_optional_libraries_stay_in_their_corner(library: str) -> None:
    at_module_level, when_called = OPTIONAL[library]
    broken = [
        found
        for found in ALL_IMPORTS
        if found.library == library and not within(found.importer, when_called if found.called else at_module_level)
    ]
    complain(broken, f"{library} is imported where it is used")


def test_the_core_names_no_format() -> None:
    """No identifier, import or string of the core has a format's name as a word; prose (docstrings) may."""
    broken = [
        f"{name}:{line}: {text!r}"
        for name, path in ALL_MODULES
        if name.split(".")[0] == "tableformats" and name not in NAMES_FORMATS
        for line, text in _words_in_code(tree_of(path))
        if _names_a_format(text)
    ]
    assert not broken, "the core never names a format:\n" + "\n".join(broken)


def _words_in_code(tree: ast.Module) -> Iterator[tuple[int, str]]:
    # A string that is a statement of its own documents something.
    prose = {id(n.value) for n in ast.walk(tree) if isinstance(n, ast.Expr) and isinstance(n.value, ast.Constant)}
    for node in ast.walk(tree):
        if isinstance(node, ast.Constant) and isinstance(node.value, (str, bytes)) and id(node) not in prose:
            text = node.value if isinstance(node.value, str) else node.value.decode("latin-1")
            if text not in FIXED_SPELLINGS:
                yield node.lineno, text
        elif isinstance(node, ast.Name):
            yield node.lineno, node.id
        elif isinstance(node, ast.Attribute):
            yield node.lineno, node.attr
        elif isinstance(node, (ast.FunctionDef, ast.ClassDef)):
            yield node.lineno, node.name
        elif isinstance(node, ast.arg):
            yield node.lineno, node.arg
        elif isinstance(node, ast.alias):
            yield node.lineno, node.name


def _names_a_format(text: str) -> bool:
    text = text.replace("PyIceberg", "")  # the library
    words = re.findall(r"[a-z]+", re.sub(r"(?<=[a-z])(?=[A-Z])", "_", text).lower())
    return not FORMAT_NAMES.isdisjoint(words)


@pytest.mark.parametrize(
    ("text", "named"),
    [
        ("_delta_log", True),
        ("DeltaFormat", True),
        ("iceberg", True),
        ("an Iceberg table", True),
        ("timedelta", False),
        ("dt.timedelta", False),
        ("PyIceberg catalog", False),
        ("pyiceberg", False),
    ],
)
def test_names_a_format(text: str, named: bool) -> None:
    assert _names_a_format(text) is named


def test_decimals_are_not_rounded_by_the_process() -> None:
    """Methods of decimals are given a context; the process's has 28 digits, a column up to 38. Operators go unseen."""
    broken = [
        f"{name}:{node.lineno}"
        for name, path in ALL_MODULES
        for node in ast.walk(tree_of(path))
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute)
        if node.func.attr in ROUNDING and len(node.args) + len(node.keywords) < ROUNDING[node.func.attr]
    ]
    assert not broken, "give it the context tableformats.schema.types.EXACT:\n" + "\n".join(broken)


def test_no_file_is_too_long() -> None:
    folders = ["tableformats", "plugins", "csrc", "tests", "asv_bench"]
    found = [path for folder in folders for path in (ROOT / folder).rglob("*") if path.suffix in SOURCES]
    assert len(found) > 50
    long = {str(p.relative_to(ROOT)): n for p in found if (n := len(p.read_text("utf-8").splitlines())) > MOST_LINES}
    assert not long, f"files of one subject have at most {MOST_LINES} lines"


def test_public_modules_say_what_they_promise() -> None:
    silent = [name for name, path in ALL_MODULES if tree_of(path).body and not ast.get_docstring(tree_of(path))]
    assert not silent
