"""The options of ``spark.read.format("tableformats")`` and of writes, and their values.

Spark passes every option as text, with its name in lower case. An unknown option is an error, because a misspelt
``versionAsOf`` must not read another version.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from ..engines.spark.distributed.transport import Access
from ..errors import SnapshotNotFoundError, TableFormatsError, UnsupportedFeatureError
from ..lazy_pattern import lazy_pattern
from ..limits import Limits
from ..runtime.concurrency import cached_property

if TYPE_CHECKING:
    from ..table.scan import Scan
    from ..table.table import Snapshot, Table

__all__ = ["BATCH", "STREAM", "STREAM_WRITE", "WRITE", "ReadOptions"]

_TABLE = ("path", "format", "catalog", "storageOptions", "allowPaths", "relocate", "limits")
_ROWS = ("filter", "columns", "caseSensitive", "ansi", "split-size", "file-open-cost")
_SNAPSHOT = ("versionAsOf", "timestampAsOf", "branch", "tag")
_EXPECTED = "expectedVersion"
_CHANGES = ("readChangeFeed", "startingVersion", "endingVersion")
_APPENDS = ("start-snapshot-id", "end-snapshot-id")

BATCH = (*_TABLE, *_ROWS, "pushFilters", *_SNAPSHOT, _EXPECTED, *_CHANGES, *_APPENDS)
"""The options of a batch read."""

STREAM = (
    *_TABLE,
    *_ROWS,
    "startingVersion",
    "startingTimestamp",
    "maxFilesPerTrigger",
    "maxBytesPerTrigger",
    "ignoreDeletes",
    "skipChangeCommits",
    "streaming-skip-delete-snapshots",
    "streaming-skip-overwrite-snapshots",
)
"""The options of a streaming read."""

_WRITE = (*_TABLE, "partitionBy", "branch")
WRITE = (*_WRITE, "replaceWhere", "partitionOverwriteMode", "txnAppId", "txnVersion")
"""The options of a batch write."""

STREAM_WRITE = (*_WRITE, "checkpointLocation", "queryName")
"""The options of a streaming write; the last two are Spark's own."""
_NAME = lazy_pattern(r"\s*(?:`((?:[^`]|``)+)`|([^,`]*[^,`\s]))\s*(,|$)")


class ReadOptions:
    """The options of one read or write.

    Parameters
    ----------
    options : Mapping[str, str]
        As Spark passes them; names in any case.

    Raises
    ------
    UnsupportedFeatureError
        An unknown option; ``field`` names it.
    """

    def __init__(self, options: Mapping[str, str]) -> None:
        known = {name.lower(): name for name in (*BATCH, *STREAM, *WRITE, *STREAM_WRITE)}
        self._texts: dict[str, str] = {}
        for name, text in options.items():
            if name.lower() not in known:
                raise _unknown(name, list(known.values()))
            self._texts[known[name.lower()]] = text

    def __repr__(self) -> str:
        # Values may be credentials.
        return f"ReadOptions({sorted(self._texts)})"

    def check(self, allowed: tuple[str, ...], what: str) -> None:
        """Raise UnsupportedFeatureError if an option is given that is not ``allowed`` in ``what``, a kind of read."""
        for name in self._texts:
            if name not in allowed:
                raise UnsupportedFeatureError(
                    f"{what} does not take the option {name}", field=name, hint=f"It takes {', '.join(allowed)}"
                )

    # ---- values -------------------------------------------------------------------------------------------------

    def text(self, name: str) -> str | None:
        """The option's text; None if it is not given."""
        return self._texts.get(name)

    def flag(self, name: str, default: bool = False) -> bool:
        """Whether the option is ``true``. Raises TableFormatsError unless it is ``true`` or ``false``."""
        text = self._texts.get(name, str(default)).strip().lower()
        if text not in ("true", "false"):
            raise _malformed(name, "true or false")
        return text == "true"

    def number(self, name: str) -> int | None:
        """A positive integer; None if it is not given. Raises TableFormatsError for other values."""
        text = self._texts.get(name)
        if text is None:
            return None
        if not (text.strip().isascii() and text.strip().isdigit() and int(text) > 0):
            raise _malformed(name, "a whole number from 1 on")
        return int(text)

    def version(self, name: str) -> int | str | None:
        """A version, a ref or a timestamp: an integer if the text is one, otherwise the text; None if not given."""
        text = self._texts.get(name)
        if text is None:
            return None
        text = text.strip()
        return int(text) if text.isascii() and text.removeprefix("-").isdigit() else text

    def size(self, name: str) -> int | None:
        """A number of bytes; None if it is not given. Raises TableFormatsError for other values."""
        from ..planning.splits import size_in_bytes

        text = self._texts.get(name)
        try:
            return None if text is None else size_in_bytes(int(text) if text.strip().isdigit() else text)
        except ValueError as error:
            raise _malformed(name, "bytes, or a number with kb, mb, gb or tb") from error

    def columns(self) -> list[str] | None:
        """Names separated by commas, in backticks if they contain one; None if the option is not given.

        Raises TableFormatsError for other values.
        """
        return self.names("columns")

    def names(self, name: str) -> list[str] | None:
        """As :meth:`columns`, of another option."""
        text = self._texts.get(name)
        return None if text is None else _names(text, name)

    def _json(self, name: str, kind: type, form: str) -> Any:
        text = self._texts.get(name)
        if text is None:
            return None
        try:
            found = json.loads(text)
        except ValueError:
            found = None
        if not isinstance(found, kind):
            # The text is not shown: it may hold credentials.
            raise _malformed(name, form)
        return found

    # ---- the table and its rows ---------------------------------------------------------------------------------

    @cached_property
    def access(self) -> Access:
        """What executors need to open the store. Raises TableFormatsError for malformed options."""
        options = self._json("storageOptions", dict, 'a JSON object, such as {"anon": true}')
        allowed = self._json("allowPaths", list, 'a JSON list, such as ["s3://other/"]')
        return Access(options or {}, tuple(map(str, allowed or ())), self._limits())

    def _limits(self) -> Limits:
        found = self._json("limits", dict, 'a JSON object, such as {"nesting": 50}')
        try:
            return Limits(**(found or {}))
        except (TypeError, ValueError) as error:
            raise TableFormatsError(
                f"the option limits is no value that it can have: {error}",
                field="limits",
                hint="Give a JSON object of the names and numbers of tableformats.Limits",
            ) from error

    def open_table(self) -> Table:
        """The table. Raises as :func:`tableformats.open_table` does, and TableFormatsError if no path is given."""
        from ..table.table import open_table

        location = self._texts.get("path")
        if location is None:
            raise TableFormatsError(
                "no table is named", field="path", hint='Give its location, as in .load("/data/events")'
            )
        return open_table(
            location,
            format=self.text("format"),
            catalog=self.text("catalog"),
            relocate=self._relocate(),
            storage_options=dict(self.access.storage_options),
            allow_paths=list(self.access.allow_paths),
            limits=self.access.limits,
        )

    def _relocate(self) -> bool | Mapping[str, str] | None:
        if self._texts.get("relocate", "").strip().lower() in ("true", "false"):
            return self.flag("relocate")
        found: Mapping[str, str] | None = self._json("relocate", dict, 'true, or a JSON object {"old": "new"}')
        return found

    @property
    def is_streaming(self) -> bool:
        """Whether the options are those of a streaming read and not of a batch read."""
        return not set(self._texts) <= set(BATCH) or self._has_bare_range

    @property
    def _has_bare_range(self) -> bool:
        is_range = "startingVersion" in self._texts or "endingVersion" in self._texts
        return is_range and not self.flag("readChangeFeed")

    def scan(self, table: Table, version: int | None = None) -> Scan:
        """The rows of a batch read.

        Parameters
        ----------
        table : Table
            The table.
        version : int, optional
            The version to read if the options select none; None: the current one.

        Raises
        ------
        UnsupportedFeatureError, TableFormatsError
            Options that a batch read does not have, or that exclude each other.
        SnapshotNotFoundError, InvalidPredicateError
            As the methods of :class:`tableformats.Table` raise them.
        """
        self.check(BATCH, "a batch read")
        found = self.restrict(self._rows(table, None))
        expected = self.version(_EXPECTED)
        if expected not in (None, found.snapshot.version):
            raise SnapshotNotFoundError(
                f"the table has moved on from version {expected} to {found.snapshot.version}",
                path=table.location,
                hint="Make the DataFrame again",
            )
        is_newer = version is not None and version != found.snapshot.version
        return self.restrict(self._rows(table, version)) if is_newer else found

    def _rows(self, table: Table, version: int | None) -> Snapshot | Scan:
        """The snapshot or change scan that the options select; ``version`` is its last version if they do not say."""
        if self._has_bare_range:
            raise TableFormatsError(
                "a range of versions was given, but not what of it",
                field="startingVersion",
                hint="Read changes with readChangeFeed=true, or one version with versionAsOf",
            )
        if self.flag("readChangeFeed"):
            self._refuse_beside("readChangeFeed", (*_SNAPSHOT, *_APPENDS))
            starting = self.version("startingVersion")
            if starting is None:
                raise TableFormatsError(
                    "readChangeFeed needs a version to start at",
                    field="startingVersion",
                    hint="Give startingVersion, and endingVersion if not the current one",
                )
            return table.changes(starting, version if version is not None else self.version("endingVersion"))
        if any(name in self._texts for name in _APPENDS):
            self._refuse_beside(_APPENDS[0], _SNAPSHOT)
            after, last = (self._snapshot_id(name) for name in _APPENDS)
            return table.incremental_append_scan(after, last if version is None else version)
        if version is not None:
            return table.snapshot(version)
        selecting = [name for name in _SNAPSHOT if name in self._texts]
        if len(selecting) > 1:
            self._refuse_beside(selecting[0], tuple(selecting[1:]))
        return table.snapshot(
            self.version("versionAsOf"),
            timestamp=self.version("timestampAsOf"),
            branch=self.text("branch"),
            tag=self.text("tag"),
        )

    def restrict(self, rows: Snapshot | Scan) -> Scan:
        """``rows`` with the options' filter and columns. Raises InvalidPredicateError for a malformed filter."""
        from ..table.table import Snapshot

        case_sensitive, ansi = self.flag("caseSensitive"), self.flag("ansi", default=True)
        if isinstance(rows, Snapshot):
            return rows.scan(self.text("filter"), columns=self.columns(), case_sensitive=case_sensitive, ansi=ansi)
        rows = replace(rows, case_sensitive=case_sensitive, ansi=ansi)
        if self.text("filter") is not None:
            rows = rows.where(self.text("filter"))
        columns = self.columns()
        return rows if columns is None else rows.select(*columns)

    def _snapshot_id(self, name: str) -> int | None:
        found = self.version(name)
        if isinstance(found, str):
            raise _malformed(name, "a snapshot id")
        return found

    def _refuse_beside(self, name: str, others: tuple[str, ...]) -> None:
        both = [other for other in others if other in self._texts]
        if both:
            raise UnsupportedFeatureError(
                f"{name} and {both[0]} were given; only one can select the rows", field=both[0], hint="Leave one out"
            )


def _names(text: str, option: str) -> list[str]:
    names = []
    at = 0
    while True:
        match = _NAME.match(text, at)
        if match is None or not (match[1] or match[2]):
            raise _malformed(option, "names separated by commas, with backticks around a name that has a comma")
        names.append(match[2] or match[1].replace("``", "`"))
        at = match.end()
        if not match[3]:
            return names


def _unknown(name: str, known: list[str]) -> UnsupportedFeatureError:
    import difflib

    near = difflib.get_close_matches(name.lower(), [k.lower() for k in known], n=1)
    meant = [k for k in known if k.lower() in near] or known
    return UnsupportedFeatureError(f"there is no option {name}", field=name, hint=f"Did you mean {', '.join(meant)}?")


def _malformed(name: str, form: str) -> TableFormatsError:
    return TableFormatsError(f"the option {name} is no value that it can have", field=name, hint=f"Give {form}")
