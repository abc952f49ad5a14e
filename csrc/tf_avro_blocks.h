/* Inflate and decode all blocks of an Avro container file in one pass.
 *
 * This is the fast path for sound files. At any irregularity the pass fails, and a slower reader, which goes block by
 * block, reports the error and its position, or reads a file that is unusual but valid. A file that is
 * accepted here gives the same rows as with the slower reader.
 *
 * Source: Apache Avro specification, "Object Container Files".
 */
#ifndef TF_AVRO_BLOCKS_H
#define TF_AVRO_BLOCKS_H

#include <stddef.h>
#include <stdint.h>

#include "tf_avro.h"

/* libdeflate_deflate_decompress_ex and libdeflate_adler32. */
typedef int (*tf_inflate_fn)(void *inflater, const void *in, size_t in_size, void *out, size_t room, size_t *in_used,
                             size_t *out_used);
typedef uint32_t (*tf_adler32_fn)(uint32_t adler, const void *data, size_t size);

/* Inflates raw deflate, one block at a time, into memory that is reused. */
typedef struct {
    tf_inflate_fn inflate;
    tf_adler32_fn adler32;
    void *inflater; /* a libdeflate decompressor, used by one thread */
    uint8_t *plain;
    int64_t capacity;
    int64_t limit; /* the most bytes of an inflated block */
    int64_t total; /* the most bytes of all blocks that are still to come */
} tf_avro_inflater;

/* Decode the blocks of the file [data, data + size) from `offset` on.
 *
 * sync          16 bytes, after every block
 * min_size      the least bytes of a record
 * most_records  the most records, counting those that are dropped
 * ahead         an estimate of the bytes of further files that will be decoded into the same columns
 * inflater      NULL: the blocks are not compressed
 *
 * Returns 1; or 0, and then the decoder must be discarded. */
int tf_avro_decode_blocks(tf_avro_decoder *decoder, const uint8_t *data, int64_t size, int64_t offset,
                          const uint8_t *sync, int64_t min_size, int64_t most_records, int64_t ahead,
                          tf_avro_inflater *inflater);

#endif
