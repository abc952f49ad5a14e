#include "tf_json.h"

#include <string.h>

#include "tf_bytes.h"
#include "tf_json_values.h"

#define ONES 0x0101010101010101u
#define HIGH 0x8080808080808080u

static inline const uint8_t *space(const uint8_t *cur, const uint8_t *end)
{
    while (cur < end && *cur <= ' ' && (*cur == ' ' || *cur == '\n' || *cur == '\r' || *cur == '\t'))
        cur++;
    return cur;
}

const uint8_t *tf_json_space(const uint8_t *cur, const uint8_t *end)
{
    return space(cur, end);
}

/* memcmp without a call, for the few bytes of a name. */
static inline int same(const uint8_t *a, const uint8_t *b, size_t size)
{
    for (; size >= 8; a += 8, b += 8, size -= 8)
        if (tf_load64(a) != tf_load64(b))
            return 0;
    for (; size; a++, b++, size--)
        if (*a != *b)
            return 0;
    return 1;
}

/* The end of the UTF-8 sequence at cur, whose first byte is not ASCII; NULL if it is invalid (RFC 3629). */
static const uint8_t *utf8(const uint8_t *cur, const uint8_t *end)
{
    uint8_t lead = *cur, least = 0x80, most = 0xbf;
    ptrdiff_t size;
    if (lead < 0xc2 || lead > 0xf4)
        return NULL;
    size = lead < 0xe0 ? 2 : lead < 0xf0 ? 3 : 4;
    if (end - cur < size)
        return NULL;
    if (lead == 0xe0)
        least = 0xa0; /* overlong */
    else if (lead == 0xed)
        most = 0x9f; /* surrogates */
    else if (lead == 0xf0)
        least = 0x90; /* overlong */
    else if (lead == 0xf4)
        most = 0x8f; /* above U+10FFFF */
    if (cur[1] < least || cur[1] > most)
        return NULL;
    for (ptrdiff_t i = 2; i < size; i++)
        if ((cur[i] & 0xc0) != 0x80)
            return NULL;
    return cur + size;
}

/* Skip eight bytes at a time without a quote, backslash, control character or byte of a multi-byte character. */
static inline const uint8_t *plain(const uint8_t *cur, const uint8_t *end)
{
    while (end - cur >= 8) {
        uint64_t word = tf_load64(cur);
        uint64_t quote = word ^ ONES * '"', escape = word ^ ONES * '\\';
        /* A borrow reaches only bytes after one that is marked correctly, and only the first mark counts. */
        uint64_t marks =
            ((quote - ONES) & ~quote) | ((escape - ONES) & ~escape) | ((word - ONES * 0x20) & ~word) | word;
        marks &= HIGH;
        if (marks)
            return cur + (tf_trailing_zeros(marks) >> 3);
        cur += 8;
    }
    while (cur < end && *cur >= 0x20 && *cur < 0x80 && *cur != '"' && *cur != '\\')
        cur++;
    return cur;
}

/* Within a string: skip 64 bytes at a time that have no special character but escaped quotes, as in JSON in JSON. */
static const uint8_t *quoted(const uint8_t *cur, const uint8_t *end)
{
    while (end - cur >= 64) {
        uint64_t escapes = tf_equal_bits64(cur, '\\'), quotes = tf_equal_bits64(cur, '"');
        /* The first counts: an escape of another character, or at the end of the bytes; a quote without escape. */
        uint64_t stops = tf_unprinted_bits64(cur) | (escapes & ~(quotes >> 1)) | (quotes & ~(escapes << 1));
        if (stops)
            return cur + tf_trailing_zeros(stops);
        cur += 64;
    }
    return cur;
}

/* cur is after the opening quote. Returns the position after the closing quote, or NULL. */
static const uint8_t *string_end(const uint8_t *cur, const uint8_t *end, int *escaped)
{
    unsigned code;
    *escaped = 0;
    for (;;) {
        cur = plain(cur, end);
        if (cur == end || *cur < 0x20)
            return NULL;
        if (*cur == '"')
            return cur + 1;
        if (*cur != '\\') {
            if (!(cur = utf8(cur, end)))
                return NULL;
            continue;
        }
        *escaped = 1;
        if (end - cur < 2)
            return NULL;
        switch (cur[1]) {
        case '"': cur = quoted(cur + 2, end); break;
        case '\\':
        case '/':
        case 'b':
        case 'f':
        case 'n':
        case 'r':
        case 't': cur += 2; break;
        case 'u':
            if (end - cur < 6 || !tf_json_hex(cur + 2, &code))
                return NULL;
            cur += 6;
            break;
        default: return NULL;
        }
    }
}

static const uint8_t *digits(const uint8_t *cur, const uint8_t *end)
{
    while (cur < end && tf_json_is_digit(*cur))
        cur++;
    return cur;
}

static const uint8_t *word_end(const uint8_t *cur, const uint8_t *end, const char *word, ptrdiff_t size)
{
    return end - cur >= size && memcmp(cur, word, (size_t)size) == 0 ? cur + size : NULL;
}

static const uint8_t *number_end(const uint8_t *cur, const uint8_t *end, tf_json_kind *kind)
{
    const uint8_t *start = cur, *after;
    *kind = TF_JSON_INTEGER;
    if (*cur == '-' && ++cur == end)
        return NULL;
    if (*cur == 'I') {
        *kind = TF_JSON_REAL;
        return word_end(cur, end, "Infinity", 8);
    }
    after = *cur == '0' ? cur + 1 : digits(cur, end);
    if (after == cur)
        return NULL;
    cur = after;
    if (cur < end && *cur == '.') {
        *kind = TF_JSON_REAL;
        after = digits(++cur, end);
        if (after == cur)
            return NULL;
        cur = after;
    }
    if (cur < end && (*cur | 0x20) == 'e') {
        *kind = TF_JSON_REAL;
        if (++cur < end && (*cur == '+' || *cur == '-'))
            cur++;
        after = digits(cur, end);
        if (after == cur)
            return NULL;
        cur = after;
    }
    return cur - start > TF_JSON_NUMBER ? NULL : cur;
}

/* A value other than an object or an array. */
static inline const uint8_t *scalar_end(const uint8_t *cur, const uint8_t *end, tf_json_kind *kind)
{
    int escaped;
    switch (*cur) {
    case '"':
        cur = string_end(cur + 1, end, &escaped);
        *kind = escaped ? TF_JSON_ESCAPED : TF_JSON_TEXT;
        return cur;
    case 't': *kind = TF_JSON_TRUE; return word_end(cur, end, "true", 4);
    case 'f': *kind = TF_JSON_FALSE; return word_end(cur, end, "false", 5);
    case 'n': *kind = TF_JSON_NULL; return word_end(cur, end, "null", 4);
    case 'N': *kind = TF_JSON_REAL; return word_end(cur, end, "NaN", 3);
    case 'I': *kind = TF_JSON_REAL; return word_end(cur, end, "Infinity", 8);
    default: return number_end(cur, end, kind);
    }
}

/* The first byte of [cur, end) that is no white space; NULL if there is none. */
static inline const uint8_t *token(const uint8_t *cur, const uint8_t *end)
{
    cur = space(cur, end);
    return cur == end ? NULL : cur;
}

/* The value of a member; cur is after its name. */
static inline const uint8_t *colon(const uint8_t *cur, const uint8_t *end)
{
    cur = token(cur, end);
    return cur && *cur == ':' ? token(cur + 1, end) : NULL;
}

/* The end of the object or array at cur. */
static const uint8_t *nested_end(const uint8_t *cur, const uint8_t *end, int depth)
{
    uint8_t closers[TF_JSON_DEPTH]; /* of the open objects and arrays */
    tf_json_kind inner;
    int open = 0, escaped;
    for (;;) { /* at a value */
        int is_entered = *cur == '{' || *cur == '[';
        if (is_entered) {
            if (open + depth >= TF_JSON_DEPTH)
                return NULL;
            closers[open++] = *cur++ == '{' ? '}' : ']';
        } else if (!(cur = scalar_end(cur, end, &inner))) {
            return NULL;
        }
        if (!(cur = token(cur, end)))
            return NULL;
        if (!is_entered || *cur == closers[open - 1]) { /* after a value, or empty: closers, then a comma */
            while (*cur != ',') {
                if (*cur++ != closers[open - 1])
                    return NULL;
                if (--open == 0)
                    return cur;
                if (!(cur = token(cur, end)))
                    return NULL;
            }
            if (!(cur = token(cur + 1, end)))
                return NULL;
        }
        if (closers[open - 1] == '}') {
            if (*cur != '"' || !(cur = string_end(cur + 1, end, &escaped)) || !(cur = colon(cur, end)))
                return NULL;
        }
    }
}

static inline const uint8_t *value_end(const uint8_t *cur, const uint8_t *end, int depth, tf_json_kind *kind)
{
    if (*cur != '{' && *cur != '[')
        return scalar_end(cur, end, kind);
    *kind = *cur == '{' ? TF_JSON_OBJECT : TF_JSON_ARRAY;
    return nested_end(cur, end, depth);
}

const uint8_t *tf_json_value(const uint8_t *cur, const uint8_t *end, int depth, tf_json_kind *kind)
{
    return cur == end ? NULL : value_end(cur, end, depth, kind);
}

/* Whether the name [cur, end), which may have escapes, is `name`. */
static int means(const uint8_t *cur, const uint8_t *end, int escaped, const uint8_t *name, size_t size)
{
    uint8_t piece[6];
    if (!escaped)
        return (size_t)(end - cur) == size && memcmp(cur, name, size) == 0;
    while (cur < end) { /* one character at a time: a name may have any length */
        const uint8_t *next = cur + 1;
        int64_t got = 1;
        piece[0] = *cur;
        if (*cur == '\\') {
            next = cur[1] == 'u' ? cur + 6 : cur + 2;
            got = tf_json_unescape(cur, next, piece);
            if (got < 0) { /* perhaps the first half of a surrogate pair, which takes 12 bytes of escapes */
                uint8_t pair[12];
                if (end - next < 6 || next[0] != '\\' || next[1] != 'u')
                    return 0;
                next += 6;
                got = tf_json_unescape(cur, next, pair);
                if (got < 0)
                    return 0;
                memcpy(piece, pair, 4);
            }
        }
        if (size < (size_t)got || memcmp(piece, name, (size_t)got) != 0)
            return 0;
        name += got;
        size -= (size_t)got;
        cur = next;
    }
    return size == 0;
}

/* The end of the name at cur (after its quote), and which child of `parent` it is, or -1. */
static inline const uint8_t *name_end(tf_json_reader *reader, const uint8_t *cur, const uint8_t *end, int32_t parent,
                                      int32_t *member)
{
    const tf_json_member *node = &reader->members[parent];
    tf_json_expected *expected = NULL;
    const uint8_t *after;
    int escaped;
    if (reader->ordinal < TF_JSON_SHAPE) {
        expected = &reader->expected[reader->ordinal++];
        /* The same bytes up to a closing quote are the same name, also with escapes. */
        if (expected->name && expected->parent == parent && (size_t)(end - cur) > expected->size &&
            cur[expected->size] == '"' && same(cur, expected->name, expected->size)) {
            *member = expected->member;
            return cur + expected->size + 1;
        }
    }
    after = string_end(cur, end, &escaped);
    if (!after)
        return NULL;
    *member = -1;
    for (int32_t i = node->first; i < node->first + node->count; i++)
        if (means(cur, after - 1, escaped, reader->members[i].name, reader->members[i].size)) {
            *member = i;
            break;
        }
    if (expected) {
        expected->name = cur;
        expected->size = (size_t)(after - 1 - cur);
        expected->parent = parent;
        expected->member = *member;
    }
    return after;
}

/* The span [start, end); of a string without its quotes. */
static inline int64_t value_span(const uint8_t *base, const uint8_t *start, const uint8_t *end, tf_json_kind kind)
{
    size_t quotes = kind == TF_JSON_TEXT || kind == TF_JSON_ESCAPED;
    return tf_span((size_t)(start - base) + quotes, (size_t)(end - start) - 2 * quotes);
}

/* Read the members of the object at cur, which is `parent`. Returns the position after it, or NULL. */
static const uint8_t *object(tf_json_reader *reader, const uint8_t *cur, const uint8_t *end, int32_t parent, int depth,
                             int64_t row)
{
    tf_json_kind kind;
    if (depth >= TF_JSON_DEPTH)
        return NULL;
    cur = space(cur + 1, end);
    if (cur < end && *cur == '}')
        return cur + 1;
    for (;;) {
        int32_t member;
        if (cur == end || *cur != '"' || !(cur = name_end(reader, cur + 1, end, parent, &member)) ||
            !(cur = colon(cur, end)))
            return NULL;
        if (member < 0) {
            cur = value_end(cur, end, depth + 1, &kind);
        } else {
            const tf_json_member *node = &reader->members[member];
            const uint8_t *start = cur;
            if (reader->seen[member] == row)
                return NULL;
            reader->seen[member] = row;
            if (node->count && *cur == '{') {
                kind = TF_JSON_OBJECT;
                cur = object(reader, cur, end, member, depth + 1, row);
            } else {
                cur = value_end(cur, end, depth + 1, &kind);
            }
            if (cur && node->column >= 0) {
                int64_t cell = (int64_t)node->column * reader->rows + row;
                reader->kinds[cell] = (uint8_t)kind;
                reader->spans[cell] = value_span(reader->base, start, cur, kind);
            }
        }
        if (!cur || !(cur = token(cur, end)))
            return NULL;
        if (*cur == '}')
            return cur + 1;
        if (*cur != ',')
            return NULL;
        cur = space(cur + 1, end);
    }
}

int tf_json_read(tf_json_reader *reader, const uint8_t *cur, const uint8_t *end, int64_t row)
{
    cur = space(cur, end);
    reader->ordinal = 0;
    if (cur < end && *cur == '{') {
        cur = object(reader, cur, end, 0, 0, row);
        if (cur && space(cur, end) == end)
            return 1;
    }
    for (int32_t column = 0; column < reader->column_count; column++)
        reader->kinds[(int64_t)column * reader->rows + row] = TF_JSON_ABSENT;
    return 0;
}

int64_t tf_json_entries(const uint8_t *base, int64_t span, int64_t *spans, uint8_t *kinds, int64_t stride,
                        int64_t capacity)
{
    const uint8_t *cur = base + tf_span_start(span), *end = cur + tf_span_size(span);
    int64_t count = 0;
    if (cur == end || *cur != '{')
        return 0;
    for (cur = space(cur + 1, end); cur < end && *cur == '"'; count++) {
        const uint8_t *name = cur, *value;
        tf_json_kind kind;
        int escaped;
        if (!(cur = string_end(cur + 1, end, &escaped)) || !(value = colon(cur, end)))
            break;
        if (count < capacity) {
            kinds[count] = escaped ? TF_JSON_ESCAPED : TF_JSON_TEXT;
            spans[count] = value_span(base, name, cur, (tf_json_kind)kinds[count]);
        }
        if (!(cur = value_end(value, end, 0, &kind)))
            break;
        if (count < capacity) {
            kinds[stride + count] = (uint8_t)kind;
            spans[stride + count] = value_span(base, value, cur, kind);
        }
        cur = space(cur, end);
        if (cur < end && *cur == ',')
            cur = space(cur + 1, end);
    }
    return count;
}
