/* Avro records into columns (tf_avro.h) against a plain reading of the same records by their schema.
 *
 * Input: the number of bytes that describe a schema, these bytes, flags (drop records, decode the block twice, a small
 * budget), the number of records (odd: what is decoded twice is joined), then the block. Reading and skipping are
 * compared, and so is every row of every column, by a hash of the rows.
 */
#include "avro_program.h"

typedef struct {
    uint64_t hash;
    int64_t rows, present, items;
    int32_t flaws;
} plain_column;

typedef struct {
    const avro_schema *schema;
    fuzz_input in;
    int skips; /* nothing is wanted */
    plain_column columns[COLUMNS];
    struct {
        int kind;
        int64_t number;
        fuzz_input bytes;
    } slots[COLUMNS]; /* of maps: 0 none, 1 a number, 2 bytes */
} plain_reader;

static uint64_t hash_bytes(uint64_t hash, const uint8_t *p, size_t size)
{
    hash = (hash ^ size) * 0x100000001b3u;
    for (size_t i = 0; i < size; i++)
        hash = (hash ^ p[i]) * 0x100000001b3u;
    return hash;
}

static uint64_t hash_number(uint64_t hash, int64_t value)
{
    return ((hash ^ (uint64_t)value) * 0x9e3779b97f4a7c15u) ^ hash >> 29;
}

/* ---- the plain reading ---------------------------------------------------------------------------------------- */

static void add_number(plain_reader *r, int32_t column, int64_t value, int valid)
{
    plain_column *c = &r->columns[column];
    int is_number = r->schema->columns[column].kind == TF_COLUMN_NUMBERS;
    c->hash = hash_number(c->hash, valid);
    c->hash = is_number ? hash_number(c->hash, value) : hash_bytes(c->hash, NULL, 0);
    c->rows++;
    c->present += valid;
}

static void add_bytes(plain_reader *r, int32_t column, fuzz_input bytes)
{
    plain_column *c = &r->columns[column];
    c->hash = hash_bytes(hash_number(c->hash, 1), bytes.cur, fuzz_left(&bytes));
    c->rows++;
    c->present++;
    while (r->schema->columns[column].kind == TF_COLUMN_TEXT && fuzz_left(&bytes)) {
        size_t step = fuzz_character(bytes.cur, fuzz_left(&bytes));
        if (!step || !*bytes.cur)
            c->flaws |= step ? TF_TEXT_HAS_NUL : TF_TEXT_NOT_UTF8;
        if (!step)
            break;
        bytes.cur += step;
    }
}

static void add_nulls(plain_reader *r, const avro_node *node)
{
    if (r->skips || !node->wanted || node->kind == A_MAP)
        return;
    if (node->kind < A_OPTIONAL || node->kind == A_LIST) {
        add_number(r, node->column, r->columns[node->column].items, 0);
        return;
    }
    for (const avro_node *inner = node->first; inner; inner = inner == node->first ? node->second : NULL)
        add_nulls(r, inner);
}

/* A zig-zag varint of at most 64 bits, summed up in 128. */
static int read_long(plain_reader *r, int64_t *value)
{
    unsigned __int128 bits = 0;
    for (int i = 0; i < 10; i++) {
        if (!fuzz_left(&r->in))
            return 0;
        uint8_t byte = *r->in.cur++;
        bits |= (unsigned __int128)(byte & 0x7f) << 7 * i;
        if (byte < 0x80) {
            uint64_t low = (uint64_t)bits;
            *value = (int64_t)(low >> 1 ^ (0 - (low & 1)));
            return bits >> 64 == 0;
        }
    }
    return 0;
}

static int read_piece(plain_reader *r, int64_t size, fuzz_input *piece)
{
    if (size < 0 || (uint64_t)size > fuzz_left(&r->in))
        return 0;
    *piece = fuzz_cut(&r->in, (size_t)size);
    return 1;
}

static int read_octets(plain_reader *r, fuzz_input *piece)
{
    int64_t size;
    return read_long(r, &size) && read_piece(r, size, piece);
}

static int read_node(plain_reader *r, const avro_node *node);

static int read_scalar(plain_reader *r, const avro_node *node)
{
    fuzz_input piece = {NULL, NULL};
    int reads = !r->skips && node->wanted;
    int64_t value = 0;
    switch (node->kind) {
    case A_LONG:
    case A_INT:
        if (!read_long(r, &value) || (reads && node->kind == A_INT && value != (int32_t)value))
            return 0;
        break;
    case A_ENUM:
        if (!read_long(r, &value) || value < 0 || value >= node->size)
            return 0;
        break;
    case A_BOOL:
    case A_FLOAT:
    case A_DOUBLE:
        if (!read_piece(r, node->kind == A_BOOL ? 1 : node->kind == A_FLOAT ? 4 : 8, &piece))
            return 0;
        for (int shift = 0; piece.cur < piece.end; shift += 8)
            value = (int64_t)((uint64_t)value | (uint64_t)*piece.cur++ << shift);
        if (reads && node->kind == A_BOOL && value > 1)
            return 0;
        break;
    default:
        if (!(node->kind == A_FIXED ? read_piece(r, node->size, &piece) : read_octets(r, &piece)))
            return 0;
        if (reads)
            add_bytes(r, node->column, piece);
        return 1;
    }
    if (reads)
        add_number(r, node->column, value, 1);
    return 1;
}

static int read_pair(plain_reader *r, const avro_node *node)
{
    int64_t key = 0, number = 0;
    fuzz_input bytes = {NULL, NULL};
    int32_t value = node->value & 0xff;
    for (int part = 0; part < 2; part++) {
        int fine = part == node->value >> 8 ? read_long(r, &key)
                   : value == 0             ? read_long(r, &number)
                   : value == 1             ? read_octets(r, &bytes)
                                            : read_piece(r, value, &bytes);
        if (!fine)
            return 0;
    }
    for (int i = 0; i < KEYS && !r->skips && node->wanted; i++) {
        if (WANTED[i] != key)
            continue;
        r->slots[node->column + i].kind = value ? 2 : 1;
        r->slots[node->column + i].number = number;
        r->slots[node->column + i].bytes = bytes;
    }
    return 1;
}

/* A list or map: blocks of items. What is skipped goes by the size of a block where it says one. */
static int read_items(plain_reader *r, const avro_node *node)
{
    int reads = !r->skips && node->wanted;
    int32_t value = node->value & 0xff,
            least = node->kind == A_LIST ? avro_least(node->first) : 1 + (value > 1 ? value : 1);
    for (;;) {
        int64_t count, size = -1;
        if (!read_long(r, &count) || count == INT64_MIN)
            return 0;
        if (count == 0)
            break;
        if (count < 0 && (!read_long(r, &size) || size < 0 || (uint64_t)size > fuzz_left(&r->in)))
            return 0;
        count = count < 0 ? -count : count;
        if ((__int128)count * least > (size < 0 ? (__int128)fuzz_left(&r->in) : size))
            return 0;
        const uint8_t *start = r->in.cur;
        if (size >= 0 && !reads) {
            r->in.cur += size;
            continue;
        }
        for (int64_t i = 0; least && i < count; i++)
            if (!(node->kind == A_LIST ? read_node(r, node->first) : read_pair(r, node)))
                return 0;
        if (size >= 0 && r->in.cur - start != size)
            return 0;
        if (reads && node->kind == A_LIST)
            r->columns[node->column].items += count;
    }
    if (reads && node->kind == A_LIST)
        add_number(r, node->column, r->columns[node->column].items, 1);
    return 1;
}

static int read_node(plain_reader *r, const avro_node *node)
{
    int64_t branch;
    switch (node->kind) {
    case A_OPTIONAL:
        if (!read_long(r, &branch) || branch < 0 || branch > 1)
            return 0;
        if (branch != node->size)
            return read_node(r, node->first);
        add_nulls(r, node->first);
        return 1;
    case A_UNION:
        if (!read_long(r, &branch) || branch < 0 || branch > 2)
            return 0;
        if (branch == 1)
            return read_node(r, node->first);
        add_nulls(r, node->first);
        return branch == 2 || read_long(r, &branch);
    case A_LIST:
    case A_MAP: return read_items(r, node);
    case A_RECORD: return read_node(r, node->first) && read_node(r, node->second);
    default: return read_scalar(r, node);
    }
}

/* One record; -1 where it is damaged, else whether it is kept: not if the value of `drop` in it is `drop_value`. */
static int read_record(plain_reader *r, int32_t drop, int64_t drop_value)
{
    plain_column before[COLUMNS];
    memcpy(before, r->columns, sizeof before);
    memset(r->slots, 0, sizeof r->slots);
    if (!read_node(r, r->schema->root))
        return -1;
    for (int32_t i = r->schema->sparse_start; !r->skips && i < r->schema->column_count; i++) {
        if (r->slots[i].kind == 2)
            add_bytes(r, i, r->slots[i].bytes);
        else
            add_number(r, i, r->slots[i].number, r->slots[i].kind);
    }
    if (drop < 0 || r->skips)
        return 1;
    plain_column single = before[drop];
    uint64_t dropped = hash_number(hash_number(single.hash, 1), drop_value);
    if (r->columns[drop].hash != dropped)
        return 1;
    for (int32_t i = 0; i < r->schema->column_count; i++) { /* flaws stay: nobody looks twice */
        before[i].flaws = r->columns[i].flaws;
        r->columns[i] = before[i];
    }
    return 0;
}

/* ---- the comparison ------------------------------------------------------------------------------------------- */

static void compare(const tf_column *column, const plain_column *plain, int is_list)
{
    uint64_t hash = 0;
    CHECK(column->length == plain->rows && column->present == plain->present && column->flaws == plain->flaws);
    for (int64_t i = 0; i < column->length; i++) {
        CHECK(column->valid[i] <= 1);
        hash = hash_number(hash, column->valid[i]);
        if (column->kind == TF_COLUMN_NUMBERS) {
            int64_t value = column->valid[i] || is_list ? column->values[i] : 0;
            hash = hash_number(hash, value);
            continue;
        }
        int64_t first = column->offsets[i], past = column->offsets[i + 1];
        CHECK(0 <= first && first <= past && past <= column->data_capacity && (column->valid[i] || first == past));
        hash = hash_bytes(hash, first < past ? column->data + first : NULL, (size_t)(past - first));
    }
    CHECK(hash == plain->hash);
}

static int is_list(const avro_schema *s, int32_t column)
{
    for (int32_t i = 0; i < s->node_count; i++)
        if (s->nodes[i].kind == A_LIST && s->nodes[i].wanted && s->nodes[i].column == column)
            return 1;
    return 0;
}

/* Columns of numbers that have exactly one value a record, whatever is in it. */
static int32_t drop_column(const avro_schema *s)
{
    const avro_node *node = s->root;
    while (node->kind == A_RECORD)
        node = node->first;
    return node->wanted && (node->kind == A_LONG || node->kind == A_ENUM || node->kind == A_INT) ? node->column : -1;
}

static tf_avro_guess guesses[WORDS];

static void begin(tf_avro_decoder *d, avro_schema *s, int64_t limit)
{
    memset(guesses, 0, sizeof guesses);
    *d = (tf_avro_decoder){.columns = s->columns,
                           .parents = s->parents,
                           .column_count = s->column_count,
                           .sparse_start = s->sparse_start,
                           .drop_column = -1,
                           .keys = WANTED,
                           .key_count = KEYS,
                           .guesses = guesses};
    d->program = s->words;
    d->program_length = s->word_count;
    d->memory.limit = limit;
    tf_avro_begin(d);
}

static void skip_all(avro_schema *s, fuzz_input block, int64_t count)
{
    static plain_reader plain;
    tf_avro_decoder d = {.program = s->skip, .program_length = s->skip_count, .drop_column = -1, .guesses = guesses};
    int64_t offset;
    memset(guesses, 0, sizeof guesses);
    tf_avro_begin(&d);
    tf_avro_status status = tf_avro_decode(&d, block.cur, (int64_t)fuzz_left(&block), count, &offset);
    plain = (plain_reader){.schema = s, .in = block, .skips = 1};
    int fine = 1;
    for (int64_t i = 0; i < count && fine; i++)
        fine = read_record(&plain, -1, 0) >= 0;
    CHECK(status != TF_AVRO_BAD_PROGRAM && (status == TF_AVRO_OK) == (fine && !fuzz_left(&plain.in)));
    CHECK(offset >= 0 && offset <= (int64_t)fuzz_left(&block));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static avro_schema schema;
    static plain_reader plain;
    fuzz_input in = {data, data + size};
    memset(&schema, 0, sizeof schema);
    avro_schema_of(&schema, fuzz_cut(&in, fuzz_byte(&in) % 64));
    int32_t least = avro_least(schema.root);
    uint8_t flags = fuzz_byte(&in);
    int64_t count = fuzz_byte(&in), left = (int64_t)fuzz_left(&in), offset = 0;
    if (!least || count > left / least)
        return 0;
    uint8_t *copy = fuzz_copy(in.cur, (size_t)left);
    fuzz_input block = {copy, copy + left};
    skip_all(&schema, block, count);

    tf_avro_decoder d;
    tf_avro_status status = TF_AVRO_OK;
    begin(&d, &schema, flags & 8 ? 16 * (int64_t)flags : (int64_t)1 << 26);
    if (flags & 1)
        d.drop_column = drop_column(&schema);
    d.drop_value = flags >> 4;
    tf_avro_decoder more = d;
    tf_column more_columns[COLUMNS];
    memcpy(more_columns, schema.columns, sizeof more_columns);
    more.columns = more_columns;
    if (flags & 4)
        tf_avro_expect(&d, count);
    plain = (plain_reader){.schema = &schema};
    int64_t kept = 0;
    for (int round = 0; status == TF_AVRO_OK && round < 1 + (flags >> 1 & 1); round++) {
        tf_avro_decoder *into = round && count & 1 ? &more : &d;
        int record = 1;
        plain.in = block;
        for (int64_t i = 0; i < count && record >= 0; i++) {
            record = read_record(&plain, d.drop_column, d.drop_value);
            kept += record > 0;
        }
        status = tf_avro_decode(into, copy, left, count, &offset);
        CHECK(offset >= 0 && offset <= left && status != TF_AVRO_BAD_PROGRAM && into->memory.used <= d.memory.limit);
        CHECK(status == TF_AVRO_LIMIT || (status == TF_AVRO_OK) == (record >= 0 && !fuzz_left(&plain.in)));
    }
    if (status == TF_AVRO_OK)
        status = tf_avro_join(&d, &more);
    CHECK(d.memory.used <= d.memory.limit);
    if (status == TF_AVRO_OK) {
        CHECK(d.row == kept);
        for (int32_t i = 0; i < schema.column_count; i++)
            compare(&schema.columns[i], &plain.columns[i], is_list(&schema, i));
    }
    tf_avro_free(&d);
    tf_avro_free(&more);
    free(copy);
    return 0;
}
