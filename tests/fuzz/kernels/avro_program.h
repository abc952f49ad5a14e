/* Writers' schemas made of input bytes, and the programs that our compiler would make of them (tf_avro.h).
 *
 * A program is trusted, so these are valid by construction: what a target explores are shapes of schemas and what
 * bytes do to each. Every schema gets two programs: one that decodes all of it, and one that skips all of it.
 */
#ifndef TF_FUZZ_AVRO_PROGRAM_H
#define TF_FUZZ_AVRO_PROGRAM_H

#include "fuzz.h"

#include "tf_avro.h"

enum { NODES = 48, WORDS = 4096, COLUMNS = 64, KEYS = 5, DEPTH = 4 };

/* Wanted keys of maps: of one byte, of two, and none that is there twice. */
static const int32_t WANTED[KEYS] = {-3, 1, 2, 63, 130};

typedef enum {
    A_LONG,
    A_INT,
    A_BOOL,
    A_FLOAT,
    A_DOUBLE,
    A_BYTES,
    A_TEXT,
    A_FIXED,
    A_ENUM,
    A_OPTIONAL,
    A_UNION,
    A_LIST,
    A_MAP,
    A_RECORD,
    A_KINDS
} avro_kind;

typedef struct avro_node {
    avro_kind kind;
    int wanted;     /* else it is skipped in both programs */
    int32_t size;   /* of FIXED, symbols of ENUM; OPTIONAL: the branch of null */
    int32_t value;  /* MAP: what its values are: 0 longs, 1 bytes, else fixed of that size; bit 8: value first */
    int32_t column; /* of scalars and lists; the first of a MAP */
    struct avro_node *first;  /* OPTIONAL, UNION, LIST, RECORD: what is inside */
    struct avro_node *second; /* RECORD: what follows the first */
} avro_node;

typedef struct {
    avro_node nodes[NODES];
    int32_t node_count;
    avro_node *root;
    tf_column columns[COLUMNS];
    int32_t parents[COLUMNS];
    int32_t column_count, sparse_start;
    int32_t words[WORDS], skip[WORDS];
    int32_t word_count, skip_count;
} avro_schema;

/* ---- the tree ------------------------------------------------------------------------------------------------- */

static avro_node *avro_parse(avro_schema *s, fuzz_input *in, int depth, int wanted, int in_list, int in_branch)
{
    if (s->node_count == NODES)
        return NULL;
    avro_node *node = &s->nodes[s->node_count++];
    uint8_t byte = fuzz_byte(in);
    *node = (avro_node){.kind = (avro_kind)(byte % A_KINDS), .wanted = wanted && byte < 224};
    wanted = node->wanted;
    if (depth >= DEPTH && node->kind >= A_OPTIONAL)
        node->kind = A_LONG;
    switch (node->kind) {
    case A_FIXED: node->size = fuzz_byte(in) % 20; break;
    case A_ENUM: node->size = 1 + fuzz_byte(in) % 5; break;
    case A_MAP: /* a map within a list or a branch is no column of ours */
        node->wanted = wanted && !in_list && !in_branch;
        node->value = fuzz_byte(in) % 12 | (fuzz_byte(in) & 1) << 8;
        break;
    case A_OPTIONAL:
        node->size = fuzz_byte(in) & 1;
        node->first = avro_parse(s, in, depth + 1, wanted, in_list, 1);
        break;
    case A_UNION: node->first = avro_parse(s, in, depth + 1, wanted, in_list, 1); break;
    case A_LIST: node->first = avro_parse(s, in, depth + 1, wanted, 1, 0); break;
    case A_RECORD:
        node->first = avro_parse(s, in, depth + 1, wanted, in_list, in_branch);
        node->second = avro_parse(s, in, depth + 1, wanted, in_list, in_branch);
        break;
    default: break;
    }
    /* A union in a union is no Avro. */
    if ((node->kind == A_OPTIONAL || node->kind == A_UNION) &&
        (!node->first || node->first->kind == A_OPTIONAL || node->first->kind == A_UNION))
        *node = (avro_node){.kind = A_LONG, .wanted = wanted};
    if ((node->kind == A_LIST && !node->first) || (node->kind == A_RECORD && !node->second))
        *node = (avro_node){.kind = A_BYTES, .wanted = wanted};
    return node;
}

/* Bytes that a value takes at least. */
static int32_t avro_least(const avro_node *node)
{
    switch (node->kind) {
    case A_FLOAT: return 4;
    case A_DOUBLE: return 8;
    case A_FIXED: return node->size;
    case A_RECORD: return avro_least(node->first) + avro_least(node->second);
    default: return 1;
    }
}

/* Number the columns, lists before what they hold, maps (`sparse`) behind all others. */
static void avro_number(avro_schema *s, avro_node *node, int32_t parent, int sparse)
{
    int32_t kind = node->kind == A_BYTES || node->kind == A_FIXED ? TF_COLUMN_OCTETS
                   : node->kind == A_TEXT                         ? TF_COLUMN_TEXT
                                                                  : TF_COLUMN_NUMBERS;
    int32_t count = node->kind == A_MAP ? sparse * KEYS : node->kind < A_OPTIONAL || node->kind == A_LIST ? !sparse : 0;
    /* Items of no bytes are refused by the compiler, and so is what has more columns than we hold. */
    if (node->kind == A_LIST && !avro_least(node->first))
        node->wanted = 0;
    if (s->column_count + count > COLUMNS)
        node->wanted = 0;
    if (node->wanted && count) {
        node->column = s->column_count;
        if (node->kind == A_MAP && node->value & 0xff)
            kind = TF_COLUMN_OCTETS;
        for (; count; count--, s->column_count++) {
            s->columns[s->column_count] = (tf_column){.kind = kind};
            s->parents[s->column_count] = parent;
        }
    }
    if (node->kind == A_LIST)
        parent = node->column;
    for (avro_node *inner = node->first; inner; inner = inner == node->first ? node->second : NULL) {
        inner->wanted = inner->wanted && node->wanted;
        avro_number(s, inner, parent, sparse);
    }
}

/* ---- the programs --------------------------------------------------------------------------------------------- */

typedef struct {
    int32_t *words, count;
    int reads; /* else everything is skipped */
} avro_code;

static void emit(avro_code *code, int32_t word)
{
    CHECK(code->count < WORDS);
    code->words[code->count++] = word;
}

static void emit_two(avro_code *code, int32_t word, int32_t next)
{
    emit(code, word);
    emit(code, next);
}

/* A null for each column of `node`, without those of list items. */
static void emit_nulls(avro_code *code, const avro_node *node)
{
    if (!code->reads || !node->wanted || node->kind == A_MAP)
        return;
    if (node->kind < A_OPTIONAL || node->kind == A_LIST) {
        emit_two(code, TF_AVRO_NULL, node->column);
        return;
    }
    for (const avro_node *inner = node->first; inner; inner = inner == node->first ? node->second : NULL)
        emit_nulls(code, inner);
}

static void emit_value(avro_code *code, const avro_node *node);

static void emit_scalar(avro_code *code, const avro_node *node)
{
    static const int32_t READ[] = {TF_AVRO_LONG,  TF_AVRO_INT,   TF_AVRO_BOOL,  TF_AVRO_FLOAT, TF_AVRO_DOUBLE,
                                   TF_AVRO_BYTES, TF_AVRO_BYTES, TF_AVRO_FIXED, TF_AVRO_ENUM};
    int32_t bytes = node->kind == A_BOOL ? 1 : node->kind == A_FLOAT ? 4 : node->kind == A_DOUBLE ? 8 : node->size;
    if (code->reads && node->wanted) {
        emit_two(code, READ[node->kind], node->column);
        if (node->kind == A_FIXED || node->kind == A_ENUM)
            emit(code, node->size);
    } else if (node->kind == A_LONG || node->kind == A_INT) {
        emit(code, TF_AVRO_SKIP_VARINT);
    } else if (node->kind == A_BYTES || node->kind == A_TEXT) {
        emit(code, TF_AVRO_SKIP_BYTES);
    } else if (node->kind == A_ENUM) {
        emit_two(code, TF_AVRO_SKIP_ENUM, node->size);
    } else if (bytes) {
        emit_two(code, TF_AVRO_SKIP_FIXED, bytes);
    }
}

static void emit_map(avro_code *code, const avro_node *node)
{
    int32_t value = node->value & 0xff, least = 1 + (value > 1 ? value : 1), length = value > 1 ? 3 : 2;
    int reads = code->reads && node->wanted;
    if (reads)
        emit_two(code, TF_AVRO_MAP, node->column);
    else
        emit(code, TF_AVRO_SKIP_ARRAY);
    emit_two(code, least, length);
    for (int part = 0; part < 2; part++) {
        if (part == node->value >> 8)
            emit(code, reads ? TF_AVRO_KEY : TF_AVRO_SKIP_VARINT);
        else if (value == 0)
            emit(code, reads ? TF_AVRO_VALUE_LONG : TF_AVRO_SKIP_VARINT);
        else if (value == 1)
            emit(code, reads ? TF_AVRO_VALUE_BYTES : TF_AVRO_SKIP_BYTES);
        else
            emit_two(code, reads ? TF_AVRO_VALUE_FIXED : TF_AVRO_SKIP_FIXED, value);
    }
}

/* Three branches: a long that is skipped, what is inside, and null. */
static void emit_union(avro_code *code, const avro_node *node)
{
    int32_t head = code->count;
    emit_two(code, TF_AVRO_UNION, 3);
    for (int i = 0; i < 4; i++)
        emit(code, 0);
    code->words[head + 3] = code->count;
    emit(code, TF_AVRO_SKIP_VARINT);
    emit_nulls(code, node->first);
    code->words[head + 4] = code->count;
    emit_value(code, node->first);
    code->words[head + 5] = code->count;
    emit_nulls(code, node->first);
    code->words[head + 2] = code->count;
}

static void emit_value(avro_code *code, const avro_node *node)
{
    int32_t head = code->count, start;
    switch (node->kind) {
    case A_OPTIONAL:
        emit_two(code, TF_AVRO_OPTIONAL, node->size);
        emit_two(code, 0, 0);
        emit_nulls(code, node->first);
        start = code->count;
        code->words[head + 2] = start - head - 4;
        emit_value(code, node->first);
        code->words[head + 3] = code->count - start;
        break;
    case A_UNION: emit_union(code, node); break;
    case A_LIST:
        if (code->reads && node->wanted)
            emit_two(code, TF_AVRO_LIST, node->column);
        else
            emit(code, TF_AVRO_SKIP_ARRAY);
        emit_two(code, avro_least(node->first), 0);
        start = code->count;
        emit_value(code, node->first);
        code->words[start - 1] = code->count - start;
        break;
    case A_MAP: emit_map(code, node); break;
    case A_RECORD:
        emit_value(code, node->first);
        emit_value(code, node->second);
        break;
    default: emit_scalar(code, node);
    }
}

/* The schema that the bytes of `in` describe; it may take no byte a record. */
static void avro_schema_of(avro_schema *s, fuzz_input in)
{
    s->root = avro_parse(s, &in, 0, 1, 0, 0);
    avro_number(s, s->root, -1, 0);
    s->sparse_start = s->column_count;
    avro_number(s, s->root, -1, 1);
    avro_code reads = {s->words, 0, 1}, skips = {s->skip, 0, 0};
    emit_value(&reads, s->root);
    emit_value(&skips, s->root);
    s->word_count = reads.count;
    s->skip_count = skips.count;
}

#endif
