/* Reads the portable 64-bit roaring serialisation without building a bitmap. Every byte is checked before use.
 *
 * Source: RoaringFormatSpec, "Extension for 64-bit implementations" and "General layout"; Iceberg Puffin spec,
 * "deletion-vector-v1" and Delta PROTOCOL.md, "Deletion Vector Format", which hold the same bytes.
 *
 *   +---------+---------------------------------------+
 *   | count 8 | count times: key 4 | 32-bit bitmap    |     all integers are little-endian and unsigned
 *   +---------+---------------------------------------+
 *
 * A position is key << 32 | value; keys ascend strictly and stay below 2^31. The 32-bit bitmap with n containers:
 *
 *   12346 4 | n 4         |                   header 4n | offsets 4n             | containers
 *   12347 2 | n - 1     2 | runs ceil(n / 8)| header 4n | offsets 4n, for n >= 4 | containers
 *
 *   runs       bit i (LSB first): container i is a run container
 *   header     pairs: key 2 (upper 16 bits of the value, strictly ascending) | cardinality - 1 2
 *   offsets    where each container begins, counted from the cookie
 *   container  run:     m 2 | m times: first 2, length - 1 2         ascending, not overlapping; they may touch
 *              array:   cardinality times: lower 16 bits 2           strictly ascending; up to 4096 values
 *              bitset:  1024 words of 8                              more than 4096 values
 *
 * A 32-bit bitmap may be empty (n = 0 under cookie 12346), as Iceberg writes for keys without a position.
 */
#ifndef TF_ROARING_H
#define TF_ROARING_H

#include <stddef.h>
#include <stdint.h>

#include "tf_status.h"

typedef enum tf_container_kind { TF_ARRAY, TF_BITSET, TF_RUNS } tf_container_kind;

typedef struct tf_container {
    tf_container_kind kind;
    int64_t base;         /* position of the value 0; values are 0 .. 65535 */
    uint32_t cardinality; /* 1 .. 65536 */
    uint32_t items;       /* values of an array, words of a bitset, runs */
    const uint8_t *data;  /* items times 2, 8 or 4 bytes */
} tf_container;

typedef struct tf_roaring {
    const uint8_t *start, *cur, *end;                /* after an error, cur is what was wrong */
    uint64_t buckets;                                /* 32-bit bitmaps still to come */
    int64_t key;                                     /* of the current one, -1 before the first */
    const uint8_t *bucket, *runs, *header, *offsets; /* runs and offsets may be NULL: absent */
    uint32_t containers, next;
} tf_roaring;

/* Begins to read [cur, end). TF_OK, or what is wrong with the count. */
tf_status tf_roaring_open(tf_roaring *reader, const uint8_t *cur, const uint8_t *end);

/* The next container, checked whole. TF_OK, TF_END after the last (nothing may follow it), or what is wrong. */
tf_status tf_roaring_next(tf_roaring *reader, tf_container *container);

/* What follows reads [cur, end) to its end, so every call refuses the same bytes, whatever rows it asks for.
 * Rows are positions start <= row < stop. On an error *offset is where it is, counted from cur. */

/* Number of positions, and the last of them (-1: none). */
tf_status tf_roaring_summary(const uint8_t *cur, const uint8_t *end, int64_t *cardinality, int64_t *last,
                             size_t *offset);

/* out: uint8[stop - start], 1 where the row is live, 0 where it is deleted. */
tf_status tf_roaring_live(const uint8_t *cur, const uint8_t *end, int64_t start, int64_t stop, uint8_t *out,
                          size_t *offset);

/* out: uint64[ceil((stop - start) / 64)], all 0 before; bit i (LSB first) is set if row start + i is deleted. */
tf_status tf_roaring_words(const uint8_t *cur, const uint8_t *end, int64_t start, int64_t stop, uint64_t *out,
                           size_t *offset);

/* Deleted rows, ascending. out NULL: count only; else at most `capacity` of them, more are TF_CHANGED. */
tf_status tf_roaring_positions(const uint8_t *cur, const uint8_t *end, int64_t start, int64_t stop, int64_t *out,
                               int64_t capacity, int64_t *count, size_t *offset);

/* Maximal runs of deleted rows, ascending. starts NULL: count only; else as above. */
tf_status tf_roaring_ranges(const uint8_t *cur, const uint8_t *end, int64_t start, int64_t stop, int64_t *starts,
                            int64_t *lengths, int64_t capacity, int64_t *count, size_t *offset);

#endif
