/* The interpreter: runs the program of tf_avro.h over the bytes of one record.
 *
 * Promise: a record is read, or the decoder says why not and where. No byte behind `decoder->end` is read, and nothing
 * is allocated beyond the decoder's memory limit. It appends to the columns below `sparse_start` and sets the row
 * `decoder->row` of the others. Rows, blocks and dropped records are the caller's (tf_avro.c).
 */
#ifndef TF_AVRO_RECORD_H
#define TF_AVRO_RECORD_H

#include <stdint.h>

#include "tf_avro.h"

/* Fill `small_keys` and `guesses`, from the keys and the program that are set. */
void tf_avro_record_begin(tf_avro_decoder *decoder);

/* Run the program over the record at `cursor`. Returns the cursor behind the record, or NULL: `decoder->status` says
 * why and `decoder->cursor` where. Room for `decoder->row` was made in the sparse columns. */
const uint8_t *tf_avro_record(tf_avro_decoder *decoder, const uint8_t *cursor);

/* What a column's status is called here. */
static inline tf_avro_status tf_avro_status_of(tf_column_status status)
{
    return status == TF_COLUMN_OK ? TF_AVRO_OK : status == TF_COLUMN_LIMIT ? TF_AVRO_LIMIT : TF_AVRO_NO_MEMORY;
}

#endif
