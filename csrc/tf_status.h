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
const char *tf_status_message(tf_status status);

#endif
