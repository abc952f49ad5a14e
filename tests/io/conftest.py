"""Stores that several modules of this folder use."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.support.services import Store, running_azurite


@pytest.fixture(scope="session")
def azurite(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Store]:
    with running_azurite(tmp_path_factory.mktemp("azurite")) as found:
        yield found
