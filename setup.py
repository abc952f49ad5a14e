"""Builds the Cython extensions; everything else stands in pyproject.toml.

Every ``.pyx`` below the three packages becomes an extension, linked with the C11 kernels of ``csrc/`` that it
names. ``TF_DEBUG=1`` builds with bounds checks, assertions and little optimisation; the same tests run on both.
``TF_TRACE=1`` builds for line coverage (``python -m tests.coverage``), with the generated C beside its source.
Generated C goes to ``build/`` and never into the tree.
"""

import os
import sys
from pathlib import Path

from Cython.Build import cythonize
from setuptools import Extension, setup

TRACE = os.environ.get("TF_TRACE", "0") not in ("", "0")
DEBUG = os.environ.get("TF_DEBUG", "0") not in ("", "0")
PACKAGES = {
    "tableformats": "tableformats",
    "tableformats_delta": "plugins/delta/tableformats_delta",
    "tableformats_iceberg": "plugins/iceberg/tableformats_iceberg",
}
# The C files that an extension links; an extension that is not named here is Cython alone. No file stands twice:
# extensions are compiled at the same time, and would write one object file.
C_SOURCES: dict[str, list[str]] = {
    "tableformats._core.bitmap": ["csrc/tf_roaring.c"],
    "tableformats._core.filekeys": ["csrc/tf_keyset.c"],
    "tableformats_delta.json._json": ["csrc/tf_json.c", "csrc/tf_json_values.c"],
    "tableformats_iceberg.avro._avro": [
        "csrc/tf_avro.c",
        "csrc/tf_avro_blocks.c",
        "csrc/tf_avro_record.c",
        "csrc/tf_columns.c",
    ],
}

if sys.platform == "win32":
    COMPILE_ARGS = ["/Od", "/Zi"] if DEBUG else ["/O2"]
else:
    COMPILE_ARGS = ["-std=c11", "-Wall", "-Werror=incompatible-pointer-types", "-Wno-unused-function"]
    # What others may put their own in place of is called through a table, and never inlined.
    COMPILE_ARGS += ["-fvisibility=hidden"]
    COMPILE_ARGS += ["-O1", "-g", "-UNDEBUG"] if DEBUG or TRACE else ["-O3"]

DIRECTIVES = {
    "language_level": 3,
    "boundscheck": DEBUG,
    "wraparound": False,
    "initializedcheck": DEBUG,
    "cdivision": True,
    "embedsignature": True,
    "freethreading_compatible": True,
    "linetrace": TRACE,
}


def extensions() -> list[Extension]:
    found = []
    for package, folder in PACKAGES.items():
        for source in sorted(Path(folder).rglob("*.pyx")):
            parts = source.relative_to(folder).with_suffix("").parts
            name = ".".join((package, *parts))
            found.append(
                Extension(
                    name,
                    [source.as_posix(), *C_SOURCES.get(name, [])],
                    include_dirs=["csrc"],
                    depends=[path.as_posix() for path in sorted(Path("csrc").glob("*.h"))],
                    extra_compile_args=COMPILE_ARGS,
                    define_macros=[("CYTHON_TRACE", "1"), ("CYTHON_TRACE_NOGIL", "1")] if TRACE else [],
                )
            )
    # The longest compilations begin first, so that none of them runs alone at the end.
    return sorted(found, key=lambda one: -sum(Path(source).stat().st_size for source in one.sources))


def packages() -> list[str]:
    names = []
    for package, folder in PACKAGES.items():
        for init in sorted(Path(folder).rglob("__init__.py")):
            names.append(".".join((package, *init.parent.relative_to(folder).parts)))
    return names


setup(
    packages=packages(),
    py_modules=["pyspark_tableformats"],
    package_dir=PACKAGES,
    package_data={"*": ["py.typed", "*.pyi", "*.pyx", "*.pxd", "*.java", "schemas/*.json"]},
    options={"build_ext": {"parallel": os.cpu_count() or 1}},
    ext_modules=cythonize(
        extensions(),
        build_dir=None if TRACE else "build/cython",
        compiler_directives=DIRECTIVES,
        include_path=["."],
        annotate=bool(os.environ.get("TF_ANNOTATE")),
    ),
)
