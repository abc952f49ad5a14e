"""The status that C kernels return, and its one way to become an error."""

cdef extern from "tf_status.h" nogil:
    ctypedef enum tf_status:
        TF_OK
        TF_NO_MEMORY
    const char *tf_status_message(tf_status status)


cdef inline int raise_for_status(tf_status status, size_t offset) except -1 nogil:
    """Raises what the status says, taking the GIL only then.

    Raises
    ------
    MemoryError : a C kernel could not allocate
    CorruptMetadataError : anything else; ``offset`` is a byte of the data that the kernel was given
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
