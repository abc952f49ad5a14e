"""Import paths of earlier releases: an import of one says where its names are now."""

from __future__ import annotations

import importlib
import re

import pytest

from tableformats.moved import MOVED


@pytest.mark.parametrize("old", MOVED)
def test_an_old_path_names_the_new_one(old: str) -> None:
    with pytest.raises(ModuleNotFoundError, match=re.escape(f"{old} was moved: import its names from {MOVED[old]}")):
        importlib.import_module(old)
    importlib.import_module(MOVED[old])


def test_what_never_was_is_not_found_as_ever() -> None:
    with pytest.raises(ModuleNotFoundError, match=r"No module named 'tableformats\.nothing'"):
        importlib.import_module("tableformats.nothing")
