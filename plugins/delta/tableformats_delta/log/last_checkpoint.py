"""The file ``_last_checkpoint``: its checksum, and whether it agrees with the log.

This plugin lists the log and does not need the hint. Other readers do, and a wrong hint slows them down or points at
other damage, so the metadata table ``log`` reviews it. Source: Delta PROTOCOL.md, "Last Checkpoint File Schema", "JSON
checksum".
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

from tableformats.plugin import DEFAULT_LIMITS, Limits

from .listing import LogListing, read_log_file
from .names import LAST_CHECKPOINT

if TYPE_CHECKING:
    from tableformats.plugin import Storage

__all__ = ["canonical_form", "json_checksum", "review_hint"]


class CostlyHintError(ValueError):
    """The canonical form repeats the keys of the hint so often that it takes more memory than the limits allow."""


def canonical_form(text: str, limits: Limits = DEFAULT_LIMITS) -> str:
    """The canonical form of a JSON object without its top-level key ``checksum``.

    Raises
    ------
    ValueError
        ``text`` is no JSON object, has a duplicate key or is nested too deeply.
    CostlyHintError
        The form has more bytes than the limit ``expansion`` allows.

    Notes
    -----
    Cost: O(n log n) in the number of bytes of the form, in which each value repeats the path that leads to it.
    """
    try:
        content = json.loads(
            text, parse_int=_Number, parse_float=_Number, parse_constant=_refuse, object_pairs_hook=_unique
        )
        if not isinstance(content, dict):
            raise ValueError("no JSON object")
        content.pop("checksum", None)
        leaves, left = [], limits.budget(len(text))
        for path, value in _leaves(content, ""):
            left -= _LEAF_BYTES + 4 * len(path) + 3 * len(value)
            if left < 0:
                raise CostlyHintError("the keys of the JSON are repeated too often")
            leaves.append((path.encode(), value))
        pairs = sorted(leaves, key=lambda pair: pair[0])
    except RecursionError:
        raise ValueError("JSON that is nested too deeply") from None
    return ",".join(f"{path.decode()}={value}" for path, value in pairs)


def json_checksum(text: str, limits: Limits = DEFAULT_LIMITS) -> str:
    """The MD5 of :func:`canonical_form` as 32 hexadecimal digits. Raises as that does."""
    import hashlib

    return hashlib.md5(canonical_form(text, limits).encode(), usedforsecurity=False).hexdigest()


def review_hint(storage: Storage, listing: LogListing) -> tuple[int | None, str]:
    """The version that the hint names, and a remark on what is wrong with it ("" where nothing is).

    A damaged hint gives a remark, no error.
    """
    try:
        text = read_log_file(storage, f"{listing.directory}/{LAST_CHECKPOINT}").decode()
        expected = json_checksum(text, storage.limits)
        content = json.loads(text)
    except CostlyHintError:
        return None, "its checksum takes too much memory to compute"
    except ValueError:
        return None, "damaged"
    version, checksum = content.get("version"), content.get("checksum")
    if not isinstance(version, int) or isinstance(version, bool) or version not in range(2**63):
        return None, "names no version"
    if checksum is not None and checksum != expected:
        return version, "its checksum is wrong"
    if version not in listing.checkpoints:
        return version, "names a version that has no complete checkpoint"
    newest = max(listing.checkpoints)
    return version, f"stale: the newest checkpoint is of version {newest}" if version < newest else ""


_LEAF_BYTES = 400
"""What a value takes beside the characters of its path, as the pieces of the form, which are sorted."""


class _Number(str):
    """The spelling of a number, which is its canonical form."""


def _leaves(value: Any, path: str) -> Iterator[tuple[str, str]]:
    """Canonical path and canonical value of every scalar in ``value``."""
    if isinstance(value, (dict, list)):
        members = value.items() if isinstance(value, dict) else enumerate(value)
        for key, member in members:
            step = str(key) if isinstance(key, int) else _quoted(key)
            yield from _leaves(member, f"{path}+{step}" if path else step)
    elif isinstance(value, _Number):
        yield path, str(value)
    elif isinstance(value, str):
        yield path, _quoted(value)
    else:
        yield path, json.dumps(value)


def _quoted(text: str) -> str:
    from urllib.parse import quote

    return '"' + quote(text, safe="") + '"'


def _unique(pairs: Sequence[tuple[str, Any]]) -> dict[str, Any]:
    content = dict(pairs)
    if len(content) != len(pairs):
        raise ValueError("a key stands twice")
    return content


def _refuse(name: str) -> Any:
    raise ValueError(f"{name} is no JSON")
