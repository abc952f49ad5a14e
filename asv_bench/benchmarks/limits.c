/* The least that a plan must do with the bytes of our own benchmark tables: one straight pass, and no more.
 *
 * Not a reader: it knows how these tables were written and checks nothing. It is there to be compared with. */
#define _GNU_SOURCE
#include <stdint.h>
#include <string.h>

static int64_t number(const char *p)
{
    int64_t value = 0;
    int negative = *p == '-';
    for (p += negative; *p >= '0' && *p <= '9'; p++)
        value = 10 * value + (*p - '0');
    return negative ? -value : value;
}

/* The numbers behind the first and the second `key` of a text: minValues stand before maxValues. */
static void bounds_of(const char *text, const char *end, const char *key, int64_t length, int64_t *lower,
                      int64_t *upper)
{
    const char *first = memmem(text, (size_t)(end - text), key, (size_t)length);
    if (!first)
        return;
    const char *second = memmem(first + length, (size_t)(end - first - length), key, (size_t)length);
    *lower = number(first + length);
    if (second)
        *upper = number(second + length);
}

/* n texts of statistics, in an Arrow string array. */
void statistics(const char *data, const int32_t *offsets, int64_t n, const char *key, int64_t length, int64_t *lower,
                int64_t *upper)
{
    for (int64_t i = 0; i < n; i++)
        bounds_of(data + offsets[i], data + offsets[i + 1], key, length, lower + i, upper + i);
}

/* The adds and removes of a commit: their number. A date is the ten characters at date_at. */
int64_t commit(const char *data, int64_t size, const char *key, int64_t length, uint8_t *is_add, uint64_t *hash,
               int64_t *path_at, int32_t *path_length, int64_t *date_at, int64_t *lower, int64_t *upper)
{
    const char *end = data + size;
    int64_t n = 0;
    for (const char *line = data, *next; line < end; line = next) {
        next = memchr(line, '\n', (size_t)(end - line));
        next = next ? next + 1 : end;
        int add = !memcmp(line, "{\"add\":{\"path\":\"", 16);
        if (!add && memcmp(line, "{\"remove\":{\"path\":\"", 19))
            continue;
        const char *path = line + (add ? 16 : 19);
        const char *close = memchr(path, '"', (size_t)(next - path));
        uint64_t h = 14695981039346656037u;
        for (const char *p = path; p < close; p++)
            h = (h ^ (uint8_t)*p) * 1099511628211u;
        is_add[n] = (uint8_t)add;
        hash[n] = h;
        path_at[n] = path - data;
        path_length[n] = (int32_t)(close - path);
        date_at[n] = (const char *)memmem(close, (size_t)(next - close), "{\"date\":\"", 9) + 9 - data;
        if (add && length)
            bounds_of(close, next, key, length, lower + n, upper + n);
        n++;
    }
    return n;
}

/* Pieces of `data`, one behind the other. */
void gather(const char *data, const int64_t *at, const int32_t *lengths, int64_t n, char *out)
{
    for (int64_t i = 0; i < n; out += lengths[i++])
        memcpy(out, data + at[i], (size_t)lengths[i]);
}

static int64_t varint(const uint8_t **p)
{
    uint64_t value = 0;
    for (int shift = 0;; shift += 7) {
        uint8_t byte = *(*p)++;
        value |= (uint64_t)(byte & 0x7F) << shift;
        if (byte < 0x80)
            return (int64_t)(value >> 1) ^ -(int64_t)(value & 1);
    }
}

static void skip_octets(const uint8_t **p)
{
    int64_t length = varint(p);
    *p += length;
}

static void skip_counts(const uint8_t **p)
{ /* union null, map<int, long> */
    if (!varint(p))
        return;
    for (int64_t count; (count = varint(p));)
        for (int64_t i = 0; i < count; i++)
            varint(p), varint(p);
}

static void bounds_map(const uint8_t **p, int64_t field, int64_t *bound)
{ /* union null, map<int, bytes> */
    if (!varint(p))
        return;
    for (int64_t count; (count = varint(p));)
        for (int64_t i = 0; i < count; i++) {
            int64_t key = varint(p), length = varint(p);
            if (key == field)
                memcpy(bound, *p, 8);
            *p += length;
        }
}

typedef int (*inflate_fn)(void *, const void *, size_t, void *, size_t, size_t *);

/* All entries of a manifest, inflated one behind the other into `plain`: their number, or -1 if they do not fit. */
int64_t manifest(const uint8_t *file, int64_t size, inflate_fn inflate, void *inflater, uint8_t *plain,
                 int64_t capacity, int64_t field, uint8_t *status, int32_t *day, int64_t *path_at, int32_t *path_length,
                 int64_t *lower, int64_t *upper)
{
    const uint8_t *p = file + 4, *end = file + size;
    for (int64_t count; (count = varint(&p));)
        for (int64_t i = 0; i < 2 * count; i++)
            skip_octets(&p);
    p += 16;
    int64_t n = 0, used = 0;
    while (p < end) {
        int64_t records = varint(&p), length = varint(&p);
        size_t got = 0;
        if (inflate(inflater, p, (size_t)length, plain + used, (size_t)(capacity - used), &got))
            return -1;
        p += length + 16;
        const uint8_t *q = plain + used;
        for (int64_t i = 0; i < records; i++, n++) {
            status[n] = (uint8_t)varint(&q);
            for (int k = 0; k < 3; k++)
                if (varint(&q))
                    varint(&q); /* snapshot_id, sequence numbers */
            varint(&q);         /* content */
            path_length[n] = (int32_t)varint(&q);
            path_at[n] = q - plain;
            q += path_length[n];
            skip_octets(&q); /* file_format */
            varint(&q);
            day[n] = (int32_t)varint(&q);
            varint(&q), varint(&q); /* bucket */
            varint(&q), varint(&q); /* record_count, file_size_in_bytes */
            for (int k = 0; k < 4; k++)
                skip_counts(&q);
            bounds_map(&q, field, lower + n);
            bounds_map(&q, field, upper + n);
            if (varint(&q))
                skip_octets(&q);        /* key_metadata */
            for (int k = 0; k < 2; k++) /* split_offsets, equality_ids */
                if (varint(&q))
                    for (int64_t items; (items = varint(&q));)
                        for (int64_t j = 0; j < items; j++)
                            varint(&q);
            if (varint(&q))
                varint(&q); /* sort_order_id */
        }
        used = q - plain;
    }
    return n;
}
