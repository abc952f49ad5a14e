#include "tf_json_values.h"

#include <float.h>
#include <string.h>

#include "tf_bytes.h"

#define ONES 0x0101010101010101u

#define RUN 16

/* Copy 64 bytes at a time whose only escapes are of quotes; returns where it stopped. *to has room for all of cur. */
static const uint8_t *copy_quoted(const uint8_t *cur, const uint8_t *end, uint8_t **to)
{
    uint8_t *out = *to;
    while (end - cur >= 64 + RUN) {
        uint64_t escapes = tf_equal_bits64(cur, '\\'), wrong = escapes & ~(tf_equal_bits64(cur, '"') >> 1);
        unsigned size = wrong ? tf_trailing_zeros(wrong) : 64, at = 0;
        escapes &= wrong ? ((uint64_t)1 << size) - 1 : ~(uint64_t)0;
        for (;; escapes &= escapes - 1) { /* the bytes between escapes, RUN at a time: some too many */
            unsigned next = escapes ? tf_trailing_zeros(escapes) : size, i = at;
            do
                memcpy(out + (i - at), cur + i, RUN);
            while ((i += RUN) < next);
            out += next - at;
            at = next + 1;
            if (!escapes)
                break;
        }
        cur += size;
        if (wrong)
            break;
    }
    *to = out;
    return cur;
}

int64_t tf_json_unescape(const uint8_t *cur, const uint8_t *end, uint8_t *out)
{
    uint8_t *start = out;
    while (cur < end) {
        unsigned code, low;
        if (*cur != '\\') { /* up to the next escape, eight bytes at a time: out has room for all of cur */
            if (end - cur >= 8) {
                uint64_t word = tf_load64(cur), escape = word ^ ONES * '\\';
                uint64_t marks = (escape - ONES) & ~escape & ONES * 0x80;
                unsigned run = marks ? tf_trailing_zeros(marks) >> 3 : 8;
                memcpy(out, cur, 8);
                out += run;
                cur += run;
            } else {
                *out++ = *cur++;
            }
            continue;
        }
        if (end - cur < 2)
            return -1;
        switch (cur[1]) {
        case 'b':
            *out++ = '\b';
            cur += 2;
            continue;
        case 'f':
            *out++ = '\f';
            cur += 2;
            continue;
        case 'n':
            *out++ = '\n';
            cur += 2;
            continue;
        case 'r':
            *out++ = '\r';
            cur += 2;
            continue;
        case 't':
            *out++ = '\t';
            cur += 2;
            continue;
        case 'u': break;
        case '"':
            *out++ = '"';
            cur = copy_quoted(cur + 2, end, &out);
            continue;
        default:
            *out++ = cur[1];
            cur += 2;
            continue;
        }
        if (end - cur < 6 || !tf_json_hex(cur + 2, &code))
            return -1;
        cur += 6;
        if (code >= 0xdc00 && code <= 0xdfff)
            return -1;
        if (code >= 0xd800 && code <= 0xdbff) {
            if (end - cur < 6 || cur[0] != '\\' || cur[1] != 'u' || !tf_json_hex(cur + 2, &low) || low < 0xdc00 ||
                low > 0xdfff)
                return -1;
            cur += 6;
            code = 0x10000 + ((code - 0xd800) << 10) + (low - 0xdc00);
        }
        if (code < 0x80) {
            *out++ = (uint8_t)code;
        } else if (code < 0x800) {
            *out++ = (uint8_t)(0xc0 | code >> 6);
            *out++ = (uint8_t)(0x80 | (code & 0x3f));
        } else if (code < 0x10000) {
            *out++ = (uint8_t)(0xe0 | code >> 12);
            *out++ = (uint8_t)(0x80 | (code >> 6 & 0x3f));
            *out++ = (uint8_t)(0x80 | (code & 0x3f));
        } else {
            *out++ = (uint8_t)(0xf0 | code >> 18);
            *out++ = (uint8_t)(0x80 | (code >> 12 & 0x3f));
            *out++ = (uint8_t)(0x80 | (code >> 6 & 0x3f));
            *out++ = (uint8_t)(0x80 | (code & 0x3f));
        }
    }
    return out - start;
}

/* Prefetch the value of a later row, because texts are far apart in memory. */
static inline void fetch(const uint8_t *base, const int64_t *spans, int64_t row, int64_t rows)
{
#ifndef _MSC_VER
    if (row + 8 < rows)
        __builtin_prefetch(base + tf_span_start(spans[row + 8]));
#endif
}

/* A cell without a number: null, or a string, which the caller may convert. */
static inline uint8_t other_cell(uint8_t kind)
{
    return kind == TF_JSON_TEXT || kind == TF_JSON_ESCAPED ? TF_CELL_LEFT : TF_CELL_NULL;
}

/* Eight digits at a time: pairs, then fours, then all. */
static inline uint64_t eight_digits(const uint8_t *cur)
{
    uint64_t word = tf_load64(cur) & 0x0f0f0f0f0f0f0f0fu;
    word = (word * 10 + (word >> 8)) & 0x00ff00ff00ff00ffu;
    word = (word * 100 + (word >> 16)) & 0x0000ffff0000ffffu;
    return (word * 10000 + (word >> 32)) & 0xffffffffu;
}

void tf_json_int64(const uint8_t *base, const int64_t *spans, const uint8_t *kinds, int64_t rows, int64_t *values,
                   uint8_t *cells)
{
    for (int64_t row = 0; row < rows; row++) {
        const uint8_t *cur = base + tf_span_start(spans[row]), *end = cur + tf_span_size(spans[row]);
        uint64_t value = 0, limit;
        int negative, fits = 1, sure;
        fetch(base, spans, row, rows);
        if (kinds[row] != TF_JSON_INTEGER) {
            cells[row] = kinds[row] == TF_JSON_REAL ? TF_CELL_LEFT : TF_CELL_NULL;
            continue;
        }
        negative = *cur == '-';
        cur += negative;
        limit = (uint64_t)INT64_MAX + (uint64_t)negative;
        sure = end - cur <= 18; /* with so few digits every number fits */
        for (; sure && end - cur >= 8; cur += 8)
            value = value * 100000000 + eight_digits(cur);
        for (; sure && cur < end; cur++)
            value = value * 10 + (uint64_t)(*cur - '0');
        for (; cur < end && fits; cur++) {
            uint64_t digit = (uint64_t)(*cur - '0');
            fits = value <= (limit - digit) / 10;
            value = value * 10 + digit;
        }
        cells[row] = fits ? TF_CELL_VALUE : TF_CELL_NULL;
        values[row] = (int64_t)(negative ? 0 - value : value);
    }
}

static const double POWERS[] = {1e0,  1e1,  1e2,  1e3,  1e4,  1e5,  1e6,  1e7,  1e8,  1e9,  1e10, 1e11,
                                1e12, 1e13, 1e14, 1e15, 1e16, 1e17, 1e18, 1e19, 1e20, 1e21, 1e22};

/* Digits of at most 2^53 and powers of ten up to 10^22 are exact doubles, so their product or quotient is rounded only
 * once: W. D. Clinger, "How to Read Floating Point Numbers Accurately" (1990). */
static int exact_double(const uint8_t *cur, const uint8_t *end, double *value)
{
    uint64_t whole = 0;
    int negative = *cur == '-', power = 0, shift = 0, sign = 1;
    cur += negative;
    for (int behind = 0; cur < end && (*cur | 0x20) != 'e'; cur++) {
        if (*cur == '.') {
            behind = 1;
            continue;
        }
        if (!tf_json_is_digit(*cur)) /* Infinity, NaN */
            return 0;
        whole = whole * 10 + (uint64_t)(*cur - '0');
        if (whole > (uint64_t)1 << 53)
            return 0;
        power -= behind;
    }
    if (cur < end) {
        cur++;
        if (*cur == '+' || *cur == '-')
            sign = *cur++ == '-' ? -1 : 1;
        for (; cur < end; cur++) {
            shift = shift * 10 + (*cur - '0');
            if (shift > 10000)
                return 0;
        }
    }
    power += sign * shift;
    if (power < -22 || power > 22)
        return 0;
    *value = power < 0 ? (double)whole / POWERS[-power] : (double)whole * POWERS[power];
    if (negative)
        *value = -*value;
    return 1;
}

void tf_json_double(const uint8_t *base, const int64_t *spans, const uint8_t *kinds, int64_t rows, double *values,
                    uint8_t *cells)
{
    for (int64_t row = 0; row < rows; row++) {
        const uint8_t *cur = base + tf_span_start(spans[row]), *end = cur + tf_span_size(spans[row]);
        fetch(base, spans, row, rows);
        if (kinds[row] != TF_JSON_INTEGER && kinds[row] != TF_JSON_REAL) {
            cells[row] = other_cell(kinds[row]);
            continue;
        }
        cells[row] = TF_CELL_LEFT;
        if (FLT_EVAL_METHOD == 0 && exact_double(cur, end, &values[row])) /* otherwise products are rounded twice */
            cells[row] = TF_CELL_VALUE;
    }
}

/* words = words * 10 + digit, modulo 2^128 */
static void push_digit(uint64_t words[2], uint64_t digit)
{
    uint64_t low = (words[0] & 0xffffffffu) * 10 + digit, high = (words[0] >> 32) * 10 + (low >> 32);
    words[0] = high << 32 | (low & 0xffffffffu);
    words[1] = words[1] * 10 + (high >> 32);
}

static int exact_decimal(const uint8_t *cur, const uint8_t *end, int scale, uint64_t words[2])
{
    int negative = *cur == '-', behind = 0, places = 0, count = 0;
    words[0] = words[1] = 0;
    cur += negative;
    for (; cur < end; cur++) {
        if (*cur == '.') {
            behind = 1;
            continue;
        }
        if (!tf_json_is_digit(*cur)) /* an exponent, Infinity, NaN */
            return 0;
        if (behind && places == scale) {
            if (*cur != '0')
                return 0;
            continue;
        }
        count += count > 0 || *cur != '0';
        if (count > 38)
            return 0;
        push_digit(words, (uint64_t)(*cur - '0'));
        places += behind;
    }
    for (; places < scale; places++) {
        count += count > 0;
        if (count > 38)
            return 0;
        push_digit(words, 0);
    }
    if (negative) {
        words[0] = 0 - words[0];
        words[1] = ~words[1] + (words[0] == 0);
    }
    return 1;
}

void tf_json_decimal(const uint8_t *base, const int64_t *spans, const uint8_t *kinds, int64_t rows, int scale,
                     uint64_t *values, uint8_t *cells)
{
    for (int64_t row = 0; row < rows; row++) {
        const uint8_t *cur = base + tf_span_start(spans[row]), *end = cur + tf_span_size(spans[row]);
        fetch(base, spans, row, rows);
        if (kinds[row] != TF_JSON_INTEGER && kinds[row] != TF_JSON_REAL) {
            cells[row] = other_cell(kinds[row]);
            continue;
        }
        cells[row] = exact_decimal(cur, end, scale, values + 2 * row) ? TF_CELL_VALUE : TF_CELL_LEFT;
    }
}

int64_t tf_json_text_size(const int64_t *spans, const uint8_t *kinds, int64_t rows)
{
    int64_t size = 0;
    for (int64_t row = 0; row < rows; row++)
        if (kinds[row] == TF_JSON_TEXT || kinds[row] == TF_JSON_ESCAPED)
            size += (int64_t)tf_span_size(spans[row]);
    return size;
}

void tf_json_text(const uint8_t *base, const int64_t *spans, const uint8_t *kinds, int64_t rows, int32_t *offsets,
                  uint8_t *data, uint8_t *cells)
{
    int64_t size = 0;
    offsets[0] = 0;
    for (int64_t row = 0; row < rows; row++) {
        const uint8_t *cur = base + tf_span_start(spans[row]);
        size_t length = tf_span_size(spans[row]);
        cells[row] = TF_CELL_NULL;
        if (kinds[row] == TF_JSON_TEXT) {
            memcpy(data + size, cur, length);
            size += (int64_t)length;
            cells[row] = TF_CELL_VALUE;
        } else if (kinds[row] == TF_JSON_ESCAPED) {
            int64_t got = tf_json_unescape(cur, cur + length, data + size);
            if (got >= 0) {
                size += got;
                cells[row] = TF_CELL_VALUE;
            }
        }
        offsets[row + 1] = (int32_t)size;
    }
}
