/* The status that the readers and structures of this folder return. A reader that fails also gives the position of the
 * error. A status other than TF_OK and TF_END becomes a Python error in tableformats/_core/status.pxd. */
#ifndef TF_STATUS_H
#define TF_STATUS_H

typedef enum tf_status {
    TF_OK = 0,
    TF_END,       /* a reader has no more items; not an error */
    TF_NO_MEMORY, /* malloc failed; the structure is unchanged */
    TF_CHANGED,   /* the bytes changed between two passes over them */
    TF_TRUNCATED,
    TF_TRAILING_BYTES,
    TF_BUCKET_COUNT,
    TF_BUCKET_KEY,
    TF_BUCKET_ORDER,
    TF_COOKIE,
    TF_CONTAINER_COUNT,
    TF_CONTAINER_ORDER,
    TF_CONTAINER_OFFSET,
    TF_ARRAY_ORDER,
    TF_RUN_COUNT,
    TF_RUN_ORDER,
    TF_RUN_OVERFLOW,
    TF_CARDINALITY
} tf_status;

/* The message of the error: one sentence without a full stop. */
static inline const char *tf_status_message(tf_status status)
{
    switch (status) {
    case TF_OK: return "no error";
    case TF_END: return "nothing more to read";
    case TF_NO_MEMORY: return "out of memory";
    case TF_CHANGED: return "the bytes changed while they were read";
    case TF_TRUNCATED: return "the bytes end before the bitmap does";
    case TF_TRAILING_BYTES: return "bytes follow the end of the bitmap";
    case TF_BUCKET_COUNT: return "the bitmap counts more 32-bit bitmaps than its bytes can hold";
    case TF_BUCKET_KEY: return "a 32-bit bitmap has a negative key: its positions exceed 63 bits";
    case TF_BUCKET_ORDER: return "the keys of the 32-bit bitmaps are not strictly ascending";
    case TF_COOKIE: return "a 32-bit bitmap begins with no cookie of the roaring format";
    case TF_CONTAINER_COUNT: return "a 32-bit bitmap counts more than 65536 containers";
    case TF_CONTAINER_ORDER: return "the keys of the containers are not strictly ascending";
    case TF_CONTAINER_OFFSET: return "a container is not where the offset header says";
    case TF_ARRAY_ORDER: return "the values of an array container are not strictly ascending";
    case TF_RUN_COUNT: return "a run container has no runs";
    case TF_RUN_ORDER: return "the runs of a container overlap or descend";
    case TF_RUN_OVERFLOW: return "a run leaves its container";
    case TF_CARDINALITY: return "a container does not hold as many values as its header says";
    }
    return "unknown status";
}

#endif
