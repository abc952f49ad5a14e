"""Planning: from the metadata of a snapshot to the files of a plan."""
