/* Read the portable 64-bit roaring serialisation without building a bitmap.
 *
 * Every byte is checked before it is used. The functions that return rows read the whole input, so that all of them
 * refuse the same bytes. Nothing is allocated.
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
    int64_t base;         /* the position of value 0; values are 0 .. 65535 */
    uint32_t cardinality; /* 1 .. 65536 */
    uint32_t items;       /* values of an array, words of a bitset, runs */
    const uint8_t *data;  /* 2, 8 or 4 bytes per item */
} tf_container;

typedef struct tf_roaring {
    const uint8_t *start, *cur, *end;                /* after an error, cur is its position */
    uint64_t buckets;                                /* 32-bit bitmaps that are left */
    int64_t key;                                     /* of the current one, -1 before the first */
    const uint8_t *bucket, *runs, *header, *offsets; /* runs and offsets may be NULL: absent */
    uint32_t containers, next;
} tf_roaring;

/* Start to read [cur, end). Returns TF_OK, or an error of the count. */
tf_status tf_roaring_open(tf_roaring *reader, const uint8_t *cur, const uint8_t *end);

/* The next container, completely checked. Returns TF_OK, TF_END after the last one, or the error. */
tf_status tf_roaring_next(tf_roaring *reader, tf_container *container);

/* The following functions read [cur, end) to its end, whatever rows they are asked for. Rows are the positions
 * start <= row < stop. On an error *offset is its position, counted from cur. */

/* The number of positions, and the last one (-1: none). */
tf_status tf_roaring_summary(const uint8_t *cur, const uint8_t *end, int64_t *cardinality, int64_t *last,
                             size_t *offset);

/* out: uint8[stop - start], 1 if the row is live, 0 if it is deleted. */
tf_status tf_roaring_live(const uint8_t *cur, const uint8_t *end, int64_t start, int64_t stop, uint8_t *out,
                          size_t *offset);

/* out: uint64[ceil((stop - start) / 64)], zeroed before; bit i (LSB first) is set if row start + i is deleted. */
tf_status tf_roaring_words(const uint8_t *cur, const uint8_t *end, int64_t start, int64_t stop, uint64_t *out,
                           size_t *offset);

/* The deleted rows, ascending. out NULL: count only. Otherwise more than `capacity` rows give TF_CHANGED. */
tf_status tf_roaring_positions(const uint8_t *cur, const uint8_t *end, int64_t start, int64_t stop, int64_t *out,
                               int64_t capacity, int64_t *count, size_t *offset);

/* The maximal runs of deleted rows, ascending. starts NULL: count only. Otherwise as above. */
tf_status tf_roaring_ranges(const uint8_t *cur, const uint8_t *end, int64_t start, int64_t stop, int64_t *starts,
                            int64_t *lengths, int64_t capacity, int64_t *count, size_t *offset);

#endif
