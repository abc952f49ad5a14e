"""Anchors find definitions wherever they stand, and ``find`` matches code however it is formatted."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.mutants import Mutant
from tests.mutants.anchors import locate, places

PYTHON = '''\
"""A module."""
LIMIT = 10
NAMES: dict[str, int] = {"a": 1}
LOW, HIGH = 0, 1

if LIMIT:
    @decorated(1)
    def guarded():
        return LIMIT


class Range:
    size: int = 0

    @property
    def located(self):
        """if self.is_open: not here"""
        if self.is_open:  # é
            return first(
                self.lower,  # the lower bound
                "é",
                'x',
            )
        return None

    def of(self):
        def located():
            return self
        return located
'''
CYTHON = '''\
"""A module."""
from libc.stdint cimport uint8_t

cdef extern from "a.h" nogil:
    int declared(int a)
    ctypedef struct tf_key:
        int size

cdef enum:
    FEW = 8

ctypedef fused number:
    int
    double

cdef const uint8_t[::1] EMPTY = b""
NAMES = {"a": 1}


cdef inline (int, int) pair(const uint8_t[::1] a,
                            int b) except? -1 nogil:
    if a[0] < b: return 1
    return 2


cdef class Keys(Base):
    """Keys."""
    cdef readonly int count

    cdef dict struct(self, int b):
        return {1: 2}

    @staticmethod
    def add(int a not None):
        def inner():
            return a
        return inner

last = 1
'''
C = """\
#include <x.h>
#define WIDE(a) \\
    ((a) + 1)
enum { FIRST = 2 };
typedef struct tf_set {
    int count; /* keys */
} tf_set;
typedef int (*callback)(int a);
static const char QUOTES[] = {'"', '\\'', '{'};
int declared(tf_set *set);

static inline const tf_set *mix(const tf_set *set, int (*each)(int), int n)
{
#if WIDE
    for (; n > 16; n -= 16) { each(n); }
#else
    n--;
#endif
    return n == '}' ? set : 0; // }
}
"""
JAVA = """\
package a;
@Deprecated
public class Rows extends Base<Row> implements Closeable {
    private static final int[] SIZES = {1, 2};

    public Rows(int size) throws IOException, Other {
        this.size = size;
    }

    @SuppressWarnings("unchecked")
    private <T> List<T> read(T first) {
        return new ArrayList<T>() {{ add(first); }};
    }
}
"""


@pytest.fixture
def root(tmp_path: Path) -> Path:
    files = {
        "tableformats/a/ranges.py": PYTHON,
        "tableformats/a/kernels.pyx": CYTHON,
        "tableformats/Rows.java": JAVA,
        "csrc/tf_set.c": C,
    }
    for name, text in files.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text)
    return tmp_path


def names(root: Path, ending: str) -> set[str]:
    found = (place for home in ("core", "c") for place in places(root, home))
    return {place.definition.name for place in found if place.file.endswith(ending)}


def text_of(where: str, root: Path) -> str:
    place = locate(where, root)
    return place.source.text[place.definition.start : place.definition.end]


def mutated(root: Path, where: str, find: str, put: str) -> str:
    """The definition with the mutant in it."""
    place = locate(where, root)
    text = Mutant("m", where, find, put, "", ()).mutated(root)
    end = len(text) - (len(place.source.text) - place.definition.end)
    assert text[: place.definition.start] == place.source.text[: place.definition.start]
    assert text[end:] == place.source.text[place.definition.end :]
    return text[place.definition.start : end]


def test_definitions_of_python(root: Path) -> None:
    methods = {"Range", "Range.size", "Range.located", "Range.of"}
    assert names(root, ".py") == {"LIMIT", "NAMES", "LOW", "HIGH", "guarded", *methods}
    assert text_of("core:guarded", root) == "@decorated(1)\n    def guarded():\n        return LIMIT"
    assert text_of("core:LIMIT", root) == "LIMIT = 10"
    assert text_of("core:Range.located", root).startswith("@property\n    def located(self):")
    assert text_of("core:Range.located", root).endswith("return None")


def test_definitions_of_cython(root: Path) -> None:
    functions = {"pair", "Keys", "Keys.struct", "Keys.add"}
    assert names(root, ".pyx") == {"tf_key", "FEW", "number", "EMPTY", "NAMES", "last", *functions}
    assert text_of("core:pair", root).startswith("cdef inline (int, int) pair(")
    assert text_of("core:pair", root).endswith("return 1\n    return 2")
    assert text_of("core:Keys.add", root).startswith("@staticmethod\n    def add(")
    assert text_of("core:Keys.add", root).endswith("return a\n        return inner")


def test_definitions_of_c(root: Path) -> None:
    assert names(root, ".c") == {"WIDE", "tf_set", "QUOTES", "mix"}
    assert text_of("c:WIDE", root) == "#define WIDE(a) \\\n    ((a) + 1)"
    assert text_of("c:tf_set", root).endswith("} tf_set;")
    assert text_of("c:mix", root).startswith("static inline const tf_set *mix(")
    assert text_of("c:mix", root).endswith("// }\n}")


def test_definitions_of_java(root: Path) -> None:
    assert names(root, ".java") == {"Rows", "Rows.SIZES", "Rows.Rows", "Rows.read"}
    assert text_of("core:Rows.read", root).startswith("@SuppressWarnings")
    assert text_of("core:Rows.read", root).endswith("}};\n    }")


@pytest.mark.parametrize(
    "find",
    [
        "first(self.lower, 'é', \"x\")",
        "first(self . lower,'é','x',)",
        'first(\n    self.lower,  # another comment\n    "\\xe9", r"x")',
        'first( \\\n self.lower, "é", "x",\n)',
    ],
)
def test_formatting_does_not_matter(root: Path, find: str) -> None:
    assert "return None" in mutated(root, "core:Range.located", f"return {find}", "return 1")
    assert "            return 1\n        return None" in mutated(
        root, "core:Range.located", f"return {find}", "return 1"
    )


@pytest.mark.parametrize("find", ["first(self.lower, 'É', 'x')", "first(self.lower, 'é', b'x')", "first(self.lowe"])
def test_other_tokens_do_not_match(root: Path, find: str) -> None:
    with pytest.raises(ValueError, match="stands 0 times"):
        mutated(root, "core:Range.located", find, "")


def test_lines_are_indented_as_the_first(root: Path) -> None:
    found = mutated(root, "core:Range.located", "if self.is_open:", "self.is_open = True\nif (\n    self.is_open\n):")
    assert "\n        self.is_open = True\n        if (\n            self.is_open\n        ):  # é\n" in found
    found = mutated(root, "core:pair", "if a[0] < b: return 1", "if a[0] <= b:\n    return 1")
    assert found.endswith("    if a[0] <= b:\n        return 1\n    return 2")


def test_c_and_java_are_replaced(root: Path) -> None:
    assert "for (; n >= 16; n -= 16) { each(n); }" in mutated(root, "c:mix", "n>16", "n >= 16")
    assert "n == '{' ? set : 0; // }" in mutated(root, "c:mix", "n == '}'", "n == '{'")
    assert mutated(root, "c:QUOTES", "'\"',", "").endswith("QUOTES[] = { '\\'', '{'};")
    assert "add(null)" in mutated(root, "core:Rows.read", "add ( first )", "add(null)")


def test_what_stands_twice_is_an_error(root: Path) -> None:
    with pytest.raises(ValueError, match=r"'return' stands 2 times in Range.located \(tableformats/a/ranges.py:15\)"):
        mutated(root, "core:Range.located", "return", "")


def test_what_moved_is_told(root: Path) -> None:
    def message(where: str, find: str) -> str:
        with pytest.raises(ValueError) as error:
            Mutant("m", where, find, "", "", ()).mutated(root)
        return str(error.value)

    here = "Range.located (tableformats/a/ranges.py:15)"
    there = "mutant m: 'return None' stands 0 times in Range.of (tableformats/a/ranges.py:26), not once"
    assert message("core:Range.of", "return None") == f"{there}; 'return None' stands once in core:{here}"
    assert message("core:Span.located", "return Nothing") == (
        f"mutant m: 'core:Span.located' is not defined; there is {here}; 'return Nothing' stands nowhere once"
    )
    assert message("c:located", "return None") == (
        f"mutant m: 'c:located' is not defined; 'return None' stands once in core:{here}"
    )


def test_an_unknown_home_is_an_error(root: Path) -> None:
    with pytest.raises(ValueError, match=r"'cor:Range' is in none of core, delta, iceberg, c"):
        locate("cor:Range", root)


def test_a_name_in_two_files_needs_one(root: Path) -> None:
    with pytest.raises(
        ValueError, match=r"'core:NAMES' is ambiguous: NAMES \(.*kernels.pyx:17\), NAMES \(.*ranges.py:3\)"
    ):
        locate("core:NAMES", root)
    assert locate("core:NAMES", root, "dict[str, int]").file == "tableformats/a/ranges.py", "there it stands alone"
    with pytest.raises(ValueError, match="ambiguous"):
        locate("core:NAMES", root, '{"a": 1}')
    assert locate("core/ranges:NAMES", root).file == "tableformats/a/ranges.py"
    assert locate("core/a/kernels:NAMES", root).file == "tableformats/a/kernels.pyx"
    with pytest.raises(ValueError, match=r"'core/anges:NAMES' is not defined; there is NAMES .*; there is NAMES"):
        locate("core/anges:NAMES", root)


def test_killers_are_ends_of_paths(tmp_path: Path) -> None:
    for name in ("tests/core/test_a.py", "tests/property/test_a.py", "tests/core/deeper/test_b.py"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).touch()

    def killing(killer: str) -> list[str]:
        return Mutant("m", "core:f", "", "", "", (killer,)).killing_tests(tmp_path)

    assert killing("core/test_a.py::test_x") == ["tests/core/test_a.py::test_x"]
    assert killing("test_b.py") == killing("tests/core/deeper/test_b.py") == ["tests/core/deeper/test_b.py"]
    with pytest.raises(ValueError, match=r"'test_a.py' is the end of 2 test files, not of one: tests/core/test_a.py, "):
        killing("test_a.py")
    with pytest.raises(ValueError, match=r"'st_b.py' is the end of 0 test files"):
        killing("st_b.py")
