"""Stub of the reader of heads of pages. The docstrings of ``_page_heads.pyx`` give the attributes."""

class PageHead:
    block: bytes | memoryview
    start: int
    body_start: int
    stop: int
    kind: int
    size: int
    rows: int
    encoding: int
    level_encoding: int
    level_bytes: int
    repetition_bytes: int
    is_stored_plain: bool
    lower: bytes | None
    upper: bytes | None
    nulls: int | None
    cached: memoryview | None

    def __init__(self, block: bytes | memoryview, start: int, end: int = -1) -> None: ...
