/* A bounded interpreter that decodes Avro records directly into columns.
 *
 * The writer's schema is compiled (in Python, once per schema) into a small program of int32 words. The interpreter
 * runs it once per record over one inflated block. Values that are not wanted are skipped. Every read is checked
 * against the end of the block, and memory is counted against a limit. No I/O, no Python; recursion is bounded by the
 * nesting of the program.
 *
 * Encoding: Apache Avro specification, "Binary Encoding". Integers are zig-zag varints, bytes and strings carry a
 * length, an array is blocks of (count, items) closed by a count of 0; a negative count is its absolute value followed
 * by the block's size in bytes.
 *
 * The program is a sequence; a record is simply its fields one after the other. "body" is a sequence of `len` words.
 *
 *   SKIP_VARINT                           SKIP_BYTES                      SKIP_FIXED n        SKIP_ENUM symbols
 *   SKIP_ARRAY min_size len body...       items of at least min_size bytes (0: the item is empty)
 *   OPTIONAL null m len nulls... body...  a union of null (branch `null`: m words of NULLs) and something (the body)
 *   UNION n end start_0 ... start_n-1     branch i is the words [start_i, start_i+1 or end)
 *   LONG col   INT col   BOOL col   FLOAT col   DOUBLE col   BYTES col   FIXED col n   ENUM col symbols
 *   NULL col                              append a null
 *   LIST col min_size len body...         append the end offset of this row's items; the body fills child columns
 *   MAP slot min_size len body...         key/value items; the value of wanted key k goes to column slot + index(k)
 *   KEY   VALUE_LONG   VALUE_BYTES   VALUE_FIXED n                          inside the body of a MAP
 *   RAW col len body...                   append the encoded bytes of what the body reads
 */
#ifndef TF_AVRO_H
#define TF_AVRO_H

#include <stdint.h>

#include "tf_columns.h"

typedef enum {
    TF_AVRO_OK = 0,
    TF_AVRO_TRUNCATED = 1,   /* a value passes the end of the block */
    TF_AVRO_BAD_VARINT = 2,  /* over 10 bytes, or over 64 bits */
    TF_AVRO_BAD_LENGTH = 3,  /* negative, or past the end */
    TF_AVRO_BAD_COUNT = 4,   /* INT64_MIN, or more items than the remaining bytes hold */
    TF_AVRO_BAD_BRANCH = 5,  /* union or enum index out of range */
    TF_AVRO_BAD_BOOLEAN = 6, /* neither 0 nor 1 */
    TF_AVRO_BAD_INT = 7,     /* an int of more than 32 bits */
    TF_AVRO_TRAILING = 8,    /* bytes left after the declared records */
    TF_AVRO_NO_MEMORY = 9,
    TF_AVRO_LIMIT = 10,      /* the columns would pass the memory limit */
    TF_AVRO_BAD_PROGRAM = 11 /* a defect of the compiler, never of the data */
} tf_avro_status;

typedef enum {
    TF_AVRO_SKIP_VARINT = 1,
    TF_AVRO_SKIP_BYTES = 2,
    TF_AVRO_SKIP_FIXED = 3,
    TF_AVRO_SKIP_ENUM = 4,
    TF_AVRO_SKIP_ARRAY = 5,
    TF_AVRO_UNION = 6,
    TF_AVRO_LONG = 7,
    TF_AVRO_INT = 8,
    TF_AVRO_BOOL = 9,
    TF_AVRO_FLOAT = 10,
    TF_AVRO_DOUBLE = 11,
    TF_AVRO_BYTES = 12,
    TF_AVRO_FIXED = 13,
    TF_AVRO_ENUM = 14,
    TF_AVRO_NULL = 15,
    TF_AVRO_LIST = 16,
    TF_AVRO_MAP = 17,
    TF_AVRO_KEY = 18,
    TF_AVRO_VALUE_LONG = 19,
    TF_AVRO_VALUE_BYTES = 20,
    TF_AVRO_VALUE_FIXED = 21,
    TF_AVRO_OPTIONAL = 22,
    TF_AVRO_RAW = 23
} tf_avro_op;

/* What an array had in the previous record: a guess, which is checked before it is used. Records of one table are
 * similar, and a processor that need not wait for one length to find the next value reads several at a time. */
typedef struct {
    int32_t bytes;     /* of all items */
    uint8_t sizes[16]; /* of the first items' values, as the byte that encodes it */
} tf_avro_guess;

typedef struct {
    const int32_t *program;
    int32_t program_length;
    tf_avro_guess *guesses; /* [program_length], zeroed: by the position of an array's items in the program */
    tf_column *columns;     /* a LIST has the end offset of each row's items; floats and doubles are bits */
    const int32_t *parents; /* by column: the LIST column, before it, whose items it has; -1: one row per record */
    int32_t column_count;
    int32_t sparse_start; /* columns from here on are filled by MAP: one row per record, null unless set */
    int32_t drop_column;  /* records whose value of this NUMBERS column is `drop_value` are left out; -1: none */
    int64_t drop_value;
    const int32_t *keys; /* wanted keys of the maps, ascending, distinct */
    int32_t key_count;
    int32_t small_keys[128]; /* index in `keys` by the key's single byte of varint, -1 where not wanted */
    tf_budget memory;
    int64_t row;           /* the number of rows that were not dropped */
    const uint8_t *end;    /* of the block */
    tf_avro_status status; /* why a reader returned NULL, and where */
    const uint8_t *cursor;
    int64_t map_key; /* of the map item being read */
    int32_t map_has_key;
    int32_t map_value_kind; /* 0 none, 1 long, 2 bytes */
    int64_t map_value;
    const uint8_t *map_bytes;
    int32_t map_size;
} tf_avro_decoder;

/* Initialize a zeroed decoder in which program, columns (with kinds), parents, keys and limits are set. */
void tf_avro_begin(tf_avro_decoder *decoder);

/* Reserve memory for so many more records. Optional: it only saves work. */
void tf_avro_expect(tf_avro_decoder *decoder, int64_t records);

/* Reserve memory for `times` as many bytes of values as there are now. Optional: it only saves work. */
void tf_avro_expect_more(tf_avro_decoder *decoder, double times);

/* Decode exactly `count` records from [block, block + size). Every top-level column grows by the rows that are not
 * dropped. On an error the columns are unusable, and `*offset` is its position. */
tf_avro_status tf_avro_decode(tf_avro_decoder *decoder, const uint8_t *block, int64_t size, int64_t count,
                              int64_t *offset);

/* Append the rows of another decoder of the same program. On an error the columns are unusable. */
tf_avro_status tf_avro_join(tf_avro_decoder *decoder, tf_avro_decoder *more);

/* Read one zig-zag varint at *cursor and advance it. For the framing of the container. */
tf_avro_status tf_avro_varint(const uint8_t **cursor, const uint8_t *end, int64_t *value);

/* Free the memory of the columns, but not the array of columns. */
void tf_avro_free(tf_avro_decoder *decoder);

#endif
