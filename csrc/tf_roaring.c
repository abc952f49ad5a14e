#include "tf_roaring.h"

#include <stdbool.h>

#include "tf_bytes.h"

enum {
    COOKIE_PLAIN = 12346,
    COOKIE_RUNS = 12347,
    OFFSETS_FROM = 4, /* with so many containers a bitmap with runs has offsets, too */
    ARRAY_MAX = 4096,
    BITSET_WORDS = 1024,
    VALUES = 65536,
    SMALLEST_BUCKET = 12 /* key, cookie, count 0 */
};

static const size_t WIDTH[] = {[TF_ARRAY] = 2, [TF_BITSET] = 8, [TF_RUNS] = 4}; /* bytes of an item */

static bool has(const tf_roaring *r, uint64_t n)
{
    return n <= (uint64_t)(r->end - r->cur);
}

tf_status tf_roaring_open(tf_roaring *r, const uint8_t *cur, const uint8_t *end)
{
    *r = (tf_roaring){.start = cur, .cur = cur, .end = end, .key = -1};
    if (!has(r, 8))
        return TF_TRUNCATED;
    r->buckets = tf_load64(cur);
    if (r->buckets > (uint64_t)(end - cur - 8) / SMALLEST_BUCKET)
        return TF_BUCKET_COUNT;
    r->cur += 8;
    return TF_OK;
}

/* Read the key, the cookie and the headers of the next 32-bit bitmap. */
static tf_status open_bucket(tf_roaring *r)
{
    if (!has(r, 8))
        return TF_TRUNCATED;
    int64_t key = tf_load32(r->cur);
    if (key > INT32_MAX)
        return TF_BUCKET_KEY;
    if (key <= r->key)
        return TF_BUCKET_ORDER;
    r->key = key;
    r->bucket = r->cur += 4;
    uint32_t cookie = tf_load32(r->cur);
    r->runs = NULL;
    if (cookie == COOKIE_PLAIN) {
        if (!has(r, 8))
            return TF_TRUNCATED;
        r->containers = tf_load32(r->cur + 4);
        if (r->containers > VALUES)
            return TF_CONTAINER_COUNT;
        r->cur += 8;
    } else if ((cookie & 0xffff) == COOKIE_RUNS) {
        r->containers = (cookie >> 16) + 1;
        r->cur += 4;
        if (!has(r, (r->containers + 7) / 8))
            return TF_TRUNCATED;
        r->runs = r->cur;
        r->cur += (r->containers + 7) / 8;
    } else {
        return TF_COOKIE;
    }
    bool with_offsets = r->runs == NULL || r->containers >= OFFSETS_FROM;
    if (!has(r, (uint64_t)r->containers * (with_offsets ? 8 : 4)))
        return TF_TRUNCATED;
    r->header = r->cur;
    r->offsets = with_offsets ? r->header + 4 * (size_t)r->containers : NULL;
    r->cur += (size_t)r->containers * (with_offsets ? 8 : 4);
    r->next = 0;
    r->buckets--;
    return TF_OK;
}

static tf_status check_array(tf_roaring *r, const tf_container *c)
{
    for (uint32_t i = 1; i < c->items; i++) {
        if (tf_load16(c->data + 2 * i) <= tf_load16(c->data + 2 * i - 2)) {
            r->cur = c->data + 2 * i;
            return TF_ARRAY_ORDER;
        }
    }
    return TF_OK;
}

static tf_status check_bitset(const tf_container *c)
{
    uint32_t cardinality = 0;
    for (uint32_t i = 0; i < c->items; i++)
        cardinality += tf_popcount(tf_load64(c->data + 8 * i));
    return cardinality == c->cardinality ? TF_OK : TF_CARDINALITY;
}

static tf_status check_runs(tf_roaring *r, const tf_container *c)
{
    uint32_t cardinality = 0, past = 0; /* past: the first value after the previous run */
    for (uint32_t i = 0; i < c->items; i++) {
        const uint8_t *run = c->data + 4 * i;
        uint32_t first = tf_load16(run), length = tf_load16(run + 2) + 1u;
        tf_status status = first < past ? TF_RUN_ORDER : length > VALUES - first ? TF_RUN_OVERFLOW : TF_OK;
        if (status != TF_OK) {
            r->cur = run;
            return status;
        }
        past = first + length;
        cardinality += length;
    }
    return cardinality == c->cardinality ? TF_OK : TF_CARDINALITY;
}

/* Find the container's data and its size. Moves cur to the data. */
static tf_status locate_container(tf_roaring *r, tf_container *c, uint32_t index)
{
    if (r->offsets != NULL && tf_load32(r->offsets + 4 * (size_t)index) != (uint64_t)(r->cur - r->bucket))
        return TF_CONTAINER_OFFSET;
    c->kind = TF_ARRAY;
    c->items = c->cardinality;
    if (r->runs != NULL && (r->runs[index / 8] >> index % 8 & 1)) {
        if (!has(r, 2))
            return TF_TRUNCATED;
        c->kind = TF_RUNS;
        c->items = tf_load16(r->cur);
        if (c->items == 0)
            return TF_RUN_COUNT;
        r->cur += 2;
    } else if (c->cardinality > ARRAY_MAX) {
        c->kind = TF_BITSET;
        c->items = BITSET_WORDS;
    }
    c->data = r->cur;
    return has(r, c->items * WIDTH[c->kind]) ? TF_OK : TF_TRUNCATED;
}

tf_status tf_roaring_next(tf_roaring *r, tf_container *c)
{
    while (r->next == r->containers) {
        if (r->buckets == 0)
            return r->cur == r->end ? TF_END : TF_TRAILING_BYTES;
        tf_status status = open_bucket(r);
        if (status != TF_OK)
            return status;
    }
    uint32_t index = r->next++;
    const uint8_t *pair = r->header + 4 * (size_t)index;
    if (index > 0 && tf_load16(pair) <= tf_load16(pair - 4)) {
        r->cur = pair;
        return TF_CONTAINER_ORDER;
    }
    c->base = r->key << 32 | (int64_t)tf_load16(pair) << 16;
    c->cardinality = tf_load16(pair + 2) + 1u;
    tf_status status = locate_container(r, c, index);
    if (status != TF_OK)
        return status;
    status = c->kind == TF_ARRAY ? check_array(r, c) : c->kind == TF_RUNS ? check_runs(r, c) : check_bitset(c);
    if (status == TF_OK)
        r->cur += c->items * WIDTH[c->kind];
    return status;
}

/* The status of a whole pass, from the reader's last one: TF_END is success. */
static tf_status finish(const tf_roaring *r, tf_status status, size_t *offset)
{
    *offset = (size_t)(r->cur - r->start);
    return status == TF_END ? TF_OK : status;
}

/* The part of a container within the rows: values low <= v < high. False if it is empty. */
static bool clip(const tf_container *c, int64_t start, int64_t stop, uint32_t *low, uint32_t *high)
{
    if (c->base >= stop || c->base + (VALUES - 1) < start)
        return false;
    *low = start > c->base ? (uint32_t)(start - c->base) : 0;
    *high = stop - c->base < VALUES ? (uint32_t)(stop - c->base) : VALUES;
    return *low < *high;
}

/* The part of run i of a container within low <= v < high. False if it is empty. */
static bool clipped_run(const tf_container *c, uint32_t i, uint32_t low, uint32_t high, uint32_t *first, uint32_t *past)
{
    *first = tf_load16(c->data + 4 * i);
    *past = *first + tf_load16(c->data + 4 * i + 2) + 1u;
    *first = *first < low ? low : *first;
    *past = *past > high ? high : *past;
    return *first < *past;
}

/* Word i of a bitset, without the bits outside of low <= v < high. */
static uint64_t clipped_word(const tf_container *c, uint32_t i, uint32_t low, uint32_t high)
{
    uint64_t word = tf_load64(c->data + 8 * (size_t)i);
    if (64 * i < low)
        word &= ~(uint64_t)0 << (low - 64 * i);
    if (64 * i + 64 > high)
        word &= ~(uint64_t)0 >> (64 * i + 64 - high);
    return word;
}

tf_status tf_roaring_summary(const uint8_t *cur, const uint8_t *end, int64_t *cardinality, int64_t *last,
                             size_t *offset)
{
    tf_roaring r;
    tf_container c;
    uint32_t i;
    *cardinality = 0;
    *last = -1;
    tf_status status = tf_roaring_open(&r, cur, end);
    while (status == TF_OK && (status = tf_roaring_next(&r, &c)) == TF_OK) {
        *cardinality += c.cardinality;
        switch (c.kind) {
        case TF_ARRAY: *last = c.base + tf_load16(c.data + 2 * c.items - 2); break;
        case TF_RUNS: *last = c.base + tf_load16(c.data + 4 * c.items - 4) + tf_load16(c.data + 4 * c.items - 2); break;
        case TF_BITSET:
            for (i = BITSET_WORDS - 1; i > 0 && tf_load64(c.data + 8 * i) == 0;)
                i--;
            *last = c.base + 64 * i + tf_highest_bit(tf_load64(c.data + 8 * i) | 1);
        }
    }
    return finish(&r, status, offset);
}

/* --- One byte per row ------------------------------------------------------------------------------------------ */

/* live[0 .. 63] from the bits of a word: copy each byte into eight, keep bit i in byte i, and make that 0 or 1. */
static void spread_word(uint64_t word, uint8_t *live)
{
    for (int i = 0; i < 8; i++) {
        uint64_t bits = (word >> 8 * i & 0xff) * 0x0101010101010101u & 0x8040201008040201u;
        uint64_t deleted = (bits + 0x7f7f7f7f7f7f7f7fu) >> 7 & 0x0101010101010101u;
        tf_store64(live + 8 * i, deleted ^ 0x0101010101010101u);
    }
}

static void live_bitset(const tf_container *c, uint32_t low, uint32_t high, uint8_t *live)
{
    for (uint32_t i = low / 64; 64 * i < high; i++) {
        uint64_t word = clipped_word(c, i, low, high);
        if (64 * i >= low && 64 * i + 64 <= high) {
            if (word != 0)
                spread_word(word, live + (64 * i - low));
            continue;
        }
        for (; word != 0; word &= word - 1)
            live[64 * i + tf_trailing_zeros(word) - low] = 0;
    }
}

tf_status tf_roaring_live(const uint8_t *cur, const uint8_t *end, int64_t start, int64_t stop, uint8_t *out,
                          size_t *offset)
{
    tf_roaring r;
    tf_container c;
    uint32_t low, high, first, past;
    if (stop > start)
        memset(out, 1, (size_t)(stop - start));
    tf_status status = tf_roaring_open(&r, cur, end);
    while (status == TF_OK && (status = tf_roaring_next(&r, &c)) == TF_OK) {
        if (!clip(&c, start, stop, &low, &high))
            continue;
        uint8_t *live = out + (c.base + low - start); /* of value low */
        switch (c.kind) {
        case TF_ARRAY:
            for (uint32_t i = 0; i < c.items; i++) {
                uint32_t v = tf_load16(c.data + 2 * i);
                if (v >= low && v < high)
                    live[v - low] = 0;
            }
            break;
        case TF_RUNS:
            for (uint32_t i = 0; i < c.items; i++)
                if (clipped_run(&c, i, low, high, &first, &past))
                    memset(live + (first - low), 0, past - first);
            break;
        case TF_BITSET: live_bitset(&c, low, high, live);
        }
    }
    return finish(&r, status, offset);
}

/* --- One bit per row ------------------------------------------------------------------------------------------- */

/* Set the bits first <= i < past. */
static void set_bits(uint64_t *out, int64_t first, int64_t past)
{
    for (int64_t i = first; i < past;) {
        int64_t n = 64 - i % 64 < past - i ? 64 - i % 64 : past - i;
        out[i / 64] |= ~(uint64_t)0 >> (64 - n) << i % 64;
        i += n;
    }
}

/* Or a word into the bits from `at` on. Bits below 0 and past the last row are left out. */
static void or_word(uint64_t *out, int64_t at, uint64_t word)
{
    if (word == 0)
        return;
    if (at < 0) {
        out[0] |= word >> -at;
        return;
    }
    out[at / 64] |= word << at % 64;
    if (at % 64 != 0 && word >> (64 - at % 64) != 0)
        out[at / 64 + 1] |= word >> (64 - at % 64);
}

tf_status tf_roaring_words(const uint8_t *cur, const uint8_t *end, int64_t start, int64_t stop, uint64_t *out,
                           size_t *offset)
{
    tf_roaring r;
    tf_container c;
    uint32_t low, high, first, past;
    tf_status status = tf_roaring_open(&r, cur, end);
    while (status == TF_OK && (status = tf_roaring_next(&r, &c)) == TF_OK) {
        if (!clip(&c, start, stop, &low, &high))
            continue;
        int64_t zero = c.base - start; /* the bit of value 0 */
        switch (c.kind) {
        case TF_ARRAY:
            for (uint32_t i = 0; i < c.items; i++) {
                uint32_t v = tf_load16(c.data + 2 * i);
                if (v >= low && v < high)
                    out[(zero + v) / 64] |= (uint64_t)1 << (zero + v) % 64;
            }
            break;
        case TF_RUNS:
            for (uint32_t i = 0; i < c.items; i++)
                if (clipped_run(&c, i, low, high, &first, &past))
                    set_bits(out, zero + first, zero + past);
            break;
        case TF_BITSET:
            for (uint32_t i = low / 64; 64 * i < high; i++)
                or_word(out, zero + 64 * i, clipped_word(&c, i, low, high));
        }
    }
    return finish(&r, status, offset);
}

/* --- Lists of runs and of positions -------------------------------------------------------------------------- */

typedef struct run_list {
    int64_t *starts, *lengths; /* NULL: count only */
    int64_t capacity, count;
    int64_t past; /* the row after the last run */
} run_list;

/* Append a run, or extend the last one if they touch. False: full. */
static bool add_run(run_list *list, int64_t first, int64_t past)
{
    bool touches = list->count > 0 && list->past == first;
    if (!touches) {
        if (list->starts != NULL && list->count == list->capacity)
            return false;
        if (list->starts != NULL) {
            list->starts[list->count] = first;
            list->lengths[list->count] = 0;
        }
        list->count++;
    }
    if (list->starts != NULL)
        list->lengths[list->count - 1] += past - first;
    list->past = past;
    return true;
}

static bool add_word_runs(run_list *list, int64_t at, uint64_t word)
{
    while (word != 0) {
        unsigned first = tf_trailing_zeros(word);
        uint64_t above = ~(word >> first);
        unsigned length = above == 0 ? 64 : tf_trailing_zeros(above); /* at most 64 - first: zeros are shifted in */
        if (!add_run(list, at + first, at + first + length))
            return false;
        word = first + length == 64 ? 0 : word & ~(uint64_t)0 << (first + length);
    }
    return true;
}

static bool add_container_runs(run_list *list, const tf_container *c, uint32_t low, uint32_t high)
{
    uint32_t first, past;
    bool fits = true;
    switch (c->kind) {
    case TF_ARRAY:
        for (uint32_t i = 0; i < c->items && fits; i++) {
            uint32_t v = tf_load16(c->data + 2 * i);
            if (v >= low && v < high)
                fits = add_run(list, c->base + v, c->base + v + 1);
        }
        break;
    case TF_RUNS:
        for (uint32_t i = 0; i < c->items && fits; i++)
            if (clipped_run(c, i, low, high, &first, &past))
                fits = add_run(list, c->base + first, c->base + past);
        break;
    case TF_BITSET:
        for (uint32_t i = low / 64; 64 * i < high && fits; i++)
            fits = add_word_runs(list, c->base + 64 * i, clipped_word(c, i, low, high));
    }
    return fits;
}

tf_status tf_roaring_ranges(const uint8_t *cur, const uint8_t *end, int64_t start, int64_t stop, int64_t *starts,
                            int64_t *lengths, int64_t capacity, int64_t *count, size_t *offset)
{
    tf_roaring r;
    tf_container c;
    uint32_t low, high;
    run_list list = {.starts = starts, .lengths = lengths, .capacity = capacity};
    tf_status status = tf_roaring_open(&r, cur, end);
    while (status == TF_OK && (status = tf_roaring_next(&r, &c)) == TF_OK)
        if (clip(&c, start, stop, &low, &high) && !add_container_runs(&list, &c, low, high))
            status = TF_CHANGED;
    *count = list.count;
    return finish(&r, status, offset);
}

/* The number of the container's values within low <= v < high. */
static int64_t count_values(const tf_container *c, uint32_t low, uint32_t high)
{
    uint32_t first, past;
    int64_t count = 0;
    if (low == 0 && high == VALUES)
        return c->cardinality;
    switch (c->kind) {
    case TF_ARRAY:
        for (uint32_t i = 0; i < c->items; i++) {
            uint32_t v = tf_load16(c->data + 2 * i);
            count += v >= low && v < high;
        }
        break;
    case TF_RUNS:
        for (uint32_t i = 0; i < c->items; i++)
            if (clipped_run(c, i, low, high, &first, &past))
                count += past - first;
        break;
    case TF_BITSET:
        for (uint32_t i = low / 64; 64 * i < high; i++)
            count += tf_popcount(clipped_word(c, i, low, high));
    }
    return count;
}

/* Append these values, `room` at most. Returns how many. */
static int64_t append_values(const tf_container *c, uint32_t low, uint32_t high, int64_t *out, int64_t room)
{
    uint32_t first, past;
    int64_t n = 0;
    switch (c->kind) {
    case TF_ARRAY:
        for (uint32_t i = 0; i < c->items && n < room; i++) {
            uint32_t v = tf_load16(c->data + 2 * i);
            if (v >= low && v < high)
                out[n++] = c->base + v;
        }
        break;
    case TF_RUNS:
        for (uint32_t i = 0; i < c->items; i++)
            if (clipped_run(c, i, low, high, &first, &past))
                for (uint32_t v = first; v < past && n < room; v++)
                    out[n++] = c->base + v;
        break;
    case TF_BITSET:
        for (uint32_t i = low / 64; 64 * i < high; i++)
            for (uint64_t word = clipped_word(c, i, low, high); word != 0 && n < room; word &= word - 1)
                out[n++] = c->base + 64 * i + tf_trailing_zeros(word);
    }
    return n;
}

tf_status tf_roaring_positions(const uint8_t *cur, const uint8_t *end, int64_t start, int64_t stop, int64_t *out,
                               int64_t capacity, int64_t *count, size_t *offset)
{
    tf_roaring r;
    tf_container c;
    uint32_t low, high;
    *count = 0;
    tf_status status = tf_roaring_open(&r, cur, end);
    while (status == TF_OK && (status = tf_roaring_next(&r, &c)) == TF_OK) {
        if (!clip(&c, start, stop, &low, &high))
            continue;
        int64_t found = count_values(&c, low, high);
        if (out != NULL && append_values(&c, low, high, out + *count, capacity - *count) != found)
            status = TF_CHANGED;
        *count += found;
    }
    return finish(&r, status, offset);
}
