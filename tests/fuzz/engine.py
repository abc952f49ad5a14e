"""Runs one Python target under Atheris: ``python -m tests.fuzz.engine TARGET [libFuzzer options]``.

Atheris is libFuzzer with coverage of Python's bytecode. It needs a process of its own: our modules are instrumented
as they are imported, and the process ends with the run.
"""

from __future__ import annotations

import sys
import traceback

INSTRUMENTED = ["tableformats", "tableformats_delta", "tableformats_iceberg"]


def main(name: str, *options: str) -> None:
    import atheris

    with atheris.instrument_imports(include=INSTRUMENTED):
        from tests.fuzz.targets import TARGETS, run, warm

        target = TARGETS[name]
        warm(target)

    def once(data: bytes) -> None:
        try:
            run(target, data)
        except Exception:
            traceback.print_exc()
            raise

    def mutate(data: bytes, max_size: int, seed: int) -> bytes:
        if target.mutate is None or seed % 3 == 0:
            return bytes(atheris.Mutate(data, max_size))
        return target.mutate(data, lambda piece: bytes(atheris.Mutate(piece, max_size)))[:max_size]

    atheris.Setup([sys.argv[0], *options], once, custom_mutator=None if target.mutate is None else mutate)
    atheris.Fuzz()


if __name__ == "__main__":
    main(*sys.argv[1:])
