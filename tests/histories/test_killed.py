"""Writers that are killed at a change of the disk or a request: ``python -m tests.histories killed`` tries all."""

from __future__ import annotations

import os

import pytest

from .killing import killed_locally, killed_on_s3

pytestmark = pytest.mark.skipif(os.name == "nt" or not os.path.isdir("/proc/self/fd"), reason="needs SIGKILL and /proc")
CASES = [("delta", "append", n) for n in (9, 14)] + [("iceberg", "overwrite where", n) for n in (10, 16)]


@pytest.mark.parametrize(("format", "name", "number"), CASES)
def test_a_writer_on_a_disk_is_killed(format: str, name: str, number: int) -> None:
    was_killed, found, _ = killed_locally(format, name, number, torn=number % 2 == 0)
    assert was_killed and found == []


@pytest.mark.parametrize(("format", "number"), [("delta", 14), ("iceberg", 17)])
def test_a_writer_on_s3_is_killed(format: str, number: int) -> None:
    was_killed, found, _ = killed_on_s3(format, "append", number)
    assert was_killed and found == []


def test_a_writer_that_is_not_killed_goes_on() -> None:
    assert killed_locally("delta", "delete", 10**6) == (False, [], 0)
