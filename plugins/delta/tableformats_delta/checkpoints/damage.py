"""Errors of damaged checkpoint files."""

from __future__ import annotations

from tableformats.plugin import CorruptMetadataError, TableFormatsError, is_fault_of_machine

__all__ = ["HINT", "damaged_column", "guard_parquet"]

HINT = "Restore the file from a copy; if the commits before it are still there, remove it and they are read instead"


def damaged_column(path: str, name: str) -> CorruptMetadataError:
    """The error for a column that a checkpoint lacks, or has with a wrong type."""
    return CorruptMetadataError(
        "a checkpoint lacks a column or has one of the wrong type", path=path, field=name, hint=HINT
    )


class guard_parquet:
    """A context that turns what Parquet readers raise for damaged bytes into CorruptMetadataError.

    Errors of the operating system, and memory that cannot be had, pass: they say nothing of the file.

    Parameters
    ----------
    path : str
        The Parquet file.
    """

    def __init__(self, path: str) -> None:
        self.path = path

    def __enter__(self) -> None:
        return None

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: object) -> None:
        import pyarrow as pa

        if error is None or isinstance(error, TableFormatsError) or is_fault_of_machine(error):
            return
        if isinstance(error, (pa.ArrowException, OSError, ValueError, OverflowError)):
            message = str(error).splitlines()[0] if str(error) else type(error).__name__
            raise CorruptMetadataError(
                f"a checkpoint is damaged or cut off: {message}", path=self.path, hint=HINT
            ) from error
