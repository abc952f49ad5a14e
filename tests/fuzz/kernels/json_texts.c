/* JSON texts (tf_json.h) by members that are wanted: the reader against a plain one, and against itself begun anew.
 *
 * Input: a byte that chooses what is wanted (Delta's statistics, the actions of a commit, or members of awkward names),
 * then texts, one a line. The reader remembers the shape of the text before; here every text is also read without it.
 */
#include "fuzz.h"

#include "tf_json.h"

#define NAME(text) (const uint8_t *)(text), sizeof(text) - 1

enum { LINES = 16, MEMBERS = 32 };

static const tf_json_member STATISTICS[] = {
    {NAME(""), 1, 5, -1},          {NAME("numRecords"), 0, 0, 0},  {NAME("minValues"), 6, 2, 1},
    {NAME("maxValues"), 9, 2, -1}, {NAME("nullCount"), 11, 2, -1}, {NAME("tightBounds"), 0, 0, 2},
    {NAME("a"), 0, 0, 3},          {NAME("s"), 8, 1, -1},          {NAME("b"), 0, 0, 4},
    {NAME("a"), 0, 0, 5},          {NAME("d"), 0, 0, 6},           {NAME("a"), 0, 0, 7},
    {NAME("d"), 0, 0, 8},
};

static const tf_json_member ACTIONS[] = {
    {NAME(""), 1, 4, -1},
    {NAME("add"), 5, 7, 0},
    {NAME("remove"), 12, 3, 1},
    {NAME("commitInfo"), 0, 0, 2},
    {NAME("txn"), 0, 0, 3},
    {NAME("path"), 0, 0, 4},
    {NAME("partitionValues"), 0, 0, 5},
    {NAME("size"), 0, 0, 6},
    {NAME("stats"), 0, 0, 7},
    {NAME("dataChange"), 0, 0, 8},
    {NAME("deletionVector"), 15, 3, 9},
    {NAME("baseRowId"), 0, 0, 10},
    {NAME("path"), 0, 0, 11},
    {NAME("deletionTimestamp"), 0, 0, 12},
    {NAME("dataChange"), 0, 0, 13},
    {NAME("storageType"), 0, 0, 14},
    {NAME("pathOrInlineDv"), 0, 0, 15},
    {NAME("cardinality"), 0, 0, 16},
};

static const tf_json_member AWKWARD[] = {
    {NAME(""), 1, 6, -1},
    {NAME(""), 0, 0, 0},
    {NAME("\""), 0, 0, 1},
    {NAME("\xc3\xa9"), 7, 2, 2},
    {NAME("\xf0\x9f\x98\x80"), 0, 0, 3},
    {NAME("a\\b"), 9, 1, -1},
    {NAME("u0061"), 0, 0, 4},
    {NAME("a"), 0, 0, 5},
    {NAME("A"), 0, 0, 6},
    {NAME("a"), 0, 0, 7},
};

/* ---- a plain reading of RFC 8259, with NaN and Infinity ------------------------------------------------------- */

typedef struct {
    fuzz_input in;
    const tf_json_member *members;
    uint8_t *meant; /* room for what any string of the text means */
    uint8_t seen[MEMBERS];
} plain_text;

static void blank(plain_text *t)
{
    while (fuzz_left(&t->in) && strchr(" \t\r\n", *t->in.cur) && *t->in.cur)
        t->in.cur++;
}

static int literal(plain_text *t, const char *word)
{
    size_t size = strlen(word);
    if (fuzz_left(&t->in) < size || memcmp(t->in.cur, word, size))
        return 0;
    t->in.cur += size;
    return 1;
}

static int hexadecimal(plain_text *t, uint32_t *code)
{
    *code = 0;
    for (int i = 0; i < 4; i++) {
        static const char DIGITS[] = "0123456789abcdef0123456789ABCDEF";
        const char *found = fuzz_left(&t->in) && *t->in.cur ? strchr(DIGITS, *t->in.cur++) : NULL;
        if (!found)
            return 0;
        *code = *code << 4 | (uint32_t)((found - DIGITS) % 16);
    }
    return 1;
}

/* A string, and the size of what it means; -1 where it names half of a surrogate pair. */
static int string(plain_text *t, int64_t *size)
{
    uint32_t high = 0, code;
    uint8_t *out = t->meant;
    int lone = 0;
    if (!literal(t, "\""))
        return 0;
    for (;;) {
        if (!fuzz_left(&t->in) || *t->in.cur < 0x20)
            return 0;
        int is_unicode = 0;
        if (*t->in.cur == '"') {
            t->in.cur++;
            *size = lone || high ? -1 : out - t->meant;
            return 1;
        }
        if (*t->in.cur == '\\') {
            static const char ESCAPES[] = "\"\\/bfnrt", MEANT[] = "\"\\/\b\f\n\r\t";
            t->in.cur++;
            if (!fuzz_left(&t->in) || !*t->in.cur)
                return 0;
            const char *found = strchr(ESCAPES, *t->in.cur);
            if (found) {
                code = (uint8_t)MEANT[found - ESCAPES];
                t->in.cur++;
            } else if (!literal(t, "u") || !hexadecimal(t, &code)) {
                return 0;
            } else {
                is_unicode = 1;
            }
        } else {
            size_t step = fuzz_character(t->in.cur, fuzz_left(&t->in));
            if (!step)
                return 0;
            lone |= high != 0;
            high = 0;
            memcpy(out, t->in.cur, step);
            out += step;
            t->in.cur += step;
            continue;
        }
        if (is_unicode && code >= 0xdc00 && code < 0xe000 && high) {
            code = 0x10000 + (high - 0xd800) * 0x400 + (code - 0xdc00);
            high = 0;
        } else {
            lone |= high != 0 || (is_unicode && code >= 0xdc00 && code < 0xe000);
            high = is_unicode && code >= 0xd800 && code < 0xdc00 ? code : 0;
            if (high)
                continue;
        }
        if (code < 0x80) {
            *out++ = (uint8_t)code;
        } else {
            int more = code < 0x800 ? 1 : code < 0x10000 ? 2 : 3;
            *out++ = (uint8_t)((more == 1 ? 0xc0 : more == 2 ? 0xe0 : 0xf0) | code >> 6 * more);
            for (more--; more >= 0; more--)
                *out++ = (uint8_t)(0x80 | (code >> 6 * more & 0x3f));
        }
    }
}

static int count_digits(plain_text *t)
{
    int count = 0;
    for (; fuzz_left(&t->in) && *t->in.cur >= '0' && *t->in.cur <= '9'; t->in.cur++)
        count++;
    return count;
}

static int number(plain_text *t)
{
    const uint8_t *start = t->in.cur;
    if (literal(t, "-Infinity"))
        return 1;
    (void)literal(t, "-");
    if (!literal(t, "0") && !count_digits(t))
        return 0;
    if (literal(t, ".") && !count_digits(t))
        return 0;
    if (literal(t, "e") || literal(t, "E")) {
        if (!literal(t, "+"))
            (void)literal(t, "-");
        if (!count_digits(t))
            return 0;
    }
    return t->in.cur - start <= TF_JSON_NUMBER;
}

static int value(plain_text *t, int32_t parent, int depth);

static int member(plain_text *t, int32_t parent, int depth)
{
    int64_t size;
    int32_t found = -1;
    int fine = string(t, &size);
    const tf_json_member *node = parent < 0 ? NULL : &t->members[parent];
    for (int32_t i = 0; fine && node && i < node->count; i++) {
        const tf_json_member *child = &t->members[node->first + i];
        if (size == (int64_t)child->size && !memcmp(t->meant, child->name, child->size))
            found = node->first + i;
    }
    if (!fine)
        return 0;
    blank(t);
    if (!literal(t, ":"))
        return 0;
    if (found >= 0 && t->seen[found]++)
        return 0;
    blank(t);
    return value(t, found, depth);
}

static int several(plain_text *t, int32_t parent, int depth, const char *close)
{
    if (depth >= TF_JSON_DEPTH)
        return 0;
    t->in.cur++;
    blank(t);
    if (literal(t, close))
        return 1;
    for (;;) {
        blank(t);
        if (!(*close == '}' ? member(t, parent, depth + 1) : value(t, -1, depth + 1)))
            return 0;
        blank(t);
        if (literal(t, close))
            return 1;
        if (!literal(t, ","))
            return 0;
    }
}

static int value(plain_text *t, int32_t parent, int depth)
{
    int64_t size;
    if (!fuzz_left(&t->in))
        return 0;
    switch (*t->in.cur) {
    case '{': return several(t, parent, depth, "}");
    case '[': return several(t, -1, depth, "]");
    case '"': return string(t, &size);
    default:
        return literal(t, "true") || literal(t, "false") || literal(t, "null") || literal(t, "NaN") ||
               literal(t, "Infinity") || number(t);
    }
}

static int is_sound(const tf_json_member *members, const uint8_t *cur, const uint8_t *end)
{
    plain_text t = {.in = {cur, end}, .members = members, .meant = malloc((size_t)(end - cur) + 4)};
    CHECK(t.meant);
    blank(&t);
    int sound = fuzz_left(&t.in) && *t.in.cur == '{' && value(&t, 0, 0);
    blank(&t);
    free(t.meant);
    return sound && !fuzz_left(&t.in);
}

/* ---- the comparison ------------------------------------------------------------------------------------------- */

typedef struct {
    int64_t spans[MEMBERS * LINES];
    uint8_t kinds[MEMBERS * LINES];
    int64_t seen[MEMBERS];
    tf_json_reader reader;
} table;

static void begin(table *t, const tf_json_member *members, int32_t columns, const uint8_t *base, int64_t rows)
{
    memset(t, 0, sizeof *t);
    memset(t->seen, 0xff, sizeof t->seen);
    t->reader.members = members;
    t->reader.base = base;
    t->reader.spans = t->spans;
    t->reader.kinds = t->kinds;
    t->reader.seen = t->seen;
    t->reader.rows = rows;
    t->reader.column_count = columns;
}

/* A cell's span is a value of that kind, inside of its line. */
static void check_cell(const uint8_t *base, int64_t span, uint8_t kind, const uint8_t *cur, const uint8_t *end)
{
    if (kind == TF_JSON_ABSENT)
        return;
    tf_json_kind again = TF_JSON_ABSENT;
    int quotes = kind == TF_JSON_TEXT || kind == TF_JSON_ESCAPED;
    const uint8_t *start = base + tf_span_start(span) - quotes, *past = start + tf_span_size(span) + 2 * quotes;
    CHECK(cur <= start && start < past && past <= end);
    CHECK(tf_json_value(start, end, 0, &again) == past && again == (tf_json_kind)kind);
    if (kind != TF_JSON_OBJECT)
        return;
    int64_t count = tf_json_entries(base, span, NULL, NULL, 0, 0);
    int64_t *spans = calloc((size_t)count * 2 + 1, sizeof *spans);
    uint8_t *kinds = calloc((size_t)count * 2 + 1, 1);
    CHECK(spans && kinds && tf_json_entries(base, span, spans, kinds, count, count) == count);
    for (int64_t i = 0; i < 2 * count; i++) {
        CHECK(kinds[i] != TF_JSON_ABSENT && (i >= count || kinds[i] == TF_JSON_TEXT || kinds[i] == TF_JSON_ESCAPED));
        const uint8_t *inner = base + tf_span_start(spans[i]);
        CHECK(start < inner && inner + tf_span_size(spans[i]) < past);
    }
    free(spans);
    free(kinds);
}

static void compare_line(table *warm, table *cold, int64_t row, const uint8_t *cur, const uint8_t *end)
{
    const tf_json_reader *w = &warm->reader;
    int sound = tf_json_read(&warm->reader, cur, end, row);
    begin(cold, w->members, w->column_count, w->base, 1);
    CHECK(tf_json_read(&cold->reader, cur, end, 0) == sound);
    CHECK(sound == is_sound(w->members, cur, end));
    for (int32_t column = 0; column < w->column_count; column++) {
        int64_t cell = column * w->rows + row;
        CHECK(warm->kinds[cell] == cold->kinds[column] && (sound || !warm->kinds[cell]));
        CHECK(!warm->kinds[cell] || warm->spans[cell] == cold->spans[column]);
        check_cell(w->base, warm->spans[cell], warm->kinds[cell], cur, end);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static table warm, cold;
    static const struct {
        const tf_json_member *members;
        int32_t columns;
    } TREES[] = {{STATISTICS, 9}, {ACTIONS, 17}, {AWKWARD, 8}};
    if (size < 1)
        return 0;
    uint8_t tree = data[0] % 3, *base = fuzz_copy(data + 1, size - 1);
    const uint8_t *cur = base, *end = base + size - 1;
    begin(&warm, TREES[tree].members, TREES[tree].columns, base, LINES);
    for (int64_t row = 0; row < LINES && cur < end; row++) {
        const uint8_t *line = memchr(cur, '\n', (size_t)(end - cur));
        line = line && row + 1 < LINES ? line : end;
        compare_line(&warm, &cold, row, cur, line);
        cur = line < end ? line + 1 : end;
    }
    free(base);
    return 0;
}
