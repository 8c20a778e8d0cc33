/* The recipe of a matrix, its random streams, and exact scaling, for all generators. */
#ifndef TAMIS_GENERATE_RECIPE_H
#define TAMIS_GENERATE_RECIPE_H

#include <tamis/generate.h>

#include "sparse/matrix.h"

/* Purposes of random streams. A stream's id has its purpose in the top byte and a number, such as a row, below. */
enum {
    TAMIS_STREAM_VALUES = 1,
    TAMIS_STREAM_COLUMNS, /* a row's columns */
    TAMIS_STREAM_BLOCKS,  /* the blocks of a row of blocks */
    TAMIS_STREAM_NODES,   /* the nodes on the partially filled diagonal of a mesh */
    TAMIS_STREAM_EDGES,
    TAMIS_STREAM_ROW_NAMES,
    TAMIS_STREAM_COLUMN_NAMES,
    TAMIS_STREAM_REMOVED,
    TAMIS_STREAM_ADDED
};

static inline uint64_t tamis_stream(int purpose, int64_t number) { return (uint64_t)purpose << 56 ^ (uint64_t)number; }

/* Returns bits * bound / 2^64, rounded down: 0 .. bound - 1. */
static inline int64_t tamis_scale_bits(uint64_t bits, int64_t bound) {
    __extension__ typedef unsigned __int128 wide;
    return (int64_t)((wide)bits * (wide)bound >> 64);
}

/* Returns a * b / c, rounded down. The quotient must fit, and c >= 1. */
static inline int64_t tamis_scale(int64_t a, int64_t b, int64_t c) {
    __extension__ typedef unsigned __int128 wide;
    return (int64_t)((wide)a * (wide)b / (wide)c);
}

/* The same, rounded up. */
static inline int64_t tamis_scale_up(int64_t a, int64_t b, int64_t c) {
    __extension__ typedef unsigned __int128 wide;
    return (int64_t)(((wide)a * (wide)b + (wide)c - 1) / (wide)c);
}

/* The options of a matrix, with all defaults filled in. */
typedef struct tamis_recipe {
    int64_t rows, cols, nnz; /* nnz is the target */
    int64_t band, block, global;
    uint64_t seed;
    tamis_index_type index_type, offset_type;
    int threads;
} tamis_recipe;

/* Makes the pattern of any kind, without the values. */
tamis_status tamis_generate_pattern(tamis_kind kind, const tamis_recipe *recipe, tamis_owned_sparse **matrix);

/* Fills one packed row of `count` elements as tamis_fill_uniform does, from another random stream. */
void tamis_fill_values(void *data, tamis_type type, int64_t count, uint64_t seed, uint64_t stream, double low,
                       double high);

#endif
