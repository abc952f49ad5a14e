"""What is written of a table: updates of its metadata, and the requirements under which they may be made."""
