"""Every test of a kernel runs over both twins: the readable one and the compiled one."""

from __future__ import annotations

import importlib
from importlib.machinery import EXTENSION_SUFFIXES
from types import ModuleType

import pytest

from tableformats._core import reference


def twins(name: str) -> list[object]:
    """The parameters of a fixture: the reference, and the compiled module ``name`` (which must be compiled)."""
    module = importlib.import_module(f"tableformats._core.{name}")
    assert str(module.__file__).endswith(tuple(EXTENSION_SUFFIXES)), f"{module.__file__} is not compiled"
    return [pytest.param(reference, id="reference"), pytest.param(module, id="compiled")]


@pytest.fixture(scope="session", params=twins("pruning"))
def pruning(request: pytest.FixtureRequest) -> ModuleType:
    return request.param


@pytest.fixture(scope="session", params=twins("filekeys"))
def filekeys(request: pytest.FixtureRequest) -> ModuleType:
    return request.param


@pytest.fixture(scope="session", params=twins("bitmap"))
def bitmap(request: pytest.FixtureRequest) -> ModuleType:
    return request.param


@pytest.fixture(scope="session", params=twins("paths"))
def paths(request: pytest.FixtureRequest) -> ModuleType:
    return request.param


@pytest.fixture(scope="session", params=twins("rows"))
def rows(request: pytest.FixtureRequest) -> ModuleType:
    return request.param


@pytest.fixture(scope="session", params=twins("key_filter"))
def key_filter(request: pytest.FixtureRequest) -> ModuleType:
    return request.param


@pytest.fixture(scope="session", params=twins("coded_texts"))
def coded_texts(request: pytest.FixtureRequest) -> ModuleType:
    return request.param
