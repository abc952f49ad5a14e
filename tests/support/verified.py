"""The verifier as an assertion: what our writers leave behind breaks no rule of the format's specification."""

from __future__ import annotations

import os
from typing import Any

import tableformats as tf

__all__ = ["assert_clean"]


def assert_clean(table: tf.Table | str | os.PathLike[str], *, deep: bool = True, **options: Any) -> None:
    """Raise AssertionError, with all violations, if the table breaks a rule; ``options`` are those of open_table.

    The table is opened again, so that nothing cached is trusted.
    """
    location = table.location if isinstance(table, tf.Table) else table
    if isinstance(table, tf.Table) and not table.storage.is_local and not options:
        options = {"storage_options": table.storage.options}
    found = tf.open_table(location, **options).verify(deep=deep)
    assert not found, "\n".join(f"{one.rule}: {one.what} ({one.path}, version {one.version})" for one in found)
