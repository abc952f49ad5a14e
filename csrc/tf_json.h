/* A bounded JSON parser that finds the values of wanted members as spans of the text, without building a document.
 *
 * A text is read and checked to its end, because a later member may change the meaning of an earlier one (Delta's
 * tightBounds comes last), and because a truncated or damaged text proves nothing. The checks are the grammar of RFC
 * 8259, UTF-8 within strings, the nesting, and the length of numbers. NaN, Infinity and -Infinity are accepted as
 * numbers, because many writers write them. If a wanted member occurs twice in one object the text is ambiguous (RFC
 * 8259, section 4: "unpredictable") and is treated as malformed. Other members may repeat.
 *
 * No I/O, no Python, no allocation. It recurses into wanted objects only, at most TF_JSON_DEPTH deep.
 */
#ifndef TF_JSON_H
#define TF_JSON_H

#include <stddef.h>
#include <stdint.h>

#include "tf_json_span.h"

enum {
    TF_JSON_DEPTH = 128,   /* the most levels of nested objects and arrays */
    TF_JSON_NUMBER = 1024, /* the most bytes of a number */
    TF_JSON_SHAPE = 512    /* names of one text that are remembered, to find them at the same place in the next */
};

/* A wanted member. Members form a tree: number 0 is the text itself, and the children of a member are consecutive. */
typedef struct {
    const uint8_t *name; /* UTF-8, without escapes */
    size_t size;
    int32_t first, count; /* its children; none is found if its value is no object */
    int32_t column;       /* the column of its own value; -1: not wanted */
} tf_json_member;

/* A name as the previous text spelled it, and which child of `parent` it is (-1: none). */
typedef struct {
    const uint8_t *name;
    size_t size;
    int32_t parent, member;
} tf_json_expected;

typedef struct {
    const tf_json_member *members;
    const uint8_t *base; /* spans count from here; at most 2 GiB before any end */
    int64_t *spans;      /* OUT: spans[column * rows + row] */
    uint8_t *kinds;      /* OUT: likewise; tf_json_kind, to be all TF_JSON_ABSENT before */
    int64_t rows;
    int32_t column_count;
    int64_t *seen; /* one per member, all -1 before the first text */
    size_t ordinal;
    tf_json_expected expected[TF_JSON_SHAPE]; /* zeroed before the first text; it points into the texts */
} tf_json_reader;

/* Read the text [cur, end) into row `row`. Returns 1; or 0, with the whole row TF_JSON_ABSENT, if the text is no JSON
 * object, or malformed, or ambiguous. Every call needs another row. */
int tf_json_read(tf_json_reader *reader, const uint8_t *cur, const uint8_t *end, int64_t row);

/* The entries of the object that tf_json_read found at `span`; other values have none. Names go to spans[0...] and
 * kinds[0...], values to spans[stride...] and kinds[stride...], for the first `capacity` entries. Returns the number of
 * all entries. */
int64_t tf_json_entries(const uint8_t *base, int64_t span, int64_t *spans, uint8_t *kinds, int64_t stride,
                        int64_t capacity);

/* The end of the value that starts at cur, and its kind; NULL if it is malformed. `depth`: the levels around it. */
const uint8_t *tf_json_value(const uint8_t *cur, const uint8_t *end, int depth, tf_json_kind *kind);

/* The first byte of [cur, end) that is no white space; otherwise end. */
const uint8_t *tf_json_space(const uint8_t *cur, const uint8_t *end);

#endif
