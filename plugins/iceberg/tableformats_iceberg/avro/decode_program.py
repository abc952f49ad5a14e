"""Compiles an Avro writer's schema and the wanted fields to a program for the block decoder.

Fields are found by field id, as Iceberg requires. A record in which no field has an id is matched by name, because some
writers leave the ids out. Each wanted path becomes exactly one column with one row a record, whatever the schema says:
the row is null where the writer has no such field, or where a union takes another branch.

Source: Apache Avro specification, "Schema Declaration"; Iceberg spec, appendix A, "Avro".
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import field
from typing import Any, NoReturn

from tableformats.plugin import CorruptMetadataError, dataclass

__all__ = ["ELEMENT", "RAW", "ColumnSpec", "DecodeProgram", "Path", "Want", "compile_program"]

Path = tuple[int, ...]
ELEMENT = -1
"""Stands for a list's elements as the last part of a path."""
RAW = -2
"""Stands for the encoded bytes of a value as the last part of a path."""

MAX_DEPTH = 32
MAX_WORDS = 1 << 16
"""The schemas of manifests and manifest lists, which the specification gives, take a few hundred words and ten levels.
No table needs more than these two constants allow, so no limit of the caller raises them."""
MAX_SIZE = 1 << 30
"""Least sizes of records are cut at this, because a word of the program has 32 bits."""

# Operations of tf_avro.h.
SKIP_VARINT, SKIP_BYTES, SKIP_FIXED, SKIP_ENUM, SKIP_ARRAY, UNION = 1, 2, 3, 4, 5, 6
NULL, LIST, MAP, KEY, VALUE_LONG, VALUE_BYTES, VALUE_FIXED, OPTIONAL, RAW_BYTES = 15, 16, 17, 18, 19, 20, 21, 22, 23
_READ = {"long": 7, "int": 8, "boolean": 9, "float": 10, "double": 11, "bytes": 12, "string": 12}
_SKIP = {
    "long": (SKIP_VARINT,),
    "int": (SKIP_VARINT,),
    "boolean": (SKIP_FIXED, 1),
    "float": (SKIP_FIXED, 4),
    "double": (SKIP_FIXED, 8),
    "bytes": (SKIP_BYTES,),
    "string": (SKIP_BYTES,),
}
NUMBERS, OCTETS, TEXT = 0, 1, 2
_LATER = 0
"""A word that is written when what follows it is known."""
_MIN_SIZE = {"float": 4, "double": 8, "null": 0}
_PRIMITIVES = frozenset(("null", *_READ))


@dataclass(frozen=True)
class Want:
    """A field to decode.

    Attributes
    ----------
    id : int
        The field id.
    names : tuple of str
        The field's names in files without ids.
    kind : str
        What a value may be: ``int`` (int, long, boolean, enum), ``bytes`` (bytes, string, fixed), ``text`` (as
        ``bytes``, checked to be UTF-8) or ``any``.
    shape : str
        ``value``, ``record`` (of ``members``), ``list`` (of records of ``members``, or of plain values), ``map``
        (from int keys; the values of each wanted key become a column) or ``none`` (skipped).
    members : tuple of Want
    raw : bool
        Whether the encoded bytes of the field become a column too, at the path that :data:`RAW` ends.
    """

    id: int
    names: tuple[str, ...]
    kind: str = "int"
    shape: str = "value"
    members: tuple[Want, ...] = ()
    raw: bool = False

    def __hash__(self) -> int:
        # A program is looked up in the cache for every file. The hash leaves out the members to keep that fast.
        return hash((self.id, self.shape))


@dataclass
class ColumnSpec:
    """A column of the decoder.

    ``parent`` is the number of the list column whose items it holds (-1: one row a record). ``avro`` is the Avro type
    of its values (empty: the writer has no such field). ``holds`` is ``NUMBERS``, ``OCTETS`` or ``TEXT``.
    """

    path: Path
    parent: int = -1
    avro: dict[str, Any] = field(default_factory=dict)
    holds: int = NUMBERS


@dataclass
class DecodeProgram:
    """A program for the block decoder.

    ``words`` are its instructions, see ``tf_avro.h``. ``columns`` are the columns with a value or null for each record.
    ``maps`` says for each wanted map what its values hold. A record has at least ``min_size`` bytes.
    """

    words: list[int]
    columns: list[ColumnSpec]
    maps: dict[Path, int]
    min_size: int


def compile_program(schema: Any, wants: Iterable[Want], key_count: int, path: str) -> DecodeProgram:
    """Compile a program that decodes ``wants``, and ``key_count`` keys of each map.

    Parameters
    ----------
    schema : parsed JSON
        The writer's schema.
    path : str
        For errors.

    Raises
    ------
    CorruptMetadataError
        The schema is malformed, recursive, too deep or too large, repeats a field id, or gives a wanted field another
        type. ``field`` names it.
    """
    return _Compiler(key_count, path).compile(schema, tuple(wants))


class _Compiler:
    def __init__(self, key_count: int, path: str) -> None:
        self.path = path
        self.key_count = key_count
        self.words: list[int] = []
        self.columns: list[ColumnSpec] = []
        self.index: dict[Path, int] = {}
        self.maps: dict[Path, int] = {}
        self.slots: list[tuple[int, Path]] = []
        self.named: dict[str, dict[str, Any]] = {}
        self.open: list[int] = []
        self.visits = 0

    def fail(self, message: str, name: str | None = None) -> NoReturn:
        raise CorruptMetadataError(message, path=self.path, field=name, hint="The Avro file's schema is damaged")

    def compile(self, schema: Any, wants: tuple[Want, ...]) -> DecodeProgram:
        root = self.resolve(schema)
        if isinstance(root, list) or root["type"] != "record":
            self.fail("the Avro schema is no record")
        for want in wants:
            self.declare(want, ())
        size = self.record(root, wants, (), 0)
        if size == 0:
            self.fail("the Avro schema has no fields")
        start = len(self.columns)
        maps = {p: self.maps[p] for _, p in self.slots}
        for position, map_path in self.slots:
            self.words[position] = start + list(maps).index(map_path) * self.key_count
        return DecodeProgram(self.words, self.columns, maps, size)

    def declare(self, want: Want, path: Path, parent: int = -1) -> None:
        """Number the columns of ``want``, with the children of lists (whose ``parent`` is the list's column)."""
        here = (*path, want.id)
        if want.raw:
            self.index[_raw(here)] = len(self.columns)
            self.columns.append(ColumnSpec(_raw(here), parent, holds=OCTETS))
        if want.shape in ("value", "list"):
            self.index[here] = len(self.columns)
            self.columns.append(ColumnSpec(here, parent))
        if want.shape == "list":
            parent = self.index[here]
            if not want.members:
                self.declare(Want(ELEMENT, (), want.kind), here, parent)
        for member in want.members if want.shape != "map" else ():
            self.declare(member, here, parent)

    def resolve(self, schema: Any) -> Any:
        """A union (list), or a dict whose ``type`` is the name of an Avro type."""
        for _ in range(MAX_DEPTH):
            if isinstance(schema, list):
                return schema
            if isinstance(schema, str):
                if schema in _PRIMITIVES:
                    return {"type": schema}
                if schema not in self.named:
                    self.fail("the Avro schema names an unknown type", schema[:200])
                return self.named[schema]
            if not isinstance(schema, dict) or "type" not in schema:
                self.fail("the Avro schema holds what is no type")
            kind = schema["type"]
            if kind in ("record", "error", "enum", "fixed"):
                self.register(schema)
            if isinstance(kind, str) and (kind in _PRIMITIVES or kind in _COMPLEX):
                return schema
            if isinstance(kind, dict) and "logicalType" in schema:
                kind = {**kind, "logicalType": schema["logicalType"]}
            schema = kind
        self.fail("the Avro schema is nested too deeply")

    def register(self, schema: dict[str, Any]) -> None:
        name, space = schema.get("name"), schema.get("namespace")
        if isinstance(name, str):
            self.named[name] = schema
            self.named[name.rpartition(".")[2]] = schema
            if isinstance(space, str):
                self.named[f"{space}.{name}"] = schema

    def emit(self, *words: int) -> None:
        self.words.extend(words)
        if len(self.words) > MAX_WORDS:
            self.fail("the Avro schema is too large")

    # ---- one value ----------------------------------------------------------------------------------------------

    def value(self, schema: Any, want: Want | None, path: Path, depth: int) -> int:
        """Emit code that reads or skips one value. Returns the least number of bytes that the value takes."""
        self.visits += 1
        if depth > MAX_DEPTH or self.visits > MAX_WORDS:
            self.fail("the Avro schema is nested too deeply or too large")
        schema = self.resolve(schema)
        if isinstance(schema, list):
            return self.union(schema, want, path, depth)
        kind = schema["type"]
        if kind == "record":
            if want is not None and want.shape != "record":
                self.fail("a field has the wrong Avro type: record", _name(want))
            return self.record(schema, want.members if want else (), self.below(want, path), depth)
        if want is not None and want.shape == "map":
            return self.map(schema, want, path, depth)
        if kind in ("array", "map"):
            return self.array(schema, want, path, depth)
        return self.scalar(schema, want, path)

    @staticmethod
    def below(want: Want | None, path: Path) -> Path:
        return (*path, want.id) if want is not None else path

    def record(self, schema: dict[str, Any], wants: tuple[Want, ...], path: Path, depth: int) -> int:
        if id(schema) in self.open:
            self.fail("the Avro schema is recursive", str(schema.get("name"))[:200])
        self.open.append(id(schema))
        fields = self.fields(schema)
        matched = self.match(fields, wants)
        size = 0
        for position, item in enumerate(fields):
            size += self.field(item["type"], matched.get(position), path, depth + 1)
        for want in wants:
            if want not in matched.values():
                self.absent(want, path)
        self.open.pop()
        return min(size, MAX_SIZE)

    def field(self, schema: Any, want: Want | None, path: Path, depth: int) -> int:
        """Emit code for a field of a record."""
        if want is None or not want.raw:
            return self.value(schema, want, path, depth)
        column = self.index[_raw((*path, want.id))]
        self.columns[column].avro = {"type": "raw"}
        self.emit(RAW_BYTES, column, 0)
        start = len(self.words)
        size = self.value(schema, None if want.shape == "none" else want, path, depth)
        self.words[start - 1] = len(self.words) - start
        return size

    def absent(self, want: Want, path: Path) -> None:
        """Emit code that appends a null to all columns of a field that is not there."""
        if want.raw:
            self.emit(NULL, self.index[_raw((*path, want.id))])
        self.nulls(want, path)

    def fields(self, schema: dict[str, Any]) -> list[dict[str, Any]]:
        fields = schema.get("fields")
        if not isinstance(fields, list) or not all(isinstance(f, dict) and "type" in f for f in fields):
            self.fail("an Avro record has no fields", str(schema.get("name"))[:200])
        return fields

    def match(self, fields: list[dict[str, Any]], wants: tuple[Want, ...]) -> dict[int, Want]:
        """The want of each wanted field, by the field's position."""
        ids = [f.get("field-id") for f in fields]
        if any(isinstance(i, int) for i in ids):
            known = [i for i in ids if i is not None]
            if len(set(map(str, known))) != len(known):
                self.fail("the Avro schema uses a field id twice")
            by_id = {want.id: want for want in wants}
            return {p: by_id[i] for p, i in enumerate(ids) if isinstance(i, int) and i in by_id}
        by_name = {name: want for want in wants for name in want.names}
        found: dict[int, Want] = {}
        for position, item in enumerate(fields):
            want = by_name.get(str(item.get("name")))
            if want is not None and want not in found.values():
                found[position] = want
        return found

    def nulls(self, want: Want, path: Path) -> None:
        """Emit code that appends a null to the columns of ``want``. Children of lists get no row."""
        here = (*path, want.id)
        if want.shape in ("value", "list"):
            self.emit(NULL, self.index[here])
        elif want.shape == "record":
            for member in want.members:
                self.absent(member, here)

    def union(self, branches: list[Any], want: Want | None, path: Path, depth: int) -> int:
        if not branches:
            self.fail("an Avro union has no branches")
        nulls = [number for number, branch in enumerate(branches) if self.is_null(branch)]
        if len(branches) == 2 and len(nulls) == 1:
            return self.optional(nulls[0], branches[1 - nulls[0]], want, path, depth)
        head = len(self.words)
        self.emit(UNION, len(branches), _LATER, *(_LATER for _ in branches))
        least = MAX_SIZE
        for number, branch in enumerate(branches):
            self.words[head + 3 + number] = len(self.words)
            resolved = self.resolve(branch)
            if isinstance(resolved, list):
                self.fail("an Avro union holds a union")
            if resolved["type"] == "null" and want is not None:
                self.nulls(want, path)
                least = 0
            else:
                least = min(least, self.value(resolved, want, path, depth + 1))
        self.words[head + 2] = len(self.words)
        return 1 + least

    def is_null(self, schema: Any) -> bool:
        resolved = self.resolve(schema)
        return isinstance(resolved, dict) and bool(resolved["type"] == "null")

    def optional(self, null: int, branch: Any, want: Want | None, path: Path, depth: int) -> int:
        """A union of null and one other type, as nearly all unions are."""
        if isinstance(self.resolve(branch), list):
            self.fail("an Avro union holds a union")
        head = len(self.words)
        self.emit(OPTIONAL, null, _LATER, _LATER)
        if want is not None:
            self.nulls(want, path)
        start = len(self.words)
        self.value(branch, want, path, depth + 1)
        self.words[head + 2 : head + 4] = start - head - 4, len(self.words) - start
        return 1

    def scalar(self, schema: dict[str, Any], want: Want | None, path: Path) -> int:
        kind = schema["type"]
        size = self.fixed_size(schema) if kind == "fixed" else _MIN_SIZE.get(kind, 1)
        if want is None:
            self.skip_scalar(schema, kind, size)
            return size
        if want.shape != "value":
            self.fail(f"a field has the wrong Avro type: {kind}", _name(want))
        if kind == "null":
            self.nulls(want, path)
            return 0
        is_bytes = kind in ("bytes", "string", "fixed")
        is_int = not is_bytes and kind not in ("float", "double")
        if (want.kind in ("bytes", "text") and not is_bytes) or (want.kind == "int" and not is_int):
            self.fail(f"a field has the wrong Avro type: {kind}", _name(want))
        here = (*path, want.id)
        number = self.index[here]
        column = self.columns[number]
        if column.avro and column.avro["type"] != kind:
            self.fail("a field is a union of several types", _name(want))
        column.avro = schema
        if is_bytes:
            column.holds = TEXT if want.kind == "text" else OCTETS
        if kind == "fixed":
            self.emit(13, number, size)
        elif kind == "enum":
            self.emit(14, number, self.symbols(schema))
        else:
            self.emit(_READ[kind], number)
        return size

    def skip_scalar(self, schema: dict[str, Any], kind: str, size: int) -> None:
        if kind == "fixed":
            if size:
                self.emit(SKIP_FIXED, size)
        elif kind == "enum":
            self.emit(SKIP_ENUM, self.symbols(schema))
        elif kind != "null":
            self.emit(*_SKIP[kind])

    def fixed_size(self, schema: dict[str, Any]) -> int:
        size = schema.get("size")
        if isinstance(size, bool) or not isinstance(size, int) or not 0 <= size < MAX_SIZE:
            self.fail("an Avro fixed type has no sound size", str(schema.get("name"))[:200])
        return size

    def symbols(self, schema: dict[str, Any]) -> int:
        symbols = schema.get("symbols")
        if not isinstance(symbols, list) or not symbols:
            self.fail("an Avro enum has no symbols", str(schema.get("name"))[:200])
        return len(symbols)

    # ---- arrays and maps ----------------------------------------------------------------------------------------

    def body(self, size_at: int, items: Any, want: Want | None, path: Path, depth: int, prefix: int = 0) -> None:
        """Emit code for the items of an array, then write their least size and the code's length at ``size_at``."""
        start = len(self.words)
        if prefix:
            self.emit(SKIP_BYTES)
        size = prefix + self.value(items, want, path, depth + 1)
        if size == 0 and want is not None:
            self.fail("an Avro array of empty items", _name(want))
        self.words[size_at] = min(size, MAX_SIZE)
        self.words[size_at + 1] = len(self.words) - start

    def array(self, schema: dict[str, Any], want: Want | None, path: Path, depth: int) -> int:
        key = "items" if schema["type"] == "array" else "values"
        if key not in schema:
            self.fail("an Avro array or map has no item type")
        if want is None:
            self.emit(SKIP_ARRAY, _LATER, _LATER)
            self.body(len(self.words) - 2, schema[key], None, path, depth, prefix=int(key == "values"))
            return 1
        if want.shape != "list" or key == "values":
            self.fail(f"a field has the wrong Avro type: {schema['type']}", _name(want))
        here = (*path, want.id)
        self.columns[self.index[here]].avro = {"type": "array"}
        self.emit(LIST, self.index[here], _LATER, _LATER)
        if want.members:
            item = Want(want.id, want.names, want.kind, "record", want.members)
            self.body(len(self.words) - 2, schema["items"], item, path, depth)
        else:
            self.body(len(self.words) - 2, schema["items"], Want(ELEMENT, want.names, want.kind), here, depth)
        return 1

    def map(self, schema: dict[str, Any], want: Want, path: Path, depth: int) -> int:
        """A map with int keys. Iceberg stores it as an array of records with a key and a value, in any order."""
        here = (*path, want.id)
        item = self.resolve(schema.get("items")) if schema["type"] == "array" else None
        if not isinstance(item, dict) or item["type"] != "record":
            self.fail("a field is no Avro map with int keys", _name(want))
        if self.key_count == 0:
            return self.array(schema, None, path, depth)
        key, value = want.members
        self.maps[here] = _held(value)
        self.slots.append((len(self.words) + 1, here))
        self.emit(MAP, _LATER, _LATER, _LATER)
        head = len(self.words)
        size = 0
        fields = self.fields(item)
        matched = self.match(fields, want.members)
        if set(matched.values()) != {key, value}:
            self.fail("the items of an Avro map have no key or no value", _name(want))
        for position, member in enumerate(fields):
            size += self.map_member(member["type"], matched.get(position), want, here, depth + 1)
        self.words[head - 2] = size
        self.words[head - 1] = len(self.words) - head
        return 1

    def map_member(self, schema: Any, member: Want | None, want: Want, here: Path, depth: int) -> int:
        resolved = self.resolve(schema)
        if member is None:
            return self.value(resolved, None, here, depth)
        if isinstance(resolved, list):
            return self.map_union(resolved, member, want, here, depth)
        kind = resolved["type"]
        is_key = member is want.members[0]
        if kind in ("int", "long"):
            operation: tuple[int, ...] = (KEY,) if is_key else (VALUE_LONG,)
        elif kind in ("bytes", "string") and not is_key:
            operation = (VALUE_BYTES,)
        elif kind == "fixed" and not is_key:
            operation = (VALUE_FIXED, self.fixed_size(resolved))
        else:
            self.fail(f"an Avro map has keys or values of the wrong type: {kind}", _name(want))
        holds = OCTETS if operation[0] in (VALUE_BYTES, VALUE_FIXED) else NUMBERS
        if not is_key and holds != _held(member):
            self.fail(f"an Avro map has keys or values of the wrong type: {kind}", _name(want))
        self.emit(*operation)
        return operation[1] if kind == "fixed" else 1

    def map_union(self, branches: list[Any], member: Want, want: Want, here: Path, depth: int) -> int:
        head = len(self.words)
        self.emit(UNION, len(branches), _LATER, *(_LATER for _ in branches))
        for number, branch in enumerate(branches):
            self.words[head + 3 + number] = len(self.words)
            resolved = self.resolve(branch)
            if isinstance(resolved, list):
                self.fail("an Avro union holds a union")
            if resolved["type"] != "null":
                self.map_member(resolved, member, want, here, depth)
        self.words[head + 2] = len(self.words)
        return 1


_COMPLEX = frozenset(("record", "enum", "fixed", "array", "map"))


def _held(value: Want) -> int:
    """What the values of a map hold."""
    return OCTETS if value.kind == "bytes" else NUMBERS


def _raw(path: Path) -> Path:
    return (*path, RAW)


def _name(want: Want) -> str:
    return want.names[0] if want.names else str(want.id)
