#include "tf_avro_record.h"

#include "tf_bytes.h"

/* Readers take the cursor and return it behind what they read, or NULL after fail(). */
#define TRY(cursor)                                                                                                    \
    do {                                                                                                               \
        if (!(cursor))                                                                                                 \
            return NULL;                                                                                               \
    } while (0)

/* Keep the compiler from taking `value` from where it was compared with: the processor would wait for that. */
#ifdef __GNUC__
#define FORGET(value) __asm__("" : "+r"(value))
#else
#define FORGET(value) (void)(value)
#endif

static const uint8_t *fail(tf_avro_decoder *d, tf_avro_status status, const uint8_t *at)
{
    d->status = status;
    d->cursor = at;
    return NULL;
}

/* ---- numbers and lengths ------------------------------------------------------------------------------------- */

static inline int64_t unzigzag(uint64_t bits)
{
    return (int64_t)(bits >> 1) ^ -(int64_t)(bits & 1);
}

tf_avro_status tf_avro_varint(const uint8_t **cursor, const uint8_t *end, int64_t *value)
{
    const uint8_t *p = *cursor;
    uint64_t bits = 0;
    for (int shift = 0; shift < 70; shift += 7) {
        if (p == end)
            return TF_AVRO_TRUNCATED;
        uint8_t byte = *p++;
        /* The tenth byte may only hold the 64th bit. */
        if (shift == 63 && byte > 1)
            return TF_AVRO_BAD_VARINT;
        bits |= (uint64_t)(byte & 0x7F) << shift;
        if (byte < 0x80) {
            *cursor = p;
            *value = unzigzag(bits);
            return TF_AVRO_OK;
        }
    }
    return TF_AVRO_BAD_VARINT;
}

static inline const uint8_t *read_long(tf_avro_decoder *d, const uint8_t *p, int64_t *value)
{
    if (p < d->end && *p < 0x80) { /* one byte, the usual length */
        *value = unzigzag(*p);
        return p + 1;
    }
    tf_avro_status status = tf_avro_varint(&p, d->end, value);
    return status == TF_AVRO_OK ? p : fail(d, status, p);
}

static inline const uint8_t *skip_long(tf_avro_decoder *d, const uint8_t *p)
{
    if (d->end - p > 8) {
        /* Not by the bits of a word: what a branch predicts, nothing waits for. */
        for (int i = 0; i < 9; i++)
            if (p[i] < 0x80)
                return p + i + 1;
    }
    int64_t value;
    return read_long(d, p, &value);
}

/* `count` varints: at once where they have 64 bytes at most, and each of them eight. */
static const uint8_t *skip_longs(tf_avro_decoder *d, const uint8_t *p, int64_t count, tf_avro_guess *guess)
{
    if (count <= 64 && d->end - p >= 64) {
        uint64_t follows = tf_high_bits64(p), ends = ~follows;
        uint64_t guessed = ends << (64 - guess->bytes);
        uint64_t nine = follows & follows >> 1;
        nine &= nine >> 2;
        nine &= nine >> 4; /* eight that say "more follows", one behind the other */
        if (!nine && guessed >> 63 && tf_popcount(guessed) == (uint64_t)count)
            return p + guess->bytes;
        if (!nine && tf_popcount(ends) >= (uint64_t)count) {
            for (int64_t i = 1; i < count; i++)
                ends &= ends - 1;
            guess->bytes = (int32_t)tf_trailing_zeros(ends) + 1;
            return p + guess->bytes;
        }
    }
    for (; count > 0; count--)
        TRY(p = skip_long(d, p));
    return p;
}

static inline const uint8_t *take(tf_avro_decoder *d, const uint8_t *p, int64_t size)
{
    return size > d->end - p ? fail(d, TF_AVRO_TRUNCATED, p) : p + size;
}

/* A length and so many bytes; *start and *size say which. */
static inline const uint8_t *take_bytes(tf_avro_decoder *d, const uint8_t *p, const uint8_t **start, int32_t *size)
{
    const uint8_t *at = p;
    int64_t length;
    TRY(p = read_long(d, p, &length));
    if (length < 0 || length > d->end - p || length > INT32_MAX)
        return fail(d, TF_AVRO_BAD_LENGTH, at);
    *start = p;
    *size = (int32_t)length;
    return p + length;
}

/* take_bytes of the value of item i. */
static inline const uint8_t *take_value(tf_avro_decoder *d, const uint8_t *p, int64_t i, tf_avro_guess *guess,
                                        const uint8_t **start, int32_t *size)
{
    uint8_t *guessed = &guess->sizes[i & 15];
    if (d->end - p > 64) {
        uint64_t known = *guessed;
        *start = p + 1;
        if (*p == known) {
            FORGET(known);
            *size = (int32_t)(known >> 1);
            return p + 1 + (known >> 1);
        }
        if (*p < 0x80 && !(*p & 1)) { /* up to 63 bytes, as bounds have */
            *guessed = *p;
            *size = *p >> 1;
            return p + 1 + *size;
        }
    }
    return take_bytes(d, p, start, size);
}

/* ---- columns -------------------------------------------------------------------------------------------------- */

static inline const uint8_t *append_number(tf_avro_decoder *d, int32_t column, const uint8_t *p, int64_t value)
{
    tf_column_status status = tf_column_append(&d->columns[column], value, 1, &d->memory);
    return status == TF_COLUMN_OK ? p : fail(d, tf_avro_status_of(status), p);
}

static const uint8_t *append_bytes(tf_avro_decoder *d, int32_t column, const uint8_t *p, const uint8_t *bytes,
                                   int32_t size)
{
    tf_column *c = &d->columns[column];
    tf_column_status status = tf_column_append(c, 0, 1, &d->memory);
    if (status == TF_COLUMN_OK)
        status = tf_column_put(c, c->length - 1, bytes, size, &d->memory);
    return status == TF_COLUMN_OK ? p : fail(d, tf_avro_status_of(status), p);
}

static const uint8_t *append_null(tf_avro_decoder *d, const uint8_t *p, int32_t column)
{
    tf_column *c = &d->columns[column];
    /* A null list is empty, where the row before it ended. */
    tf_column_status status = tf_column_append(c, c->items, 0, &d->memory);
    if (status != TF_COLUMN_OK)
        return fail(d, tf_avro_status_of(status), p);
    if (c->kind != TF_COLUMN_NUMBERS)
        tf_column_fill(c, c->length);
    return p;
}

/* ---- the interpreter ------------------------------------------------------------------------------------------ */

static const uint8_t *run(tf_avro_decoder *d, const uint8_t *p, const int32_t *pc, const int32_t *stop);

/* The next block of an array: *count items, 0 at the end. *size is the block's bytes, -1 where not said. */
static inline const uint8_t *block_head(tf_avro_decoder *d, const uint8_t *p, int64_t min_size, int64_t *count,
                                        int64_t *size)
{
    const uint8_t *at = p;
    *size = -1;
    TRY(p = read_long(d, p, count));
    if (*count == 0)
        return p;
    if (*count < 0) {
        if (*count == INT64_MIN)
            return fail(d, TF_AVRO_BAD_COUNT, at);
        *count = -*count;
        TRY(p = read_long(d, p, size));
        if (*size < 0 || *size > d->end - p)
            return fail(d, TF_AVRO_BAD_LENGTH, at);
    }
    int64_t remaining = *size >= 0 ? *size : d->end - p;
    /* No overflow: both factors are below 2^31. */
    if (min_size > 0 && (*count > remaining || *count > INT32_MAX || *count * min_size > remaining)) {
        return fail(d, TF_AVRO_BAD_COUNT, at);
    }
    return p;
}

/* Items of an int key and a bytes value: with skip_longs the statistics of columns that nobody asked for, most of the
 * bytes of a manifest. */
static const uint8_t *skip_key_bytes(tf_avro_decoder *d, const uint8_t *p, int64_t count, tf_avro_guess *guess)
{
    const uint8_t *bytes;
    int32_t size;
    for (int64_t i = 0; i < count; i++) {
        TRY(p = skip_long(d, p));
        TRY(p = take_value(d, p, i, guess, &bytes, &size));
    }
    return p;
}

static const uint8_t *skip_array(tf_avro_decoder *d, const uint8_t *p, int64_t min_size, const int32_t *body,
                                 const int32_t *stop)
{
    int is_pair = stop - body == 2 && body[0] == TF_AVRO_SKIP_VARINT;
    tf_avro_guess *guess = &d->guesses[body - d->program];
    int64_t count, size;
    for (;;) {
        TRY(p = block_head(d, p, min_size, &count, &size));
        if (count == 0)
            return p;
        if (size >= 0) {
            p += size;
        } else if (is_pair && body[1] == TF_AVRO_SKIP_VARINT) {
            /* No overflow: there are not more items than bytes. */
            TRY(p = skip_longs(d, p, 2 * count, guess));
        } else if (is_pair && body[1] == TF_AVRO_SKIP_BYTES) {
            TRY(p = skip_key_bytes(d, p, count, guess));
        } else if (stop - body == 1 && body[0] == TF_AVRO_SKIP_VARINT) {
            TRY(p = skip_longs(d, p, count, guess));
        } else if (body < stop) {
            for (int64_t i = 0; i < count; i++)
                TRY(p = run(d, p, body, stop));
        }
    }
}

static const uint8_t *read_list(tf_avro_decoder *d, const uint8_t *p, int32_t column, int64_t min_size,
                                const int32_t *body, const int32_t *stop)
{
    tf_column *c = &d->columns[column];
    int64_t count, size;
    for (;;) {
        TRY(p = block_head(d, p, min_size, &count, &size));
        if (count == 0)
            return append_number(d, column, p, c->items);
        const uint8_t *start = p;
        for (int64_t i = 0; i < count; i++)
            TRY(p = run(d, p, body, stop));
        if (size >= 0 && p - start != size)
            return fail(d, TF_AVRO_BAD_LENGTH, p);
        c->items += count;
    }
}

/* ---- maps ----------------------------------------------------------------------------------------------------- */

static int32_t find_key(const tf_avro_decoder *d, int64_t key)
{
    int32_t low = 0, high = d->key_count;
    while (low < high) {
        int32_t middle = low + (high - low) / 2;
        if (d->keys[middle] < key) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    return low < d->key_count && d->keys[low] == key ? low : -1;
}

/* The last value of a key that stands twice in a map counts. */
static const uint8_t *set_bytes(tf_avro_decoder *d, const uint8_t *p, int32_t column, const uint8_t *bytes,
                                int32_t size)
{
    tf_column *c = &d->columns[column];
    c->present += !c->valid[d->row];
    tf_column_status status = tf_column_put(c, d->row, bytes, size, &d->memory);
    return status == TF_COLUMN_OK ? p : fail(d, tf_avro_status_of(status), p);
}

static void set_number(tf_avro_decoder *d, int32_t column, int64_t value)
{
    tf_column *c = &d->columns[column];
    c->present += !c->valid[d->row];
    c->valid[d->row] = 1;
    c->values[d->row] = value;
}

/* Items that are a key and a value and nothing else. */
static const uint8_t *read_pairs(tf_avro_decoder *d, const uint8_t *p, int32_t slot, int64_t count, int has_bytes,
                                 tf_avro_guess *guess)
{
    for (int64_t i = 0; i < count; i++) {
        const uint8_t *bytes;
        int64_t key, value;
        int32_t index, size;
        if (p < d->end && *p < 0x80) {
            index = d->small_keys[*p++];
        } else {
            TRY(p = read_long(d, p, &key));
            index = find_key(d, key);
        }
        if (has_bytes) {
            TRY(p = take_value(d, p, i, guess, &bytes, &size));
            if (index >= 0)
                TRY(p = set_bytes(d, p, slot + index, bytes, size));
        } else if (index >= 0) {
            TRY(p = read_long(d, p, &value));
            set_number(d, slot + index, value);
        } else {
            TRY(p = skip_long(d, p));
        }
    }
    return p;
}

/* One item of any other shape. */
static const uint8_t *read_item(tf_avro_decoder *d, const uint8_t *p, int32_t slot, const int32_t *body,
                                const int32_t *stop)
{
    d->map_has_key = 0;
    d->map_value_kind = 0;
    TRY(p = run(d, p, body, stop));
    int32_t index = d->map_has_key && d->map_value_kind ? find_key(d, d->map_key) : -1;
    if (index < 0)
        return p;
    if (d->map_value_kind == 2)
        return set_bytes(d, p, slot + index, d->map_bytes, d->map_size);
    set_number(d, slot + index, d->map_value);
    return p;
}

static const uint8_t *read_map(tf_avro_decoder *d, const uint8_t *p, int32_t slot, int64_t min_size,
                               const int32_t *body, const int32_t *stop)
{
    int is_pair = stop - body == 2 && body[0] == TF_AVRO_KEY;
    int64_t count, size;
    for (;;) {
        TRY(p = block_head(d, p, min_size, &count, &size));
        if (count == 0)
            return p;
        const uint8_t *start = p;
        if (is_pair && (body[1] == TF_AVRO_VALUE_LONG || body[1] == TF_AVRO_VALUE_BYTES)) {
            TRY(p = read_pairs(d, p, slot, count, body[1] == TF_AVRO_VALUE_BYTES, &d->guesses[body - d->program]));
        } else {
            for (int64_t i = 0; i < count; i++)
                TRY(p = read_item(d, p, slot, body, stop));
        }
        if (size >= 0 && p - start != size)
            return fail(d, TF_AVRO_BAD_LENGTH, p);
    }
}

/* ---- single values -------------------------------------------------------------------------------------------- */

static const uint8_t *read_union(tf_avro_decoder *d, const uint8_t *p, const int32_t *words)
{
    const uint8_t *at = p;
    int64_t branch;
    TRY(p = read_long(d, p, &branch));
    if (branch < 0 || branch >= words[1])
        return fail(d, TF_AVRO_BAD_BRANCH, at);
    int32_t stop = branch + 1 < words[1] ? words[3 + branch + 1] : words[2];
    return run(d, p, d->program + words[3 + branch], d->program + stop);
}

static const uint8_t *read_enum(tf_avro_decoder *d, const uint8_t *p, int64_t symbols, int64_t *value)
{
    const uint8_t *at = p;
    TRY(p = read_long(d, p, value));
    return *value < 0 || *value >= symbols ? fail(d, TF_AVRO_BAD_BRANCH, at) : p;
}

static const uint8_t *read_scalar(tf_avro_decoder *d, const uint8_t *p, const int32_t *words)
{
    const uint8_t *bytes = p;
    int64_t value = 0;
    switch (words[0]) {
    case TF_AVRO_BOOL:
        TRY(p = take(d, p, 1));
        if (bytes[0] > 1)
            return fail(d, TF_AVRO_BAD_BOOLEAN, bytes);
        value = bytes[0];
        break;
    case TF_AVRO_FLOAT:
        TRY(p = take(d, p, 4));
        value = tf_load32(bytes);
        break;
    case TF_AVRO_DOUBLE:
        TRY(p = take(d, p, 8));
        value = (int64_t)tf_load64(bytes);
        break;
    case TF_AVRO_FIXED: TRY(p = take(d, p, words[2])); return append_bytes(d, words[1], p, bytes, words[2]);
    default: /* TF_AVRO_ENUM */ TRY(p = read_enum(d, p, words[2], &value));
    }
    return append_number(d, words[1], p, value);
}

static const uint8_t *read_member(tf_avro_decoder *d, const uint8_t *p, const int32_t *words)
{
    switch (words[0]) {
    case TF_AVRO_KEY: d->map_has_key = 1; return read_long(d, p, &d->map_key);
    case TF_AVRO_VALUE_LONG: d->map_value_kind = 1; return read_long(d, p, &d->map_value);
    case TF_AVRO_VALUE_BYTES: d->map_value_kind = 2; return take_bytes(d, p, &d->map_bytes, &d->map_size);
    default: /* TF_AVRO_VALUE_FIXED */
        d->map_value_kind = 2;
        d->map_size = words[1];
        d->map_bytes = p;
        return take(d, p, words[1]);
    }
}

/* What the body reads, and its encoded bytes. */
static const uint8_t *read_raw(tf_avro_decoder *d, const uint8_t *p, int32_t column, const int32_t *body,
                               const int32_t *stop)
{
    const uint8_t *start = p;
    TRY(p = run(d, p, body, stop));
    if (p - start > INT32_MAX)
        return fail(d, TF_AVRO_BAD_LENGTH, start);
    return append_bytes(d, column, p, start, (int32_t)(p - start));
}

static const uint8_t *run(tf_avro_decoder *d, const uint8_t *p, const int32_t *pc, const int32_t *stop)
{
    const uint8_t *bytes;
    int64_t value;
    int32_t size;
    while (pc < stop) {
        switch (pc[0]) {
        case TF_AVRO_SKIP_VARINT:
            TRY(p = skip_long(d, p));
            pc += 1;
            break;
        case TF_AVRO_SKIP_BYTES:
            TRY(p = take_bytes(d, p, &bytes, &size));
            pc += 1;
            break;
        case TF_AVRO_SKIP_FIXED:
            TRY(p = take(d, p, pc[1]));
            pc += 2;
            break;
        case TF_AVRO_SKIP_ENUM:
            TRY(p = read_enum(d, p, pc[1], &value));
            pc += 2;
            break;
        case TF_AVRO_SKIP_ARRAY:
            TRY(p = skip_array(d, p, pc[1], pc + 3, pc + 3 + pc[2]));
            pc += 3 + pc[2];
            break;
        case TF_AVRO_OPTIONAL:
            bytes = p;
            TRY(p = read_long(d, p, &value));
            if (value != 0 && value != 1)
                return fail(d, TF_AVRO_BAD_BRANCH, bytes);
            if (value != pc[1]) {
                pc += 4 + pc[2];
                break;
            }
            for (int32_t i = 0; i < pc[2]; i += 2)
                TRY(p = append_null(d, p, pc[4 + i + 1]));
            pc += 4 + pc[2] + pc[3];
            break;
        case TF_AVRO_UNION:
            TRY(p = read_union(d, p, pc));
            pc = d->program + pc[2];
            break;
        case TF_AVRO_LONG:
            TRY(p = read_long(d, p, &value));
            TRY(p = append_number(d, pc[1], p, value));
            pc += 2;
            break;
        case TF_AVRO_NULL:
            TRY(p = append_null(d, p, pc[1]));
            pc += 2;
            break;
        case TF_AVRO_INT:
            bytes = p;
            TRY(p = read_long(d, p, &value));
            if (value < INT32_MIN || value > INT32_MAX)
                return fail(d, TF_AVRO_BAD_INT, bytes);
            TRY(p = append_number(d, pc[1], p, value));
            pc += 2;
            break;
        case TF_AVRO_BYTES:
            TRY(p = take_bytes(d, p, &bytes, &size));
            TRY(p = append_bytes(d, pc[1], p, bytes, size));
            pc += 2;
            break;
        case TF_AVRO_BOOL:
        case TF_AVRO_FLOAT:
        case TF_AVRO_DOUBLE:
            TRY(p = read_scalar(d, p, pc));
            pc += 2;
            break;
        case TF_AVRO_FIXED:
        case TF_AVRO_ENUM:
            TRY(p = read_scalar(d, p, pc));
            pc += 3;
            break;
        case TF_AVRO_LIST:
            TRY(p = read_list(d, p, pc[1], pc[2], pc + 4, pc + 4 + pc[3]));
            pc += 4 + pc[3];
            break;
        case TF_AVRO_MAP:
            TRY(p = read_map(d, p, pc[1], pc[2], pc + 4, pc + 4 + pc[3]));
            pc += 4 + pc[3];
            break;
        case TF_AVRO_KEY:
        case TF_AVRO_VALUE_LONG:
        case TF_AVRO_VALUE_BYTES:
        case TF_AVRO_VALUE_FIXED:
            TRY(p = read_member(d, p, pc));
            pc += pc[0] == TF_AVRO_VALUE_FIXED ? 2 : 1;
            break;
        case TF_AVRO_RAW:
            TRY(p = read_raw(d, p, pc[1], pc + 3, pc + 3 + pc[2]));
            pc += 3 + pc[2];
            break;
        default: return fail(d, TF_AVRO_BAD_PROGRAM, p);
        }
    }
    return p;
}

/* ---- one record ----------------------------------------------------------------------------------------------- */

void tf_avro_record_begin(tf_avro_decoder *d)
{
    for (int32_t byte = 0; byte < 128; byte++)
        d->small_keys[byte] = find_key(d, unzigzag((uint64_t)byte));
    for (int32_t i = 0; i < d->program_length; i++)
        d->guesses[i].bytes = 1;
}

const uint8_t *tf_avro_record(tf_avro_decoder *d, const uint8_t *p)
{
    return run(d, p, d->program, d->program + d->program_length);
}
