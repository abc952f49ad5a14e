/* Values of JSON texts converted by whole columns (tf_json_values.h), each against a slow and plain conversion.
 *
 * Input: a byte of decimal scale, then JSON values, one behind the other.
 */
#include "fuzz.h"

#include <math.h>

#include "tf_json.h"
#include "tf_json_values.h"

enum { ROWS = 64 };

typedef struct {
    const uint8_t *base;
    int64_t spans[ROWS];
    uint8_t kinds[ROWS];
    int64_t rows;
} cells;

static int is_number(uint8_t kind)
{
    return kind == TF_JSON_INTEGER || kind == TF_JSON_REAL;
}

static int is_text(uint8_t kind)
{
    return kind == TF_JSON_TEXT || kind == TF_JSON_ESCAPED;
}

static fuzz_input span_of(const cells *c, int64_t row)
{
    const uint8_t *start = c->base + tf_span_start(c->spans[row]);
    return (fuzz_input){start, start + tf_span_size(c->spans[row])};
}

/* ---- numbers -------------------------------------------------------------------------------------------------- */

static void check_int64(const cells *c)
{
    int64_t values[ROWS];
    uint8_t states[ROWS];
    tf_json_int64(c->base, c->spans, c->kinds, c->rows, values, states);
    for (int64_t row = 0; row < c->rows; row++) {
        fuzz_input in = span_of(c, row);
        if (c->kinds[row] != TF_JSON_INTEGER) {
            CHECK(states[row] == (c->kinds[row] == TF_JSON_REAL ? TF_CELL_LEFT : TF_CELL_NULL));
            continue;
        }
        int negative = *in.cur == '-';
        __int128 value = 0;
        for (in.cur += negative; in.cur < in.end && value <= INT64_MAX; in.cur++)
            value = value * 10 + (*in.cur - '0');
        value = negative ? -value : value;
        int fits = in.cur == in.end && value == (int64_t)value;
        CHECK(states[row] == (fits ? TF_CELL_VALUE : TF_CELL_NULL) && (!fits || values[row] == (int64_t)value));
    }
}

static void check_double(const cells *c)
{
    double values[ROWS];
    uint8_t states[ROWS];
    tf_json_double(c->base, c->spans, c->kinds, c->rows, values, states);
    for (int64_t row = 0; row < c->rows; row++) {
        fuzz_input in = span_of(c, row);
        char text[TF_JSON_NUMBER + 1] = "";
        CHECK(states[row] != TF_CELL_NULL || !(is_number(c->kinds[row]) || is_text(c->kinds[row])));
        if (states[row] != TF_CELL_VALUE)
            continue;
        CHECK(is_number(c->kinds[row]));
        memcpy(text, in.cur, fuzz_left(&in));
        double expected = strtod(text, NULL);
        CHECK(values[row] == expected && signbit(values[row]) == signbit(expected));
    }
}

/* Whether [in) as a decimal of that scale fits 38 digits, and the decimal. */
static int plain_decimal(fuzz_input in, int scale, __int128 *value)
{
    const uint8_t *point = memchr(in.cur, '.', fuzz_left(&in));
    int negative = *in.cur == '-';
    __int128 least = 1;
    *value = 0;
    in.cur += negative;
    for (int i = 0; i < 37; i++)
        least *= 10;
    for (int64_t place = -(int64_t)((point ? point : in.end) - in.cur); place < scale; place++) {
        while (in.cur < in.end && *in.cur == '.')
            in.cur++;
        int digit = in.cur < in.end ? *in.cur++ - '0' : 0;
        if (digit < 0 || digit > 9 || *value >= least)
            return 0;
        *value = *value * 10 + digit;
    }
    for (; in.cur < in.end; in.cur++)
        if (*in.cur != '0' && *in.cur != '.')
            return 0;
    *value = negative ? -*value : *value;
    return 1;
}

static void check_decimal(const cells *c, int scale)
{
    uint64_t values[2 * ROWS];
    uint8_t states[ROWS];
    tf_json_decimal(c->base, c->spans, c->kinds, c->rows, scale, values, states);
    for (int64_t row = 0; row < c->rows; row++) {
        fuzz_input in = span_of(c, row);
        __int128 value;
        if (!is_number(c->kinds[row])) {
            CHECK(states[row] == (is_text(c->kinds[row]) ? TF_CELL_LEFT : TF_CELL_NULL));
            continue;
        }
        int fits = plain_decimal(in, scale, &value);
        CHECK(states[row] == (fits ? TF_CELL_VALUE : TF_CELL_LEFT));
        CHECK(!fits || (values[2 * row] == (uint64_t)value && values[2 * row + 1] == (uint64_t)(value >> 64)));
    }
}

/* ---- strings -------------------------------------------------------------------------------------------------- */

/* What the string means, by an array of UTF-16 units, as RFC 8259 describes it; -1 where a surrogate stands alone. */
static int64_t plain_text(fuzz_input in, uint8_t *out)
{
    uint8_t *start = out;
    uint32_t high = 0;
    while (fuzz_left(&in)) {
        uint32_t code = *in.cur;
        if (code != '\\') {
            if (high)
                return -1;
            *out++ = *in.cur++;
            continue;
        }
        in.cur += 2;
        if (in.cur[-1] == 'u') {
            char digits[5] = {(char)in.cur[0], (char)in.cur[1], (char)in.cur[2], (char)in.cur[3], 0};
            code = (uint32_t)strtoul(digits, NULL, 16);
            in.cur += 4;
        } else {
            static const char NAMES[] = "bfnrt", MEANT[] = "\b\f\n\r\t";
            const char *found = strchr(NAMES, in.cur[-1]);
            code = found ? (uint8_t)MEANT[found - NAMES] : in.cur[-1];
        }
        int is_low = code >= 0xdc00 && code < 0xe000;
        if (is_low != (high != 0))
            return -1;
        if (is_low)
            code = 0x10000 + (high - 0xd800) * 0x400 + (code - 0xdc00);
        high = code >= 0xd800 && code < 0xdc00 ? code : 0;
        if (high)
            continue;
        int more = code < 0x80 ? 0 : code < 0x800 ? 1 : code < 0x10000 ? 2 : 3;
        static const uint8_t LEAD[] = {0, 0xc0, 0xe0, 0xf0};
        *out++ = (uint8_t)(LEAD[more] | code >> 6 * more);
        while (more--)
            *out++ = (uint8_t)(0x80 | (code >> 6 * more & 0x3f));
    }
    return high ? -1 : out - start;
}

static void check_text(const cells *c)
{
    int64_t size = tf_json_text_size(c->spans, c->kinds, c->rows);
    uint8_t *data = malloc(size ? (size_t)size : 1), states[ROWS];
    int32_t offsets[ROWS + 1];
    CHECK(data);
    tf_json_text(c->base, c->spans, c->kinds, c->rows, offsets, data, states);
    CHECK(offsets[0] == 0 && offsets[c->rows] <= size);
    for (int64_t row = 0; row < c->rows; row++) {
        fuzz_input in = span_of(c, row), found = {data + offsets[row], data + offsets[row + 1]};
        uint8_t *meant = malloc(fuzz_left(&in) + 4);
        CHECK(meant);
        int64_t length = is_text(c->kinds[row]) ? plain_text(in, meant) : -1;
        CHECK(states[row] == (length < 0 ? TF_CELL_NULL : TF_CELL_VALUE));
        CHECK((int64_t)fuzz_left(&found) == (length < 0 ? 0 : length));
        CHECK(length <= 0 || !memcmp(found.cur, meant, (size_t)length));
        while (fuzz_left(&found)) {
            size_t step = fuzz_character(found.cur, fuzz_left(&found));
            CHECK(step);
            found.cur += step;
        }
        free(meant);
    }
    free(data);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size < 1)
        return 0;
    uint8_t *base = fuzz_copy(data + 1, size - 1);
    const uint8_t *cur = base, *end = base + size - 1;
    cells c = {.base = base};
    while (c.rows < ROWS && cur && (cur = tf_json_space(cur, end)) < end) {
        tf_json_kind kind = TF_JSON_ABSENT;
        const uint8_t *past = tf_json_value(cur, end, 0, &kind);
        if (past) {
            size_t quotes = is_text((uint8_t)kind);
            CHECK(cur < past && past <= end && kind != TF_JSON_ABSENT);
            c.spans[c.rows] = tf_span((size_t)(cur - base) + quotes, (size_t)(past - cur) - 2 * quotes);
            c.kinds[c.rows++] = (uint8_t)kind;
        }
        cur = past;
    }
    check_int64(&c);
    check_double(&c);
    check_decimal(&c, data[0] % 39);
    check_text(&c);
    free(base);
    return 0;
}
