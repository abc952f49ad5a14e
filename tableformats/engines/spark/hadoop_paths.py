"""Convert paths of plans to Hadoop's: plans use one scheme per store (s3, gs, abfss), and none for local files."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import pyarrow as pa

__all__ = ["hadoop_authorities", "hadoop_path", "hadoop_paths", "our_path"]

_SCHEMES = {"s3": "s3a"}


def hadoop_paths(paths: pa.Array) -> pa.Array:
    """Paths (string[n]) with Hadoop's schemes. Local paths stay without one; ``FileList.java`` adds it."""
    import pyarrow.compute as pc

    for ours, hadoop in _SCHEMES.items():
        there = pc.starts_with(paths, f"{ours}://")
        if pc.any(there).as_py():
            paths = pc.if_else(there, pc.binary_replace_slice(paths, 0, len(ours), hadoop), paths)
    return paths


def hadoop_path(path: str) -> str:
    """A path with Hadoop's scheme, local paths too, or Hadoop would look for them in its default file system."""
    if path.startswith("/"):
        return f"file:{path}"
    scheme, colon, rest = path.partition("://")
    return _SCHEMES.get(scheme, scheme) + colon + rest


def our_path(path: str) -> str:
    """The inverse of :func:`hadoop_path`, for paths of stores."""
    scheme, colon, rest = path.partition("://")
    return {theirs: ours for ours, theirs in _SCHEMES.items()}.get(scheme, scheme) + colon + rest


def hadoop_authorities(paths: pa.ChunkedArray) -> dict[str, str]:
    """The stores of :func:`hadoop_paths` ("s3a://bucket"), each with its first path; local paths have none."""
    import pyarrow.compute as pc

    found: dict[str, str] = {}
    known = "/"
    while len(paths := paths.filter(pc.invert(pc.starts_with(paths, known)))):
        path = paths[0].as_py()
        authority = "/".join(path.split("/", 3)[:3]) if "://" in path else path.partition("/")[0]
        found[authority] = path
        known = f"{authority}/"
    return found
