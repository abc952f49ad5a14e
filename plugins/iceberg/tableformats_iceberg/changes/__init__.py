"""What changed between snapshots: appended files, and the rows of files that were inserted or deleted.

The input is a range of snapshots; the output is batches of files with the deletes that select or remove their rows.
Row values are read by the core. This package stands on the snapshot; the table calls it.
"""
