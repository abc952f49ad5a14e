/* All blocks of an Avro container file, inflated and decoded in one pass.
 *
 * For the files that are as they should be: at anything odd the pass ends, and a reader that goes block by block says
 * what is wrong and where, or reads what only looked odd. Nothing is believed here that is not checked there.
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

/* Raw deflate, a block at a time, into memory that is used again. */
typedef struct {
    tf_inflate_fn inflate;
    tf_adler32_fn adler32;
    void *inflater; /* libdeflate's, of one thread */
    uint8_t *plain;
    int64_t capacity;
    int64_t limit; /* most bytes that a block may inflate to */
} tf_avro_inflater;

/* Decode the blocks of the file [data, data + size) from `offset` on.
 *
 * sync      16 bytes, behind every block
 * min_size  bytes that a record has at least
 * most_records  so many there may be, with those that are left out
 * ahead     about how many bytes of further files will be decoded behind these into the same columns
 * inflater  NULL: the blocks are plain
 *
 * Returns 1; or 0, and then the decoder must be thrown away. */
int tf_avro_decode_blocks(tf_avro_decoder *decoder, const uint8_t *data, int64_t size, int64_t offset,
                          const uint8_t *sync, int64_t min_size, int64_t most_records, int64_t ahead,
                          tf_avro_inflater *inflater);

#endif
