/* The spans in which tf_json finds the values of a JSON text, and the kinds of these values.
 *
 * The reader (tf_json.h) writes them, the conversion of columns (tf_json_values.h) reads them.
 */
#ifndef TF_JSON_SPAN_H
#define TF_JSON_SPAN_H

#include <stddef.h>
#include <stdint.h>

/* The kind of value in a span. The span of a string excludes its quotes. */
typedef enum {
    TF_JSON_ABSENT = 0,
    TF_JSON_NULL,
    TF_JSON_FALSE,
    TF_JSON_TRUE,
    TF_JSON_INTEGER, /* digits, with or without a minus sign */
    TF_JSON_REAL,    /* any other number */
    TF_JSON_TEXT,    /* a string without escapes */
    TF_JSON_ESCAPED, /* a string with escapes */
    TF_JSON_OBJECT,
    TF_JSON_ARRAY
} tf_json_kind;

/* A span is an int64: its start in the upper, its size in bytes in the lower 32 bits. */
static inline int64_t tf_span(size_t start, size_t size)
{
    return (int64_t)((uint64_t)start << 32 | (uint64_t)size);
}

static inline size_t tf_span_start(int64_t span)
{
    return (size_t)((uint64_t)span >> 32);
}

static inline size_t tf_span_size(int64_t span)
{
    return (size_t)((uint64_t)span & 0xffffffffu);
}

#endif
