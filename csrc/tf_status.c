#include "tf_status.h"

const char *tf_status_message(tf_status status)
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
