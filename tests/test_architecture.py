"""Holds the house by reading its imports: who may import whom, who may touch what, and how long a file may be.

Every import counts the same: at module level, for type checkers alone (``if TYPE_CHECKING``), and when a function is
called. A package imports only packages of lower layers; no file and no package is in a circle. See docs/design.md.
"""

from __future__ import annotations

import ast
import re
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
CORE = ROOT / "tableformats"
PLUGINS = {path.name: path for path in sorted(ROOT.glob("plugins/*/tableformats_*")) if path.is_dir()}

LAYERS = [
    {"dataclass", "lazy_pattern"},
    {"display", "errors", "habits", "moved", "version"},
    {"limits"},
    {"_core"},
    {"columnar", "runtime"},
    {"schema"},
    {"expressions"},
    {"cache", "io"},
    {"catalog", "plugin"},
    {"pruning"},
    {"planning", "write"},
    {"engines", "inspect"},
    {"table"},
    {"spark"},
    {"cli", "testing"},
]
"""The packages and modules of the core, from the bottom up."""
RANK = {room: rank for rank, layer in enumerate(LAYERS) for room in layer}
PURE = {"errors", "limits", "schema", "expressions"}
DOES_IO = {"fsspec", "http", "io", "os", "pathlib", "shutil", "socket", "subprocess", "tempfile", "urllib"}
MOST_FILES = 16
"""Python files of one folder, its ``__init__.py`` included."""

# Optional or slow libraries, and the only modules that may import them: at module level, or when called.
ANYWHERE = ""
# Classes that Spark looks for derive from its own; these modules are imported by its Python processes.
SUBCLASSES_SPARK = {f"tableformats.spark.{name}" for name in ("datasource", "file_groups", "sink", "streaming")}
OPTIONAL: dict[str, tuple[set[str], set[str]]] = {
    "click": ({"tableformats.cli"}, {"tableformats.cli"}),
    "rich": ({"tableformats.cli"}, {"tableformats.cli"}),
    "pyspark": (SUBCLASSES_SPARK, {"tableformats.spark", "tableformats.engines.spark", "tableformats.cli.demo"}),
    "py4j": (set(), {"tableformats.engines.spark"}),
    "pandas": (set(), {ANYWHERE}),
    "polars": (set(), {"tableformats.table.scan", "tableformats.engines.polars"}),
    "duckdb": (set(), {"tableformats.table.scan"}),
    "matplotlib": (set(), {"tableformats.inspect.pictures"}),
    "fsspec": (set(), {"tableformats.io"}),
    "obstore": (set(), {"tableformats.io.stores"}),
    "boto3": (set(), {"tableformats.io.stores.profiles", "tableformats.catalog.glue"}),
    "deltalake": (set(), {"tableformats.cli.demo"}),
    "pyiceberg": (set(), {"tableformats.catalog", "tableformats.expressions.parse", "tableformats.cli.demo"}),
}
FOR_TYPES = {"pyspark", "pandas", "polars", "duckdb", "matplotlib"}
"""Optional libraries that anybody may name for type checkers."""

FORMAT_NAMES = {"delta", "iceberg"}
NAMES_FORMATS = {
    "tableformats.cli.demo",  # it writes tables of both
    "tableformats.habits",  # names of other libraries
}
# Spellings that are fixed outside of this project, such as attributes that files carry, whatever wrote them.
FIXED_SPELLINGS = {
    "iceberg.id",
    # The rows of PyIceberg's SQL catalog.
    "IcebergTables",
    "NoSuchIcebergTableError",
    "org.apache.iceberg.mr.hive.HiveIceberg",  # the classes that Java's catalogs name for Hive
    # Unity Catalog's API and what it says of a table.
    "/delta/preview/commits",
    "ICEBERG",
    "delta.feature.catalogManaged",
    "delta.feature.catalogOwned",
    "delta.feature.catalogOwned-preview",
}

MOST_LINES = 600
ROUNDING = {"scaleb": 2, "quantize": 2}
"""Methods of decimals that round, with the number of arguments that they have where a context is one of them."""
SOURCES = {".py", ".pyi", ".pyx", ".pxd", ".c", ".h", ".java"}


@dataclass(frozen=True)
class Import:
    """``importer`` imports ``target`` (both dotted) in ``line``.

    ``called``: not before a function is called. ``typed``: for type checkers alone.
    """

    importer: str
    target: str
    line: int
    called: bool = False
    typed: bool = False

    @property
    def library(self) -> str:
        return self.target.split(".")[0]

    def __str__(self) -> str:
        when = " when called" if self.called else " for type checkers" if self.typed else ""
        return f"{self.importer}:{self.line} imports {self.target}{when}"


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
    """The imports of one module, of every kind."""
    package = name if path.name == "__init__.py" else name.rpartition(".")[0]

    def visit(node: ast.AST, called: bool, typed: bool) -> Iterator[Import]:
        if isinstance(node, ast.If) and "TYPE_CHECKING" in ast.dump(node.test):
            typed = True
        if isinstance(node, ast.Import):
            yield from (Import(name, alias.name, node.lineno, called, typed) for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            base = node.module or ""
            if node.level:
                above = package.split(".")[: len(package.split(".")) - node.level + 1]
                base = ".".join([*above, *([base] if base else [])])
            for alias in node.names:
                member = f"{base}.{alias.name}"
                # "from . import pruning" names a module, "from .pruning import NONE" what is in one.
                yield Import(name, member if _is_module(member) else base, node.lineno, called, typed)
        inside = called or isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef))
        for child in ast.iter_child_nodes(node):
            if isinstance(child, (ast.stmt, ast.ExceptHandler, ast.match_case)):  # no expression holds an import
                yield from visit(child, inside, typed)

    return visit(tree_of(path), False, False)


def _is_module(dotted: str) -> bool:
    parts = dotted.split(".")
    return dotted in KNOWN or (parts[0] == "tableformats" and (ROOT / "/".join(parts)).with_suffix(".pyx").exists())


@cache
def all_imports() -> list[Import]:
    return [found for name, path in ALL_MODULES for found in imports(name, path)]


def room_of(dotted: str) -> str | None:
    """The package or module of the core right below ``tableformats`` that a dotted name is in; None: of none."""
    parts = dotted.split(".")
    return parts[1] if parts[0] == "tableformats" and len(parts) > 1 else None


def circles(arrows: Iterable[tuple[str, str]]) -> list[list[str]]:
    """The groups of nodes that reach each other, by Tarjan's algorithm."""
    graph: dict[str, list[str]] = {}
    for source, target in arrows:
        if source != target:
            graph.setdefault(source, []).append(target)
            graph.setdefault(target, [])
    order: dict[str, int] = {}
    lowest: dict[str, int] = {}
    stack: list[str] = []
    found: list[list[str]] = []

    def visit(node: str) -> None:
        order[node] = lowest[node] = len(order)
        stack.append(node)
        for target in graph[node]:
            if target not in order:
                visit(target)
                lowest[node] = min(lowest[node], lowest[target])
            elif target in stack:
                lowest[node] = min(lowest[node], order[target])
        if lowest[node] == order[node]:
            group = stack[stack.index(node) :]
            del stack[stack.index(node) :]
            if len(group) > 1:
                found.append(sorted(group))

    for node in graph:
        if node not in order:
            visit(node)
    return found


def within(module: str, places: set[str]) -> bool:
    return any(place == ANYWHERE or module == place or module.startswith(place + ".") for place in places)


def complain(broken: list[Import], rule: str) -> None:
    assert not broken, f"{rule}:\n" + "\n".join(f"  {found}" for found in broken)


def test_reads_the_imports_that_are_there() -> None:
    """The other tests say nothing if this file cannot see."""
    seen = {(found.importer, found.target): found for found in all_imports()}
    assert not seen["tableformats.planning.planner", "tableformats.pruning.compiled_predicate"].called
    assert seen["tableformats.table.scan", "tableformats.inspect.explain"].called
    assert seen["tableformats.planning.handle", "tableformats.plugin.snapshot"].typed
    assert ("tableformats.planning.reconciler", "tableformats._core.filekeys") in seen
    assert ("tableformats.cli.app", "click") in seen
    assert set(PLUGINS) == {"tableformats_delta", "tableformats_iceberg"}


def test_finds_circles() -> None:
    assert circles([("a", "b"), ("b", "c"), ("c", "b"), ("c", "d")]) == [["b", "c"]]
    assert circles([("a", "b"), ("a", "c"), ("b", "c"), ("a", "a")]) == []


def test_every_module_has_a_layer() -> None:
    rooms = {room_of(name) for name, _ in ALL_MODULES} - {None, "__main__"}
    assert rooms == set(RANK), "give new packages of the core a place in LAYERS"


def test_the_core_imports_downwards() -> None:
    broken = []
    for found in all_imports():
        importer, target = room_of(found.importer), room_of(found.target)
        if importer in RANK and target in RANK and importer != target and RANK[target] >= RANK[importer]:
            broken.append(found)
    complain(broken, "a package imports what stands below it, also for type checkers and when called")


def test_no_file_is_in_a_circle() -> None:
    # What a package hands on stands in the files below it: its own __init__ is not one of them.
    arrows = [(f.importer, f.target) for f in all_imports() if f.target in KNOWN]
    assert not circles(arrows), "files import each other in a circle"


def test_no_folder_is_in_a_circle() -> None:
    """Neither of the core nor of a plugin, at any depth: folders of one parent import each other one way."""
    arrows: dict[str, list[tuple[str, str]]] = {}
    for found in all_imports():
        if found.target in KNOWN:
            for parent, source, target in _folders(found.importer, found.target):
                arrows.setdefault(parent, []).append((source, target))
    broken = {parent: group for parent, pairs in arrows.items() if (group := circles(pairs))}
    assert not broken, "folders import each other in a circle"


def _folders(importer: str, target: str) -> Iterator[tuple[str, str, str]]:
    """Where two dotted names part: their common package, and the member of it that each is in."""
    source, aim = importer.split("."), target.split(".")
    for depth in range(1, min(len(source), len(aim))):
        if source[:depth] == aim[:depth] and source[depth] != aim[depth]:
            yield ".".join(source[:depth]), source[depth], aim[depth]


def test_folders_have_one_purpose() -> None:
    """A folder with very many files has several; a house with many empty folders has none."""
    counts = Counter(path.parent for _, path in ALL_MODULES)
    many = {str(folder.relative_to(ROOT)): n for folder, n in counts.items() if n > MOST_FILES}
    assert not many, f"folders have at most {MOST_FILES} Python files of their own"


def test_the_bottom_does_no_input_or_output() -> None:
    broken = [found for found in all_imports() if room_of(found.importer) in PURE and _does_io(found.target)]
    complain(broken, "the predicate tree, the schema and what they stand on touch no I/O")
    for name, path in ALL_MODULES:
        if room_of(name) in PURE:
            names = {node.id for node in ast.walk(tree_of(path)) if isinstance(node, ast.Name)}
            assert "open" not in names, f"{name} opens a file"


def _does_io(target: str) -> bool:
    if target.startswith("urllib.parse"):
        return False
    return target.split(".")[0] in DOES_IO or target.startswith(("pyarrow.fs", "pyarrow.parquet", "pyarrow.dataset"))


def test_the_core_imports_no_plugin() -> None:
    complain(
        [f for f in all_imports() if f.importer.split(".")[0] == "tableformats" and f.library in PLUGINS],
        "plugins are found through entry points",
    )


def test_plugins_import_what_is_offered_to_them() -> None:
    broken = []
    for found in all_imports():
        own = found.importer.split(".")[0]
        if own not in PLUGINS:
            continue
        of_core = found.library == "tableformats" and found.target != "tableformats.plugin"
        of_another = found.library in PLUGINS and found.library != own
        if of_core or of_another:
            broken.append(found)
    complain(broken, "a plugin imports of the core tableformats.plugin alone, and never another plugin")


def test_the_contract_of_plugins_is_typed() -> None:
    loose = [
        f"{name}:{node.lineno}"
        for name, path in ALL_MODULES
        if name.startswith("tableformats.plugin.") and name != "tableformats.plugin.registry"
        for node in ast.walk(tree_of(path))
        if isinstance(node, ast.Name) and node.id == "Any"
    ]
    assert not loose, "the contract of plugins has a type for everything"


@pytest.mark.parametrize("library", OPTIONAL)
def test_optional_libraries_stay_in_their_corner(library: str) -> None:
    at_module_level, when_called = OPTIONAL[library]
    broken = [
        found
        for found in all_imports()
        if found.library == library
        and not within(found.importer, when_called if found.called or found.typed else at_module_level)
        and not (found.typed and library in FOR_TYPES)
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
