/* Seeded generators from inside: a recipe with all defaults filled in, and the makers of each kind. */
#ifndef TAMIS_GENERATE_RECIPE_H
#define TAMIS_GENERATE_RECIPE_H

#include <tamis/generate.h>

#include "sparse/matrix.h"

/* Streams of random numbers: what they are for in the upper bits, a row or a number below. */
enum {
    TAMIS_STREAM_VALUES = 1,
    TAMIS_STREAM_COLUMNS, /* of a row */
    TAMIS_STREAM_BLOCKS,  /* of a row of blocks */
    TAMIS_STREAM_NODES,   /* of a partly taken diagonal of a mesh */
    TAMIS_STREAM_EDGES,
    TAMIS_STREAM_ROW_NAMES,
    TAMIS_STREAM_COLUMN_NAMES,
    TAMIS_STREAM_REMOVED,
    TAMIS_STREAM_ADDED
};

static inline uint64_t tamis_stream(int purpose, int64_t number) { return (uint64_t)purpose << 56 ^ (uint64_t)number; }

/* bits / 2^64 of `bound`, rounded down: 0 .. bound - 1. */
static inline int64_t tamis_scale_bits(uint64_t bits, int64_t bound) {
    __extension__ typedef unsigned __int128 wide;
    return (int64_t)((wide)bits * (wide)bound >> 64);
}

/* a * b / c, rounded down, for a quotient that fits; c >= 1. */
static inline int64_t tamis_scale(int64_t a, int64_t b, int64_t c) {
    __extension__ typedef unsigned __int128 wide;
    return (int64_t)((wide)a * (wide)b / (wide)c);
}

/* The same, rounded up. */
static inline int64_t tamis_scale_up(int64_t a, int64_t b, int64_t c) {
    __extension__ typedef unsigned __int128 wide;
    return (int64_t)(((wide)a * (wide)b + (wide)c - 1) / (wide)c);
}

/* fill.c: what tamis_fill_uniform does to one packed row of `count` elements, from another stream of random numbers. */
void tamis_fill_values(void *data, tamis_type type, int64_t count, uint64_t seed, uint64_t stream, double low,
                       double high);

typedef struct tamis_recipe {
    tamis_kind kind;
    int64_t rows, cols, nnz; /* nnz: the target */
    int64_t band, block, global;
    uint64_t seed;
    tamis_index_type index_type, offset_type;
    int threads;
} tamis_recipe;

/* A pattern: sorted columns, no duplicates. Its value_type is left to the caller. */
typedef tamis_status tamis_maker(const tamis_recipe *recipe, tamis_owned_sparse **matrix);

tamis_maker tamis_make_rows;  /* uniform, banded, block, window, fem: row by row */
tamis_maker tamis_make_edges; /* rmat, scatter: entries drawn one by one, repeated ones merged */

#endif
