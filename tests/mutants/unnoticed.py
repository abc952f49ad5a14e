"""Random mutants that nobody can notice, with the reason: they are no part of the score."""

from __future__ import annotations

EQUIVALENT: dict[str, str] = {}
"""{name of a change: why every answer, error and limit is the same}."""
