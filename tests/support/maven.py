"""JARs that Maven fetches for tests, kept in a cache between runs."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Sequence
from pathlib import Path

__all__ = ["Unavailable", "dependency", "jars"]

CACHE = Path(os.environ.get("TABLEFORMATS_COMPARE", Path.home() / ".cache" / "tableformats-compare"))
_TIME_LIMIT_S = 300


class Unavailable(RuntimeError):
    """What a test needs cannot be had here; the message says why."""


def dependency(group: str, name: str, version: str, *without: str, classifier: str = "") -> str:
    """The XML of a dependency. ``without``: excluded from what it needs, as ``group:name`` or ``group:*``."""
    exclusions = "".join(
        f"<exclusion><groupId>{one.partition(':')[0]}</groupId><artifactId>{one.partition(':')[2]}</artifactId></exclusion>"
        for one in without
    )
    return (
        f"<dependency><groupId>{group}</groupId><artifactId>{name}</artifactId><version>{version}</version>"
        + (f"<classifier>{classifier}</classifier>" if classifier else "")
        + (f"<exclusions>{exclusions}</exclusions>" if exclusions else "")
        + "</dependency>"
    )


def jars(name: str, version: str, dependencies: Sequence[str]) -> list[Path]:
    """The JARs of ``dependencies`` and of what they need, in the cache under ``name`` and ``version``.

    Raises Unavailable.
    """
    folder = CACHE / name / version
    if not folder.exists():
        _fetch(name, folder, dependencies)
    return sorted(folder.glob("*.jar"))


def _fetch(name: str, folder: Path, dependencies: Sequence[str]) -> None:
    if shutil.which("mvn") is None:
        raise Unavailable(f"no Maven on the path to fetch {name}")
    partial = folder.with_name(f"{folder.name}.partial")
    partial.mkdir(parents=True, exist_ok=True)
    (partial / "pom.xml").write_text(
        "<project><modelVersion>4.0.0</modelVersion><groupId>x</groupId><artifactId>x</artifactId><version>1</version>"
        f"<dependencies>{''.join(dependencies)}</dependencies></project>"
    )
    command = ["mvn", "-q", "-B", "-f", str(partial / "pom.xml"), "dependency:copy-dependencies"]
    try:
        done = subprocess.run(
            [*command, f"-DoutputDirectory={partial}"],
            capture_output=True,
            text=True,
            timeout=_TIME_LIMIT_S,
            check=False,
        )
    except subprocess.TimeoutExpired:
        raise Unavailable(f"Maven did not fetch {name} within five minutes") from None
    if done.returncode:
        raise Unavailable(f"Maven cannot fetch {name}")
    partial.rename(folder)
