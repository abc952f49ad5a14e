"""The status that C kernels return, and the error for it."""

cdef extern from "tf_status.h" nogil:
    ctypedef enum tf_status:
        TF_OK
        TF_NO_MEMORY
    const char *tf_status_message(tf_status status)


cdef inline int raise_for_status(tf_status status, size_t offset) except -1 nogil:
    """Raise the error of a status. The GIL is acquired only then.

    Raises
    ------
    MemoryError
        A C kernel could not allocate memory.
    CorruptMetadataError
        Any other status. ``offset`` is a position in the data that the kernel was given.
    """
    if status == TF_OK:
        return 0
    with gil:
        if status == TF_NO_MEMORY:
            raise MemoryError()
        from tableformats.errors import CorruptMetadataError

        raise CorruptMetadataError(
            tf_status_message(status).decode(),
            offset=offset,
            hint="The bytes are damaged or cut off: fetch the file again, or read an older version of the table",
        )
