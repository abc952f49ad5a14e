"""Row-level changes between two versions of a table.

This room reads the commits of a range of versions and says which rows of which files each version inserted, updated or
deleted. It promises that every change is given as a row of the newest schema, or refused with the name of the column.
Data flows from commits, and from snapshots where commits alone do not say enough, to batches of files with deletion
vectors that select the changed rows. Only the table stands above this room.
"""
