"""The verifier as an assertion: what our writers leave behind breaks no rule of the format's specification."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import tableformats as tf
from tableformats.plugin import Violation

__all__ = ["assert_clean", "told"]

_CHANGING = re.compile(r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}|\d{3,}")
"""Random names, and sizes and times."""


def assert_clean(table: tf.Table | str | os.PathLike[str], *, deep: bool = True, **options: Any) -> None:
    """Raise AssertionError, with all violations, if the table breaks a rule; ``options`` are those of open_table.

    The table is opened again, so that nothing cached is trusted.
    """
    location = table.location if isinstance(table, tf.Table) else table
    if isinstance(table, tf.Table) and not table.storage.is_local and not options:
        options = {"storage_options": table.storage.options}
    found = tf.open_table(location, **options).verify(deep=deep)
    assert not found, "\n".join(f"{one.rule}: {one.what} ({one.path}, version {one.version})" for one in found)


def told(found: Iterable[Violation], root: Path, names: Mapping[int, str] = {}) -> list[str]:
    """Violations in words that are the same for each table that is made in one way; ``names`` are those of versions."""
    texts = []
    for one in found:
        text = f"{one.rule}: {one.what} ({one.path}, version {one.version})"
        text = text.replace(f"{root}/", "").replace(str(root), "")
        for number, name in names.items():
            text = text.replace(str(number), name)
        texts.append(_CHANGING.sub("#", text))
    return sorted(texts)
