#include "tf_avro.h"

#include <stdlib.h>
#include <string.h>

#define TRY(call)                              \
    do {                                       \
        tf_avro_status tried_ = (call);        \
        if (tried_ != TF_AVRO_OK) return tried_; \
    } while (0)

tf_avro_status tf_avro_varint(const uint8_t **cursor, const uint8_t *end, int64_t *value) {
    const uint8_t *p = *cursor;
    uint64_t bits = 0;
    for (int shift = 0; shift < 70; shift += 7) {
        if (p == end) return TF_AVRO_TRUNCATED;
        uint8_t byte = *p++;
        /* The tenth byte may only hold the 64th bit. */
        if (shift == 63 && byte > 1) return TF_AVRO_BAD_VARINT;
        bits |= (uint64_t)(byte & 0x7F) << shift;
        if (byte < 0x80) {
            *cursor = p;
            *value = (int64_t)(bits >> 1) ^ -(int64_t)(bits & 1);
            return TF_AVRO_OK;
        }
    }
    return TF_AVRO_BAD_VARINT;
}

static inline tf_avro_status read_long(tf_avro_decoder *d, int64_t *value) {
    if (d->cursor < d->end && *d->cursor < 0x80) { /* one byte, the usual length */
        uint8_t byte = *d->cursor++;
        *value = (int64_t)(byte >> 1) ^ -(int64_t)(byte & 1);
        return TF_AVRO_OK;
    }
    return tf_avro_varint(&d->cursor, d->end, value);
}

static inline tf_avro_status take(tf_avro_decoder *d, int64_t size, const uint8_t **start) {
    if (size > d->end - d->cursor) return TF_AVRO_TRUNCATED;
    *start = d->cursor;
    d->cursor += size;
    return TF_AVRO_OK;
}

static inline tf_avro_status take_bytes(tf_avro_decoder *d, const uint8_t **start, int32_t *size) {
    const uint8_t *at = d->cursor;
    int64_t length;
    TRY(read_long(d, &length));
    if (length < 0 || length > d->end - d->cursor || length > INT32_MAX) {
        d->cursor = at;
        return TF_AVRO_BAD_LENGTH;
    }
    *start = d->cursor;
    *size = (int32_t)length;
    d->cursor += length;
    return TF_AVRO_OK;
}

/* ---- columns ------------------------------------------------------------------------------------------------ */

static tf_avro_status charge(tf_avro_decoder *d, int64_t more) {
    if (more > d->memory_limit - d->memory) return TF_AVRO_LIMIT;
    d->memory += more;
    return TF_AVRO_OK;
}

static tf_avro_status grow_rows(tf_avro_decoder *d, tf_avro_column *c) {
    int64_t capacity = c->capacity < 64 ? 64 : c->capacity * 2;
    int64_t width = (int64_t)sizeof(int64_t) + 1 + (c->has_data ? (int64_t)sizeof(int32_t) : 0);
    TRY(charge(d, (capacity - c->capacity) * width));
    int64_t *values = realloc(c->values, (size_t)capacity * sizeof(int64_t));
    if (!values) return TF_AVRO_NO_MEMORY;
    c->values = values;
    uint8_t *valid = realloc(c->valid, (size_t)capacity);
    if (!valid) return TF_AVRO_NO_MEMORY;
    c->valid = valid;
    if (c->has_data) {
        int32_t *sizes = realloc(c->sizes, (size_t)capacity * sizeof(int32_t));
        if (!sizes) return TF_AVRO_NO_MEMORY;
        c->sizes = sizes;
    }
    c->capacity = capacity;
    return TF_AVRO_OK;
}

static inline tf_avro_status append(tf_avro_decoder *d, tf_avro_column *c, int64_t value, uint8_t valid) {
    if (c->length == c->capacity) TRY(grow_rows(d, c));
    c->values[c->length] = value;
    c->valid[c->length] = valid;
    if (c->has_data) c->sizes[c->length] = 0;
    c->length++;
    return TF_AVRO_OK;
}

static tf_avro_status store(tf_avro_decoder *d, tf_avro_column *c, const uint8_t *bytes, int32_t size) {
    if (size > c->data_capacity - c->data_length) {
        int64_t capacity = c->data_capacity < 1024 ? 1024 : c->data_capacity * 2;
        while (capacity - c->data_length < size) capacity *= 2;
        TRY(charge(d, capacity - c->data_capacity));
        uint8_t *data = realloc(c->data, (size_t)capacity);
        if (!data) return TF_AVRO_NO_MEMORY;
        c->data = data;
        c->data_capacity = capacity;
    }
    if (size) memcpy(c->data + c->data_length, bytes, (size_t)size);
    c->data_length += size;
    return TF_AVRO_OK;
}

static tf_avro_status append_bytes(tf_avro_decoder *d, tf_avro_column *c, const uint8_t *bytes, int32_t size) {
    int64_t start = c->data_length;
    TRY(store(d, c, bytes, size));
    TRY(append(d, c, start, 1));
    c->sizes[c->length - 1] = size;
    return TF_AVRO_OK;
}

void tf_avro_free(tf_avro_decoder *d) {
    for (int32_t i = 0; i < d->column_count; i++) {
        tf_avro_column *c = &d->columns[i];
        free(c->values);
        free(c->sizes);
        free(c->valid);
        free(c->data);
        memset(c, 0, sizeof *c);
    }
    d->memory = 0;
}

/* ---- the interpreter ---------------------------------------------------------------------------------------- */

static tf_avro_status run(tf_avro_decoder *d, int32_t pc, int32_t stop);

/* The next block of an array: *count items, 0 at the end. *size is the block's bytes, -1 where not said. */
static tf_avro_status block_head(tf_avro_decoder *d, int64_t min_size, int64_t *count, int64_t *size) {
    const uint8_t *at = d->cursor;
    *size = -1;
    TRY(read_long(d, count));
    if (*count < 0) {
        if (*count == INT64_MIN) {
            d->cursor = at;
            return TF_AVRO_BAD_COUNT;
        }
        *count = -*count;
        TRY(read_long(d, size));
        if (*size < 0 || *size > d->end - d->cursor) {
            d->cursor = at;
            return TF_AVRO_BAD_LENGTH;
        }
    }
    int64_t remaining = *size >= 0 ? *size : d->end - d->cursor;
    if (min_size > 0 && *count > remaining / min_size) {
        d->cursor = at;
        return TF_AVRO_BAD_COUNT;
    }
    return TF_AVRO_OK;
}

/* Items of an int key and a long or bytes value: the statistics of columns that nobody asked for, most of the bytes
 * of a manifest. */
static tf_avro_status skip_pairs(tf_avro_decoder *d, int64_t count, int has_bytes) {
    const uint8_t *bytes;
    int64_t value;
    int32_t size;
    for (int64_t i = 0; i < count; i++) {
        TRY(read_long(d, &value));
        if (has_bytes) {
            TRY(take_bytes(d, &bytes, &size));
        } else {
            TRY(read_long(d, &value));
        }
    }
    return TF_AVRO_OK;
}

static tf_avro_status skip_array(tf_avro_decoder *d, int64_t min_size, int32_t body, int32_t stop) {
    int64_t count, size;
    for (;;) {
        TRY(block_head(d, min_size, &count, &size));
        if (count == 0) return TF_AVRO_OK;
        if (size >= 0) {
            d->cursor += size;
        } else if (body + 2 == stop && d->program[body] == TF_AVRO_SKIP_VARINT &&
                   (d->program[body + 1] == TF_AVRO_SKIP_VARINT || d->program[body + 1] == TF_AVRO_SKIP_BYTES)) {
            TRY(skip_pairs(d, count, d->program[body + 1] == TF_AVRO_SKIP_BYTES));
        } else if (body < stop) {
            for (int64_t i = 0; i < count; i++) TRY(run(d, body, stop));
        }
    }
}

/* After a block that declared its size, the cursor must stand at its end. */
static tf_avro_status check_block(tf_avro_decoder *d, const uint8_t *start, int64_t size) {
    return size >= 0 && d->cursor - start != size ? TF_AVRO_BAD_LENGTH : TF_AVRO_OK;
}

static tf_avro_status read_list(tf_avro_decoder *d, tf_avro_column *c, int64_t min_size, int32_t body, int32_t stop) {
    int64_t count, size;
    for (;;) {
        TRY(block_head(d, min_size, &count, &size));
        if (count == 0) return append(d, c, c->items, 1);
        const uint8_t *start = d->cursor;
        for (int64_t i = 0; i < count; i++) TRY(run(d, body, stop));
        TRY(check_block(d, start, size));
        c->items += count;
    }
}

static int32_t find_key(const tf_avro_decoder *d, int64_t key) {
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

static tf_avro_status set_map_value(tf_avro_decoder *d, int32_t slot) {
    int32_t index = d->map_has_key && d->map_value_kind ? find_key(d, d->map_key) : -1;
    if (index < 0) return TF_AVRO_OK;
    tf_avro_column *c = &d->columns[slot + index];
    int64_t row = c->length - 1;
    if (d->map_value_kind == 2) {
        int64_t start = c->data_length;
        TRY(store(d, c, d->map_bytes, d->map_size));
        c->values[row] = start;
        c->sizes[row] = d->map_size;
    } else {
        c->values[row] = d->map_value;
    }
    c->valid[row] = 1;
    return TF_AVRO_OK;
}

static tf_avro_status read_map(tf_avro_decoder *d, int32_t slot, int64_t min_size, int32_t body, int32_t stop) {
    int64_t count, size;
    for (;;) {
        TRY(block_head(d, min_size, &count, &size));
        if (count == 0) return TF_AVRO_OK;
        const uint8_t *start = d->cursor;
        for (int64_t i = 0; i < count; i++) {
            d->map_has_key = 0;
            d->map_value_kind = 0;
            TRY(run(d, body, stop));
            TRY(set_map_value(d, slot));
        }
        TRY(check_block(d, start, size));
    }
}

static tf_avro_status read_union(tf_avro_decoder *d, int32_t pc) {
    const int32_t *words = d->program + pc;
    const uint8_t *at = d->cursor;
    int64_t branch;
    TRY(read_long(d, &branch));
    if (branch < 0 || branch >= words[1]) {
        d->cursor = at;
        return TF_AVRO_BAD_BRANCH;
    }
    int32_t stop = branch + 1 < words[1] ? words[3 + branch + 1] : words[2];
    return run(d, words[3 + branch], stop);
}

static tf_avro_status read_enum(tf_avro_decoder *d, int64_t symbols, int64_t *value) {
    TRY(read_long(d, value));
    return *value < 0 || *value >= symbols ? TF_AVRO_BAD_BRANCH : TF_AVRO_OK;
}

static tf_avro_status read_scalar(tf_avro_decoder *d, const int32_t *words) {
    tf_avro_column *c = &d->columns[words[1]];
    const uint8_t *bytes;
    int64_t value = 0;
    int32_t size;
    switch (words[0]) {
    case TF_AVRO_LONG:
        TRY(read_long(d, &value));
        break;
    case TF_AVRO_INT:
        TRY(read_long(d, &value));
        if (value < INT32_MIN || value > INT32_MAX) return TF_AVRO_BAD_INT;
        break;
    case TF_AVRO_BOOL:
        TRY(take(d, 1, &bytes));
        if (bytes[0] > 1) return TF_AVRO_BAD_BOOLEAN;
        value = bytes[0];
        break;
    case TF_AVRO_FLOAT:
    case TF_AVRO_DOUBLE:
        size = words[0] == TF_AVRO_FLOAT ? 4 : 8;
        TRY(take(d, size, &bytes));
        for (int32_t i = 0; i < size; i++) value |= (int64_t)((uint64_t)bytes[i] << (8 * i));
        break;
    case TF_AVRO_BYTES:
        TRY(take_bytes(d, &bytes, &size));
        return append_bytes(d, c, bytes, size);
    case TF_AVRO_FIXED:
        TRY(take(d, words[2], &bytes));
        return append_bytes(d, c, bytes, words[2]);
    case TF_AVRO_ENUM:
        TRY(read_enum(d, words[2], &value));
        break;
    default: /* TF_AVRO_NULL; null lists and bytes are empty, where the row before them ended */
        return append(d, c, c->has_data ? c->data_length : c->items, 0);
    }
    return append(d, c, value, 1);
}

static tf_avro_status read_value(tf_avro_decoder *d, const int32_t *words) {
    switch (words[0]) {
    case TF_AVRO_KEY:
        d->map_has_key = 1;
        return read_long(d, &d->map_key);
    case TF_AVRO_VALUE_LONG:
        d->map_value_kind = 1;
        return read_long(d, &d->map_value);
    case TF_AVRO_VALUE_BYTES:
        d->map_value_kind = 2;
        return take_bytes(d, &d->map_bytes, &d->map_size);
    default: /* TF_AVRO_VALUE_FIXED */
        d->map_value_kind = 2;
        d->map_size = words[1];
        return take(d, words[1], &d->map_bytes);
    }
}

static tf_avro_status skip_value(tf_avro_decoder *d, const int32_t *words) {
    const uint8_t *bytes;
    int64_t value;
    int32_t size;
    switch (words[0]) {
    case TF_AVRO_SKIP_VARINT:
        return read_long(d, &value);
    case TF_AVRO_SKIP_BYTES:
        return take_bytes(d, &bytes, &size);
    case TF_AVRO_SKIP_FIXED:
        return take(d, words[1], &bytes);
    default: /* TF_AVRO_SKIP_ENUM */
        return read_enum(d, words[1], &value);
    }
}

static tf_avro_status run(tf_avro_decoder *d, int32_t pc, int32_t stop) {
    /* Words that an operation takes, by operation; arrays and unions carry bodies on top. */
    static const int8_t width[] = {0, 1, 1, 2, 2, 0, 0, 2, 2, 2, 2, 2, 2, 3, 3, 2, 0, 0, 1, 1, 1, 2};
    while (pc < stop) {
        const int32_t *words = d->program + pc;
        switch (words[0]) {
        case TF_AVRO_SKIP_VARINT:
        case TF_AVRO_SKIP_BYTES:
        case TF_AVRO_SKIP_FIXED:
        case TF_AVRO_SKIP_ENUM:
            TRY(skip_value(d, words));
            break;
        case TF_AVRO_SKIP_ARRAY:
            TRY(skip_array(d, words[1], pc + 3, pc + 3 + words[2]));
            pc += 3 + words[2];
            continue;
        case TF_AVRO_UNION:
            TRY(read_union(d, pc));
            pc = words[2];
            continue;
        case TF_AVRO_LIST:
            TRY(read_list(d, &d->columns[words[1]], words[2], pc + 4, pc + 4 + words[3]));
            pc += 4 + words[3];
            continue;
        case TF_AVRO_MAP:
            TRY(read_map(d, words[1], words[2], pc + 4, pc + 4 + words[3]));
            pc += 4 + words[3];
            continue;
        case TF_AVRO_KEY:
        case TF_AVRO_VALUE_LONG:
        case TF_AVRO_VALUE_BYTES:
        case TF_AVRO_VALUE_FIXED:
            TRY(read_value(d, words));
            break;
        default:
            if (words[0] < TF_AVRO_LONG || words[0] > TF_AVRO_NULL) return TF_AVRO_BAD_PROGRAM;
            TRY(read_scalar(d, words));
        }
        pc += width[words[0]];
    }
    return TF_AVRO_OK;
}

tf_avro_status tf_avro_decode(tf_avro_decoder *d, const uint8_t *block, int64_t size, int64_t count,
                              int64_t *offset) {
    tf_avro_status status = TF_AVRO_OK;
    d->cursor = block;
    d->end = block + size;
    for (int64_t row = 0; row < count && status == TF_AVRO_OK; row++) {
        for (int32_t i = d->sparse_start; i < d->column_count && status == TF_AVRO_OK; i++) {
            status = append(d, &d->columns[i], d->columns[i].data_length, 0);
        }
        if (status == TF_AVRO_OK) status = run(d, 0, d->program_length);
    }
    if (status == TF_AVRO_OK && d->cursor != d->end) status = TF_AVRO_TRAILING;
    *offset = d->cursor - block;
    return status;
}
