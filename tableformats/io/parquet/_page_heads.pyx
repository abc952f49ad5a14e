"""Heads of Parquet pages. See ``data_pages``. Source: parquet.thrift, PageHeader."""

from libc.stdint cimport INT32_MAX, int64_t, uint64_t

from tableformats.io._thrift cimport BINARY, FALSE, I16, I64, STRUCT, _Fields, _Reader, begin

cdef enum:
    DATA_PAGE = 0
    DICTIONARY_PAGE = 2
    DATA_PAGE_V2 = 3
    RLE = 3
    ABSENT = -1


cdef class PageHead:
    """The head of the page at an offset of some bytes.

    Parameters
    ----------
    block : bytes or memoryview
        uint8[n]. They hold the page, and may hold others.
    start : int
        Where it begins.
    end : int
        The page ends there at the latest. -1: with the bytes.

    Raises
    ------
    ValueError
        The head is damaged, lacks something, or says that the page ends later.

    Attributes
    ----------
    block : bytes or memoryview
    start, body_start, stop : int
        In the block: where the page begins, where what follows its head does, and where it ends.
    kind : int
        DATA_PAGE, DATA_PAGE_V2 or DICTIONARY_PAGE.
    size : int
        The bytes of the body before compression.
    rows : int
        The values of the page, NULLs included.
    encoding, level_encoding : int
        Of the values, and of the definition levels.
    level_bytes, repetition_bytes : int
        How many bytes the levels of version 2 take, which are not compressed, and the first of them; else 0.
    is_stored_plain : bool
        Whether a page of version 2 says that it is not compressed.
    lower, upper : bytes or None
        Bounds of the values, as PLAIN encodes one, without the length of bytes. None: not known.
    nulls : int or None
        How many values are NULL.
    cached : object
        Free for what is made of the page.
    """

    def __init__(self, object block not None, Py_ssize_t start, Py_ssize_t end=ABSENT):
        cdef _Head reader = _Head(block)
        self.octets = reader._data
        cdef Py_ssize_t size = self.octets.shape[0]
        if not 0 <= start < size:
            raise ValueError("no such offset")
        reader._at = start
        reader.page()
        if reader.stored_size > (size if end == ABSENT else end) - reader._at:
            raise ValueError("a page ends after its column chunk")
        self.block, self.start, self.body_start = block, start, reader._at
        self.stop = reader._at + <Py_ssize_t>reader.stored_size
        self.kind, self.size, self.rows, self.encoding = reader.kind, reader.size, reader.rows, reader.encoding
        self.least, self.greatest, self.null_count = reader.least, reader.greatest, reader.null_count
        self.level_encoding = RLE
        if self.kind == DATA_PAGE:
            self.level_encoding = reader.level_encoding
        elif self.kind == DATA_PAGE_V2:
            self.is_stored_plain = reader.is_stored_plain
            self.repetition_bytes = reader.repetition_bytes
            self.level_bytes = reader.definition_bytes + reader.repetition_bytes
            if self.level_bytes > min(<int64_t>(self.stop - self.body_start), self.size):
                raise ValueError("the levels of a page are longer than the page")

    @property
    def lower(self):
        return self.bound(self.least)

    @property
    def upper(self):
        return self.bound(self.greatest)

    @property
    def nulls(self):
        return None if self.null_count == ABSENT else self.null_count

    cdef bytes bound(self, _Place place):
        return None if place.start == ABSENT else bytes(self.octets[place.start : place.stop])


cdef class _Head(_Reader):
    """Reads a PageHeader. A number that is there is not negative."""

    cdef int64_t kind, size, stored_size, rows, encoding, level_encoding, definition_bytes, repetition_bytes
    cdef bint is_stored_plain
    cdef _Place least, greatest
    cdef int64_t null_count

    cdef int page(self) except -1:
        cdef _Fields fields = begin()
        cdef int kind
        cdef int64_t here[3]  # where the structs of the three kinds of pages begin
        here[:] = [ABSENT, ABSENT, ABSENT]
        self.kind = self.size = self.stored_size = ABSENT
        while kind := self.field(&fields):
            if fields.key == 1:
                self.kind = self.small(kind)
            elif fields.key == 2:
                self.size = self.small(kind)
            elif fields.key == 3:
                self.stored_size = self.small(kind)
            else:
                if kind == STRUCT and fields.key in (5, 7, 8):
                    here[0 if fields.key == 5 else fields.key - 6] = self._at
                self.skip(kind, 0)
        cdef Py_ssize_t end = self._at
        cdef int64_t place = ABSENT
        if self.kind == DATA_PAGE:
            place = here[0]
        elif self.kind == DICTIONARY_PAGE or self.kind == DATA_PAGE_V2:
            place = here[self.kind - 1]
        if place == ABSENT:
            raise ValueError("a page is of another kind")
        self._at = <Py_ssize_t>place
        self.of_kind()
        self._at = end
        return self.expect_known(self.size, self.stored_size)

    cdef int of_kind(self) except -1:
        """The struct of the page's kind."""
        cdef _Fields fields = begin()
        cdef int kind
        cdef bint is_second = self.kind == DATA_PAGE_V2
        self.rows = self.encoding = self.level_encoding = self.definition_bytes = self.repetition_bytes = ABSENT
        self.is_stored_plain = False
        self.least = self.greatest = _Place(ABSENT, ABSENT)
        self.null_count = ABSENT
        while kind := self.field(&fields):
            if fields.key == 1:
                self.rows = self.small(kind)
            elif fields.key == (4 if is_second else 2):
                self.encoding = self.small(kind)
            elif fields.key == 3 and self.kind == DATA_PAGE:
                self.level_encoding = self.small(kind)
            elif is_second and fields.key == 5:
                self.definition_bytes = self.small(kind)
            elif is_second and fields.key == 6:
                self.repetition_bytes = self.small(kind)
            elif kind == STRUCT and self.kind != DICTIONARY_PAGE and fields.key == (8 if is_second else 5):
                self.statistics()
            else:
                if is_second and fields.key == 7:
                    self.is_stored_plain = kind == FALSE
                self.skip(kind, 1)
        if is_second:
            self.expect_known(self.definition_bytes, self.repetition_bytes)
        elif self.kind == DATA_PAGE:
            self.expect_known(self.level_encoding, self.rows)
        return self.expect_known(self.rows, self.encoding)

    cdef int statistics(self) except -1:
        """The bounds that have an order, and the number of NULLs; of another type they are not known."""
        cdef _Fields fields = begin()
        cdef int kind
        cdef uint64_t size
        while kind := self.field(&fields):
            if fields.key == 3 and kind == I64:
                self.null_count = self.natural(kind)
            elif kind == BINARY and fields.key in (5, 6):
                size = self.varint()
                self.pass_over(size)
                place = _Place(self._at - <Py_ssize_t>size, self._at)
                if fields.key == 5:
                    self.greatest = place
                else:
                    self.least = place
            else:
                self.skip(kind, 2)
        return 0

    cdef int64_t natural(self, int kind) except? -2:
        """An integer that is not negative."""
        if not I16 <= kind <= I64:
            raise ValueError("a number is missing or negative")
        cdef int64_t value = self.number()
        if value < 0:
            raise ValueError("a number is missing or negative")
        return value

    cdef int64_t small(self, int kind) except? -2:
        """An integer of 32 bits that is not negative, whatever it is stored as."""
        cdef int64_t value = self.natural(kind)
        if value > INT32_MAX:
            raise ValueError("a number of a page has more than 32 bits")
        return value

    cdef int expect_known(self, int64_t first, int64_t second) except -1:
        if first == ABSENT or second == ABSENT:
            raise ValueError("a number is missing or negative")
        return 0
