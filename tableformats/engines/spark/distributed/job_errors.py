"""Errors of tasks, as the driver raises them: with the type and the attributes that they had on the executor.

A task returns an error of the data or of the table as a row, because Spark would run a task that raises again, and the
driver would get text. What may pass by itself, such as an error of the store, is raised, and so is tried again.
"""

from __future__ import annotations

import json
from inspect import signature

from .... import errors
from ....errors import TableFormatsError, UnsupportedFeatureError
from ....lazy_pattern import lazy_pattern
from ....version import __version__

__all__ = ["check_version", "job_error", "pack_error", "raised_error", "unpack_error"]

_RAISED = lazy_pattern(r"\btableformats\.errors\.(\w+): (.*)")
"""An error of ours in a Python traceback."""


def check_version(driver: str) -> None:
    """Raise UnsupportedFeatureError unless this process has the package in the version of the driver."""
    if driver != __version__:
        raise UnsupportedFeatureError(
            f"the executors have version {__version__} of tableformats, and the driver has {driver}",
            field="engine",
            hint="Install the same version for the Python of the executors",
        )


def pack_error(error: TableFormatsError) -> str:
    """The error as JSON: its public class and the arguments of its constructor, which are its attributes."""
    kind = next(c for c in type(error).__mro__ if c.__name__ in errors.__all__)
    arguments = {name: getattr(error, name) for name in signature(kind).parameters}
    return json.dumps({"type": kind.__name__, **arguments})


def unpack_error(text: str) -> TableFormatsError:
    """The error that was packed."""
    arguments = json.loads(text)
    kind: type[TableFormatsError] = getattr(errors, arguments.pop("type"))
    return kind(arguments.pop("message"), **arguments)


def raised_error(error: Exception, path: str) -> TableFormatsError | None:
    """Our error for an error of a Spark job, if a task could not run our code, or our code raised an error of a store.

    ``path``: the table's location. None: the error is of something else in the job.
    """
    message = str(error)
    if "No module named 'tableformats" in message:
        return UnsupportedFeatureError(
            "the Python of the executors has no package tableformats",
            path=path,
            field="engine",
            hint="Install it on every node for the Python that PYSPARK_PYTHON names, or ship an archive of it "
            "(spark.archives)",
        )
    for name, text in _RAISED.findall(message):
        kind = getattr(errors, name, TableFormatsError)
        if issubclass(kind, errors.StoreError):
            return kind(text, path=path, hint="Executors must reach the table with the same storage options")
    return None


def job_error(error: Exception, path: str, task: str) -> TableFormatsError:
    """Our error for any error of a job that runs our code alone. ``task``: what the executors did."""
    found = raised_error(error, path)
    if found is not None:
        return found
    # The message is a Python traceback, whose last line is the error, followed by Java's stack.
    lines = [line for line in str(error).partition("\n\tat ")[0].splitlines() if line.strip()]
    return TableFormatsError(
        f"the executors could not {task}: {lines[-1] if lines else type(error).__name__}",
        path=path,
        hint="They must reach the table's location with the same storage options; or plan without an engine",
    )
