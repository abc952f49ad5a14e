/* A bounded reader of JSON texts: the values of wanted members as spans of the text, without building a document.
 *
 * A text is read to its end and checked whole, because a later member may change what an earlier one means (Delta's
 * tightBounds stands last), and because a text that is cut off or damaged says nothing. Checked are the grammar of RFC
 * 8259, UTF-8 within strings, the nesting and the length of numbers; NaN, Infinity and -Infinity are numbers, as many
 * writers spell them. A wanted member that stands twice in one object makes the text ambiguous (RFC 8259, section 4:
 * "unpredictable"), which is as good as malformed. Members that nobody wants may repeat.
 *
 * No I/O, no Python, no allocation; no recursion but into wanted objects, at most TF_JSON_DEPTH deep.
 */
#ifndef TF_JSON_H
#define TF_JSON_H

#include <stddef.h>
#include <stdint.h>

enum {
    TF_JSON_DEPTH = 128,   /* objects and arrays within each other at most */
    TF_JSON_NUMBER = 1024, /* bytes of a number at most */
    TF_JSON_SHAPE = 512    /* members of one text whose names are expected where the text before had them */
};

/* What stands in a span. A string's span lies between its quotes. */
typedef enum {
    TF_JSON_ABSENT = 0,
    TF_JSON_NULL,
    TF_JSON_FALSE,
    TF_JSON_TRUE,
    TF_JSON_INTEGER, /* a sign or none, and digits */
    TF_JSON_REAL,    /* any other number */
    TF_JSON_TEXT,    /* a string without escapes */
    TF_JSON_ESCAPED, /* a string with escapes */
    TF_JSON_OBJECT,
    TF_JSON_ARRAY
} tf_json_kind;

/* A span in an int64: where it starts, and its size in bytes. */
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

/* A wanted member. Members stand in a tree: number 0 is the text itself, the children of a member follow each other. */
typedef struct {
    const uint8_t *name; /* UTF-8, as it is meant (without escapes) */
    size_t size;
    int32_t first, count; /* its children, of which nothing is found where its value is no object */
    int32_t column;       /* where its own value goes; -1: nobody wants it */
} tf_json_member;

/* A name as it was spelled where the text before had it, and the member that it is of `parent` (-1: none). */
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
    int64_t *seen; /* one a member, all -1 before the first text */
    size_t ordinal;
    tf_json_expected expected[TF_JSON_SHAPE]; /* all zero before the first text; must not outlive the texts */
} tf_json_reader;

/* Read the text [cur, end) into row `row`. 1, or 0 with the row all TF_JSON_ABSENT: the text is no JSON object, or
 * malformed, or ambiguous. Rows must differ from call to call. */
int tf_json_read(tf_json_reader *reader, const uint8_t *cur, const uint8_t *end, int64_t row);

/* The entries of the object that tf_json_read found at `span`, of anything else none: names to spans[0...] and
 * kinds[0...], values to spans[stride...] and kinds[stride...], of the first `capacity` ones. Returns how many there
 * are. */
int64_t tf_json_entries(const uint8_t *base, int64_t span, int64_t *spans, uint8_t *kinds, int64_t stride,
                        int64_t capacity);

/* The end of the value that starts at cur, and what it is; NULL where it is malformed. `depth`: what it stands in. */
const uint8_t *tf_json_value(const uint8_t *cur, const uint8_t *end, int depth, tf_json_kind *kind);

/* The first byte of [cur, end) that is no white space, or end. */
const uint8_t *tf_json_space(const uint8_t *cur, const uint8_t *end);

#endif
