"""The fuzz targets of the C kernels, one ``.c`` file each: built with a sanitizer, fuzzed by libFuzzer or replayed.

:func:`build_fuzzer` needs clang with its libFuzzer; :func:`build_replays` makes do with the C compiler that built the
extensions, and with its sanitizers where it has them.
"""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

__all__ = ["DICTIONARIES", "HERE", "KERNELS", "build_fuzzer", "build_replays", "compiler"]

HERE = Path(__file__).parent
CSRC = HERE.parents[2] / "csrc"
KERNELS = tuple(sorted(path.stem for path in HERE.glob("*.c") if path.stem != "replay"))
"""The targets' names."""
DICTIONARIES = {
    "avro": "avro.dict",
    "avro_blocks": "avro.dict",
    "json_texts": "json.dict",
    "json_values": "json.dict",
    "roaring": "roaring.dict",
}

_SANITIZERS = "-fsanitize=address,undefined"
_FLAGS = ["-std=c11", "-Wall", "-g", "-fno-omit-frame-pointer", f"-I{CSRC}"]


def compiler(*names: str) -> str | None:
    """The first of the commands that there is; ``CC`` goes before them."""
    for name in (os.environ.get("CC", "").partition(" ")[0], *names):
        if name and shutil.which(name):
            return name
    return None


def build_fuzzer(target: str, folder: Path) -> Path:
    """The target linked with libFuzzer, AddressSanitizer and UndefinedBehaviorSanitizer, in ``folder``.

    Raises
    ------
    RuntimeError : there is no clang, or it has no libFuzzer
    """
    clang = os.environ.get("CLANG") or compiler("clang", *(f"clang-{version}" for version in range(30, 10, -1)))
    if clang is None or "clang" not in clang:
        raise RuntimeError("libFuzzer comes with clang: install clang and its runtime (on Debian libclang-rt-dev)")
    folder.mkdir(parents=True, exist_ok=True)
    sanitizers = ["-fsanitize=fuzzer,address,undefined", "-fno-sanitize-recover=undefined"]
    _run(clang, [*_FLAGS, "-O1", *sanitizers, str(HERE / f"{target}.c"), *_kernels(), "-lm", "-o", target], folder)
    return folder / target


def build_replays(folder: Path) -> dict[str, Path] | None:
    """The targets as programs that run over files, in ``folder``; None where there is no C compiler.

    They have the sanitizers where the compiler has them.
    """
    found = compiler("cc", "gcc", "clang")
    if found is None:
        return None
    folder.mkdir(parents=True, exist_ok=True)
    try:
        return _replays(found, [*_FLAGS, "-O0", _SANITIZERS, "-fno-sanitize-recover=undefined"], folder)
    except RuntimeError:
        return _replays(found, [*_FLAGS, "-O0"], folder)


def _replays(command: str, flags: list[str], folder: Path) -> dict[str, Path]:
    _run(command, [*flags, "-c", str(HERE / "replay.c"), *_kernels()], folder)
    objects = [str(path) for path in folder.glob("*.o")]
    for target in KERNELS:
        _run(command, [*flags, str(HERE / f"{target}.c"), *objects, "-lm", "-o", target], folder)
    return {target: folder / target for target in KERNELS}


def _kernels() -> list[str]:
    return [str(path) for path in sorted(CSRC.glob("*.c"))]


def _run(command: str, arguments: list[str], folder: Path) -> None:
    done = subprocess.run([command, *arguments], capture_output=True, text=True, cwd=folder)
    if done.returncode:
        raise RuntimeError(f"{command} failed:\n{done.stderr[-2000:]}")
