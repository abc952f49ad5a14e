"""Libraries that are not installed with this one: imported where they are used, and refused in one sentence."""

from __future__ import annotations

from importlib import import_module
from typing import Any

from ..errors import MissingExtraError

__all__ = ["required"]


def required(module: str, user: str, install: str) -> Any:
    """The module ``module``, which ``user`` needs.

    Raises
    ------
    MissingExtraError
        It is not installed, or cannot be imported. The message says what to install.
    """
    try:
        return import_module(module)
    except ImportError as error:
        reason = "is not installed" if error.name == module else f"cannot be imported ({error})"
        message = f"{user} needs {module}, which {reason}: pip install {install}"
        raise MissingExtraError(message, name=module) from error
