"""Reads structs in Thrift's compact protocol from untrusted bytes; see ``parquet.footers``.

Source: Thrift specification, "Thrift Compact protocol encoding".
"""

from libc.stdint cimport int64_t, uint8_t, uint64_t
from libc.stdlib cimport free, malloc

from cpython.bytes cimport PyBytes_FromStringAndSize

cdef enum:
    MAX_DEPTH = 16


cdef class _Reader:
    """Reads values one after another. Raises ValueError for malformed bytes."""

    def __init__(self, const uint8_t[::1] octets not None):
        self._data = octets
        self._at = 0

    cdef dict struct(self, int depth, int only=-1):
        cdef _Fields fields = begin()
        cdef int kind
        cdef dict found = {}
        while kind := self.field(&fields):
            if only >= 0 and fields.key != only:
                self.skip(kind, depth)
                found[fields.key] = kind, None
            else:
                found[fields.key] = kind, (kind == TRUE if TRUE <= kind <= FALSE else self.value(kind, depth))
        return found

    cdef int field(self, _Fields *fields) except -1:
        """Read the head of a struct's next field into ``fields`` and return its type; 0 after the last field."""
        cdef int head = self.byte(), kind = head & 0x0F
        cdef int64_t key
        if not head:
            return 0
        key = fields.key + (head >> 4) if head >> 4 else self.number()
        if not -0x8000 <= key <= 0x7FFF:
            raise ValueError("a field has a number of more than 16 bits")
        if not TRUE <= kind <= STRUCT or kind == MAP:
            raise ValueError("a type that footers do not have")
        if fields.seen >> key & 1 if 0 <= key < 64 else key <= fields.last:
            raise ValueError("a field stands twice")
        if 0 <= key < 64:
            fields.seen |= <uint64_t>1 << key
        else:  # footers have no such fields; to accept them in ascending order only is enough
            fields.last = key
        fields.key = key
        return kind

    cdef int skip(self, int kind, int depth) except -1:
        """Skip a field's value in a struct at ``depth``; refuses what :meth:`value` refuses."""
        return 0 if TRUE <= kind <= FALSE else self.skip_value(kind, depth)

    cdef int skip_value(self, int kind, int depth) except -1:
        cdef _Fields fields
        cdef uint64_t i, size
        if depth >= MAX_DEPTH:
            raise ValueError("nested too deeply")
        if I16 <= kind <= I64:
            self.varint()
        elif kind == STRUCT:
            fields = begin()
            while kind := self.field(&fields):
                self.skip(kind, depth + 1)
        elif kind == LIST or kind == SET:
            size = self.items(&kind)
            for i in range(size):
                self.skip_value(kind, depth + 1)
        elif kind == BINARY:
            self.pass_over(self.varint())
        elif kind == DOUBLE:
            self.pass_over(8)
        elif TRUE <= kind <= BYTE:
            self.byte()
        else:
            raise ValueError("a type that footers do not have")
        return 0

    cdef object value(self, int kind, int depth):
        if depth >= MAX_DEPTH:
            raise ValueError("nested too deeply")
        if I16 <= kind <= I64:
            return self.number()
        if kind == STRUCT:
            return self.struct(depth + 1)
        if kind == LIST or kind == SET:
            return self.list(depth + 1)
        if kind == BINARY:
            return self.octets(self.varint())
        if kind == DOUBLE:
            return self.octets(8)
        if TRUE <= kind <= BYTE:  # a list's booleans take a byte each
            return self.byte()
        raise ValueError("a type that footers do not have")

    cdef tuple list(self, int depth):
        cdef int kind
        cdef uint64_t size = self.items(&kind), i
        cdef list values = []
        for i in range(size):
            values.append(self.value(kind, depth))
        return kind, values

    cdef uint64_t items(self, int *kind) except? 0xFFFFFFFFFFFFFFFF:
        """Read the head of a list: return its length and set the type of its items."""
        cdef int head = self.byte()
        cdef uint64_t size = head >> 4 if head >> 4 != 15 else self.varint()
        if size > self.left():  # every value takes a byte at least
            raise ValueError("a list is longer than the bytes")
        kind[0] = head & 0x0F
        return size

    cdef int byte(self) except -1:
        if self._at >= self._data.shape[0]:
            raise ValueError("cut short")
        self._at += 1
        return self._data[self._at - 1]

    cdef uint64_t left(self):
        return <uint64_t>(self._data.shape[0] - self._at)

    cdef int pass_over(self, uint64_t size) except -1:
        if size > self.left():
            raise ValueError("cut short")
        self._at += <Py_ssize_t>size
        return 0

    cdef bytes octets(self, uint64_t size):
        self.pass_over(size)
        return self.copied(self._at - <Py_ssize_t>size, self._at)

    cdef bytes copied(self, Py_ssize_t start, Py_ssize_t stop):
        return PyBytes_FromStringAndSize(<const char *>&self._data[start], stop - start) if stop > start else b""

    cdef uint64_t varint(self) except? 0xFFFFFFFFFFFFFFFF:
        cdef uint64_t value = 0
        cdef int shift, byte
        for shift in range(0, 64, 7):
            byte = self.byte()
            if shift == 63 and byte > 1:
                break
            value |= <uint64_t>(byte & 0x7F) << shift
            if byte < 0x80:
                return value
        raise ValueError("a number is too long")

    cdef int64_t number(self) except? -1:
        cdef uint64_t value = self.varint()
        return <int64_t>((value >> 1) ^ (0 - (value & 1)))


def read_struct(object octets not None, int only=-1):
    """Read the struct at the start of ``octets``; more bytes may follow.

    Parameters
    ----------
    octets : bytes or memoryview
        The struct.
    only : int
        The one field whose value is wanted; -1: all fields.

    Returns
    -------
    dict of int to (int, value)
        Type and value by field number. Values are bool, int, bytes (also for a double), dict for a struct, or (type,
        list) for a list or set; None for fields that are not wanted.

    Raises
    ------
    ValueError
        The struct is cut off or nested too deeply, a field is a duplicate or a map, or a number has too many bits.

    Notes
    -----
    Cost: O(bytes); memory some hundred times that at most.
    """
    return _Reader(octets).struct(0, only)


def read_struct_at(object octets not None, Py_ssize_t offset):
    """Read the struct at ``offset`` of ``octets``, which may be followed by more bytes.

    Returns
    -------
    tuple of (dict, int)
        The fields as :func:`read_struct` gives them, and the offset after the struct.

    Raises
    ------
    ValueError
        As :func:`read_struct`; the offset is outside of ``octets``.
    """
    if not 0 <= offset < len(octets):
        raise ValueError("no such offset")
    reader = _Reader(octets)
    reader._at = offset
    fields = reader.struct(0)
    return fields, reader._at


def check_chunks(bytes octets not None):
    """Refuse a footer with a column chunk that disagrees with its column, or with a schema that is none.

    Parameters
    ----------
    octets : bytes
        FileMetaData; more bytes may follow.

    Raises
    ------
    ValueError
        A chunk has another type or an unknown codec, is encrypted, has statistics of another width or geospatial ones,
        or counts levels that its column does not have; a row group does not have one chunk per column; there are no row
        groups; the footer is encrypted or signed; the schema is no tree of elements; or the bytes are malformed as in
        :func:`read_struct`.

    Notes
    -----
    Cost: O(bytes), and 56 bytes of memory for each element of the schema. Source: parquet.thrift, FileMetaData,
    SchemaElement, RowGroup, ColumnChunk, ColumnMetaData, Statistics and SizeStatistics.
    """
    cdef _Schema schema = _Schema(octets)
    schema.footer()
    _Chunks(octets).footer(schema)


def path_cost(bytes octets not None):
    """What Arrow spends on the dotted names of a footer's columns, in bytes.

    Arrow keeps the dotted name of every column several times, and pyarrow makes all of its beginnings. So a long name
    of a group costs its length for each column, times the levels.

    Raises
    ------
    ValueError
        The bytes are malformed as in :func:`read_struct`, or the schema is no list of structs.

    Notes
    -----
    Cost: O(bytes). Source: parquet.thrift, FileMetaData, SchemaElement.
    """
    return _Paths(octets).footer()


def codecs_of(bytes octets not None):
    """The codecs of a footer's column chunks as a set of bits: bit i for the codec i, bit 63 for all from 63 on.

    Raises
    ------
    ValueError
        The bytes are malformed as in :func:`read_struct`, or a chunk's metadata are of another type.

    Notes
    -----
    Cost: O(bytes). Source: parquet.thrift, ColumnMetaData, CompressionCodec.
    """
    return _Codecs(octets).footer()


cdef enum:
    NAME_COPIES = 4  # that Arrow keeps


cdef class _Paths(_Reader):
    """Adds up what the dotted names of a footer's columns cost."""

    cdef list groups  # of (elements that are still to come, bytes of its dotted name)
    cdef object cost  # may exceed 64 bits

    cdef object footer(self):
        cdef _Fields fields = begin()
        cdef int kind
        cdef uint64_t i, size
        self.groups = []
        self.cost = 0
        while kind := self.field(&fields):
            if fields.key == 2:
                expect_type(kind, LIST)
                size = self.items(&kind)
                expect_type(kind, STRUCT)
                for i in range(size):
                    self.element(i == 0)
            else:
                self.skip(kind, 0)
        return self.cost

    cdef int element(self, bint is_root) except -1:
        cdef _Fields fields = begin()
        cdef int kind
        cdef int64_t children = 0, name = 0, left, above
        cdef Py_ssize_t level
        while kind := self.field(&fields):
            if fields.key == 4 and kind == BINARY:
                name = <int64_t>self.varint()
                self.pass_over(<uint64_t>name)
            elif fields.key == 5 and I16 <= kind <= I64:
                children = self.number()
            else:
                self.skip(kind, 2)
        level = len(self.groups)
        while level and self.groups[level - 1][0] <= 0:
            self.groups.pop()
            level -= 1
        if level:
            left, above = self.groups[level - 1]
            self.groups[level - 1] = left - 1, above
            name += above
        if children > 0:
            self.groups.append((children, 0 if is_root else name + 1))  # the root's name stands in none
        else:
            self.cost += name * (level + NAME_COPIES)
        return 0


cdef class _Codecs(_Reader):
    """Reads the codecs of a footer. Each method reads one struct, and adds the codecs in it."""

    cdef uint64_t found

    cdef uint64_t footer(self) except? 0xFFFFFFFFFFFFFFFF:
        self.found = 0
        self.within(0)
        return self.found

    cdef int within(self, int level) except -1:
        """A footer (level 0), a row group (1), a column chunk (2) or its metadata (3)."""
        cdef _Fields fields = begin()
        cdef int kind
        cdef uint64_t i, size
        cdef int64_t codec
        while kind := self.field(&fields):
            if level < 2 and fields.key == (4 if level == 0 else 1):
                expect_type(kind, LIST)
                size = self.items(&kind)
                expect_type(kind, STRUCT)
                for i in range(size):
                    self.within(level + 1)
            elif level == 2 and fields.key == 3:
                expect_type(kind, STRUCT)
                self.within(3)
            elif level == 3 and fields.key == 4:
                expect_type(kind, I32)
                codec = self.number()
                self.found |= <uint64_t>1 << (codec if 0 <= codec < 63 else 63)
            else:
                self.skip(kind, 2 * level)
        return 0


cdef enum:
    REQUIRED, OPTIONAL, REPEATED  # repetition types
    BYTE_ARRAY = 6, FIXED = 7  # physical types
    LAST_CODEC = 7

cdef int *WIDTHS = [1, 4, 8, 12, 4, 8]
"""The width in bytes of each physical type before BYTE_ARRAY."""


cdef struct _Leaf:
    int64_t kind, width, repetition, definition  # width -1: any


cdef struct _Group:
    int64_t left, repetition, definition  # elements below it that are still to come


cdef class _Schema(_Reader):
    """Reads the leaf columns of a footer's schema: physical type, width, highest repetition and definition level."""

    cdef _Leaf *leaves
    cdef _Group *groups
    cdef Py_ssize_t columns, depth

    def __dealloc__(self):
        free(self.leaves)
        free(self.groups)

    cdef int footer(self) except -1:
        cdef _Fields fields = begin()
        cdef int kind
        while kind := self.field(&fields):
            if fields.key == 2:
                expect_type(kind, LIST)
                self.elements()
            elif fields.key == 8 or fields.key == 9:
                raise ValueError("the footer is encrypted or signed")
            else:
                self.skip(kind, 0)
        return need(&fields, 2)

    cdef int elements(self) except -1:
        cdef int kind
        cdef uint64_t i, size = self.items(&kind)
        expect_type(kind, STRUCT)
        if not size:
            raise ValueError("the schema is empty")
        self.leaves = <_Leaf *>malloc(size * sizeof(_Leaf))
        self.groups = <_Group *>malloc((size + 1) * sizeof(_Group))
        if self.leaves == NULL or self.groups == NULL:
            raise MemoryError()
        for i in range(size):
            self.element(i == 0)
        return 0

    cdef int element(self, bint is_root) except -1:
        """One SchemaElement; elements stand depth first."""
        cdef _Fields fields = begin()
        cdef _Group above
        cdef int kind
        cdef int64_t physical = -1, width = -1, repeats = -1, children = 0, value
        while kind := self.field(&fields):
            if fields.key not in (1, 2, 3, 5):
                self.skip(kind, 2)
                continue
            if kind != I32:
                if fields.key == 5 or not is_root:
                    raise ValueError("a field is of another type")
                self.skip(kind, 2)
                continue
            value = self.number()
            if fields.key == 1:
                physical = value
            elif fields.key == 2:
                width = value
            elif fields.key == 3:
                repeats = value
            else:
                children = value
        if is_root:
            need(&fields, 5)
            self.groups[0] = _Group(children, 0, 0)
            self.depth = 1
            return 0
        while self.depth and not self.groups[self.depth - 1].left:
            self.depth -= 1
        if not self.depth:
            raise ValueError("the schema has more elements than it says")
        if not REQUIRED <= repeats <= REPEATED or children < 0:
            raise ValueError("an element of the schema is invalid")
        self.groups[self.depth - 1].left -= 1
        above = self.groups[self.depth - 1]
        above.repetition += repeats == REPEATED
        above.definition += repeats != REQUIRED
        if children:
            self.groups[self.depth] = _Group(children, above.repetition, above.definition)
            self.depth += 1
            return 0
        need(&fields, 1)
        if physical == FIXED:
            need(&fields, 2)
            if width < 0:
                raise ValueError("the width of a type is negative")
        else:
            width = WIDTHS[physical] if 0 <= physical < BYTE_ARRAY else -1
        self.leaves[self.columns] = _Leaf(physical, width, above.repetition, above.definition)
        self.columns += 1
        return 0


cdef class _Chunks(_Reader):
    """Checks the column chunks of a footer as it reads them. Each method reads one struct or one field's value."""

    cdef int footer(self, _Schema schema) except -1:
        cdef _Fields fields = begin()
        cdef int kind
        cdef uint64_t i, groups
        while kind := self.field(&fields):
            if fields.key == 4:
                groups = self.structs(kind)
                for i in range(groups):
                    self.group(schema)
            else:
                self.skip(kind, 0)
        return need(&fields, 4)

    cdef int group(self, _Schema schema) except -1:
        cdef _Fields fields = begin()
        cdef int kind
        cdef Py_ssize_t i
        while kind := self.field(&fields):
            if fields.key == 1:
                if self.structs(kind) != <uint64_t>schema.columns:
                    raise ValueError("a row group has not one chunk for each column")
                for i in range(schema.columns):
                    self.chunk(&schema.leaves[i])
            else:
                self.skip(kind, 2)
        return need(&fields, 1)

    cdef int chunk(self, const _Leaf *leaf) except -1:
        cdef _Fields fields = begin()
        cdef int kind
        while kind := self.field(&fields):
            if fields.key == 8:
                raise ValueError("a chunk is encrypted")
            if fields.key == 3:
                expect_type(kind, STRUCT)
                self.column(leaf)
            else:
                self.skip(kind, 4)
        return need(&fields, 3)

    cdef int column(self, const _Leaf *leaf) except -1:
        cdef _Fields fields = begin()
        cdef int kind
        while kind := self.field(&fields):
            if fields.key == 17:
                raise ValueError("a chunk has geospatial statistics")
            if fields.key == 1:
                expect_type(kind, I32)
                if self.number() != leaf.kind:
                    raise ValueError("a chunk is of another type than its column")
            elif fields.key == 4:
                expect_type(kind, I32)
                if not 0 <= self.number() <= LAST_CODEC:
                    raise ValueError("a chunk has an unknown codec")
            elif fields.key == 12:
                expect_type(kind, STRUCT)
                self.bounds(leaf.width)
            elif fields.key == 16:
                expect_type(kind, STRUCT)
                self.sizes(leaf)
            else:
                self.skip(kind, 5)
        return need(&fields, 1)

    cdef int bounds(self, int64_t width) except -1:
        cdef _Fields fields = begin()
        cdef int kind
        cdef uint64_t size
        while kind := self.field(&fields):
            if width >= 0 and fields.key in (1, 2, 5, 6):
                expect_type(kind, BINARY)
                size = self.varint()
                if size != <uint64_t>width:
                    raise ValueError("a bound is of another width than its column")
                self.pass_over(size)
            else:
                self.skip(kind, 6)
        return 0

    cdef int sizes(self, const _Leaf *leaf) except -1:
        cdef _Fields fields = begin()
        cdef int kind
        cdef uint64_t i, levels
        while kind := self.field(&fields):
            if fields.key == 1 and leaf.kind != BYTE_ARRAY:
                raise ValueError("a chunk counts the bytes of values of one width")
            if fields.key == 2 or fields.key == 3:
                expect_type(kind, LIST)
                levels = self.items(&kind)
                expect_type(kind, I64)
                if levels and levels != <uint64_t>(leaf.repetition if fields.key == 2 else leaf.definition) + 1:
                    raise ValueError("a chunk counts levels that its column does not have")
                for i in range(levels):
                    self.varint()
            else:
                self.skip(kind, 6)
        return 0

    cdef uint64_t structs(self, int kind) except? 0xFFFFFFFFFFFFFFFF:
        """Read the head of a list of structs and return its length."""
        cdef uint64_t size
        expect_type(kind, LIST)
        size = self.items(&kind)
        expect_type(kind, STRUCT)
        return size


cdef int expect_type(int kind, int expected) except -1:
    if kind != expected:
        raise ValueError("a field is of another type")
    return 0


cdef int need(const _Fields *fields, int key) except -1:
    if not fields.seen >> key & 1:
        raise ValueError("a field is missing")
    return 0
