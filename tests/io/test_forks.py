"""Forked processes and stores: an error at once, where obstore would wait for ever for threads of the parent."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pyarrow as pa
import pytest

import tableformats as tf
from tests.support.s3_stub import S3Stub

PROGRAM = """
import os, signal, sys
import tableformats as tf

location, options, is_used = "s3://bucket/t", eval(sys.argv[1]), sys.argv[2] == "used"
table = tf.open_table(location, storage_options=options) if is_used else None
if os.fork() == 0:
    signal.alarm(20)
    calls = [lambda: tf.open_table(location, storage_options=options).plan()]
    if is_used:
        calls += [lambda: table.refresh().plan(), lambda: table.append({"v": [1]})]
    for call in calls:
        try:
            print(len(call()))
        except tf.UnsupportedFeatureError as error:
            print(error.field, error)
    sys.stdout.flush()
    os._exit(0)
print("child:", os.wait()[1])
"""


@pytest.mark.skipif(not hasattr(sys, "getdlopenflags"), reason="this system has no fork")
@pytest.mark.parametrize("is_used", [False, True])
def test_a_child_reads_stores_unless_its_parent_did(is_used: bool) -> None:
    root = str(Path(__file__).parents[2])
    with S3Stub() as stub:
        tf.write_table(pa.table({"v": [1]}), "s3://bucket/t", format="delta", storage_options=stub.options)
        command = [sys.executable, "-c", PROGRAM, repr(stub.options), "used" if is_used else "unused"]
        done = subprocess.run(command, capture_output=True, text=True, timeout=60, cwd=root)
    *told, child = done.stdout.splitlines()
    assert child == "child: 0", done.stderr
    if is_used:
        assert len(told) == 3 and all(line.startswith("fork a forked process cannot read a store") for line in told)
        assert "'spawn' or 'forkserver'" in told[0] and "s3://bucket" in told[0]
    else:
        assert told == ["1"]
