"""How work is run: threads, what survives a fork, pickling, and the memory allocator."""
