"""What a run of ``table.verify_stats()`` has looked at, in a local file, so that a later run goes on behind it.

The file has one JSON document a line: first what was asked, then one line for each data file.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Sequence
from typing import IO, Any

from ..errors import TableFormatsError

__all__ = ["ProgressFile", "resumed_version"]

_KIND = "tableformats verify-stats"
_OF_A_FINDING = {"rule", "column", "what", "filter"}


class ProgressFile:
    """The progress of one run. ``known`` has what earlier runs looked at, by path.

    Parameters
    ----------
    path : path, optional
        None: nothing is written.
    asked : dict
        What the run is about; an earlier run must have been about the same.

    Raises
    ------
    TableFormatsError
        The file is no progress file, or that of another run; or it cannot be read or written.
    """

    def __init__(self, path: str | os.PathLike[str] | None, asked: dict[str, Any]) -> None:
        self.known: dict[str, dict[str, Any]] = {}
        self._file: IO[str] | None = None
        if path is not None:
            asked = {"kind": _KIND, **asked}
            self.known = _known(path, asked)
            self._file = _appending(path, [asked, *self.known.values()])

    def add(self, line: dict[str, Any]) -> None:
        """Write down one data file."""
        if self._file is not None:
            self._file.write(json.dumps(line) + "\n")
            self._file.flush()

    def __enter__(self) -> ProgressFile:
        return self

    def __exit__(self, *error: object) -> None:
        if self._file is not None:
            self._file.close()


def resumed_version(resume: str | os.PathLike[str]) -> int | None:
    """The version that an interrupted run looked at; None: there is no such run."""
    for line in _lines(resume):
        version = line.get("version") if line.get("kind") == _KIND else None
        return version if isinstance(version, int) else None
    return None


def _known(resume: str | os.PathLike[str], asked: dict[str, Any]) -> dict[str, dict[str, Any]]:
    """What earlier runs found, by path.

    Raises TableFormatsError if the file is no progress file, or that of another check.
    """
    first, *lines = list(_lines(resume)) or [asked]
    wrong = next((name for name, value in asked.items() if first.get(name) != value), None)
    if wrong is None and not all(map(_is_of_a_file, lines)):
        wrong = "kind"
    if wrong is not None:
        raise TableFormatsError(
            "the file is no progress file" if wrong == "kind" else f"the file has the progress of another {wrong}",
            path=os.fspath(resume),
            field=wrong,
            hint="Name another file, or remove it to begin anew",
        )
    return {line["path"]: line for line in lines}


def _is_of_a_file(line: dict[str, Any]) -> bool:
    """Whether a line is what was found of one data file."""
    columns, found = line.get("not_compared"), line.get("found")
    if not (isinstance(line.get("path"), str) and isinstance(columns, list) and isinstance(found, list)):
        return False
    are_findings = all(isinstance(one, dict) and one.keys() == _OF_A_FINDING for one in found)
    return "read" in line and all(isinstance(column, str) for column in columns) and are_findings


def _lines(path: str | os.PathLike[str]) -> Iterator[dict[str, Any]]:
    """The documents of a file, up to a line that was not finished. Nothing where there is no file."""
    if not os.path.exists(path):
        return
    try:
        with open(path, encoding="utf-8", errors="replace") as file:
            for text in file:
                try:
                    line = json.loads(text)
                except ValueError:
                    return
                if not isinstance(line, dict) or not text.endswith("\n"):
                    return
                yield line
    except OSError as error:
        raise _unusable(path, error) from error


def _appending(path: str | os.PathLike[str], lines: Sequence[dict[str, Any]]) -> IO[str]:
    """The file with these lines, open behind them. It is replaced at once, so that a crash loses no line."""
    new = f"{os.fspath(path)}.new"
    try:
        with open(new, "w", encoding="utf-8") as file:
            file.writelines(json.dumps(line) + "\n" for line in lines)
        os.replace(new, path)
        return open(path, "a", encoding="utf-8")
    except OSError as error:
        raise _unusable(path, error) from error


def _unusable(path: str | os.PathLike[str], error: OSError) -> TableFormatsError:
    return TableFormatsError(
        f"the file of the progress cannot be used: {error.strerror or error}",
        path=os.fspath(path),
        field="resume",
        hint="Name a file in a directory that may be written to",
    )
