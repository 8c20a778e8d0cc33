/* An out-of-core plan: slabs of rows, their pieces, and two sets of buffers that pieces use alternately. */
#ifndef TAMIS_SLABS_SLABS_H
#define TAMIS_SLABS_SLABS_H

#include <tamis/slabs.h>

#include "core/execute.h"
#include "core/options.h"
#include "sparse/index.h"

/* A range of rows of S. Entries are counted from the view's first. */
typedef struct tamis_slab {
    int64_t first_row, rows, first_entry, nnz;
    int64_t first_piece, pieces;
} tamis_slab;

/* The work of one call: a slab's nonzeros with columns in one tile. If B stays on the device, a slab is one piece. */
typedef struct tamis_slab_piece {
    int64_t slab, nnz;
    int64_t first_entry; /* index into columns and entries of tamis_slab_tiles */
    int64_t first_b, b_rows;
    int64_t first_offset;
} tamis_slab_piece;

/* The pieces' patterns if B is moved in tiles: CSRs whose columns index the piece's rows of B. */
typedef struct tamis_slab_tiles {
    int64_t *rows_of_b; /* of each piece, ascending */
    int64_t count, room;
    int32_t *columns, *offsets;
    int64_t *entries; /* entry t of a piece is entry entries[t] of its slab; NULL: each slab is one piece */
} tamis_slab_tiles;

/* Bytes per element of what is moved. */
typedef struct tamis_slab_bytes {
    int64_t row;         /* of a row of A and of the output in a slab */
    int64_t piece_row;   /* of a row in a piece: its offset, and the call's scratch */
    int64_t entry;       /* of a nonzero: column, value, sample, and the call's scratch */
    int64_t b_row;       /* of a row of B and D */
    int64_t a, out;      /* the parts of `row` */
    int64_t b, d;        /* the parts of b_row */
    int64_t value;       /* of a nonzero's value; 0: none is read */
    int64_t sample;      /* SDDMM's output */
    int64_t whole_entry; /* `entry` if B stays: columns have S's type */
} tamis_slab_bytes;

/* Buffers of a set. A and the output belong to a slab (samples to a piece), the others to a piece. */
enum {
    TAMIS_SLAB_A,
    TAMIS_SLAB_OUT,
    TAMIS_SLAB_OFFSETS,
    TAMIS_SLAB_COLUMNS,
    TAMIS_SLAB_VALUES,
    TAMIS_SLAB_B,
    TAMIS_SLAB_D,
    TAMIS_SLAB_BUFFERS
};

/* Device memory and its pinned counterpart: the same on the CPU. */
typedef struct tamis_slab_buffer {
    void *device, *host;
    int64_t bytes;
} tamis_slab_buffer;

enum { TAMIS_SLAB_SETS = 2 };

/* GB/s between the pinned memory of an H200's host and the GPU, each way, as measured. */
enum { TAMIS_SLAB_LINK_GBS = 55 };

typedef struct tamis_slab_set {
    tamis_slab_buffer buffers[TAMIS_SLAB_BUFFERS];
    void *stream;
    void *uploaded, *computed; /* of the last piece in this set */
    void *freed;               /* of the last slab: its buffers of the set are free again */
    void *downloaded;          /* of the last output */
    bool used, slab_used;
} tamis_slab_set;

struct tamis_slab_plan {
    tamis_device *device, *host; /* the device that computes; the CPU, which checks and copies */
    tamis_options options;       /* defaults filled in; its pointers to strings are not kept */
    tamis_allocator allocator;   /* the caller's, if options.allocator is set */
    tamis_memory_source *source;
    char *algorithm, *parameters; /* copies, or NULL */
    tamis_sparse S;               /* the caller's view */
    tamis_slab_bytes bytes;
    tamis_type out_type; /* of the output on the device: fp32 if tiles of 16-bit outputs are summed */

    tamis_slab *slabs;
    tamis_slab_piece *pieces;
    int64_t slab_room, piece_room;
    tamis_slab_tiles tiles;
    int64_t memory_needed; /* device memory needed, after something did not fit; 0: all has fitted so far */
    void *whole[2];        /* B and D, where they stay */
    tamis_slab_set sets[TAMIS_SLAB_SETS];
    tamis_slab_report report;
};

static inline bool tamis_slab_on_device(const tamis_slab_plan *plan) {
    return plan->device->backend->location == TAMIS_DEVICE;
}

static inline void tamis_slab_raise(int64_t *most, int64_t value) {
    if (value > *most) *most = value;
}

/* Returns the first entry of row i, counted from the view's first. */
static inline int64_t tamis_slab_entry(const tamis_sparse *S, int64_t i) {
    return tamis_row_start(S, i) - S->offset_base;
}

/* Cuts S into slabs and pieces that fit the plan's memory. */
tamis_status tamis_slab_cut(tamis_slab_plan *plan);

/* Cuts S with B in tiles: a slab's rows take at most slab_most bytes, a piece at most piece_most. */
tamis_status tamis_slab_cut_tiles(tamis_slab_plan *plan, int64_t slab_most, int64_t piece_most);

/* Sets plan->bytes, by the options and out_type. */
tamis_status tamis_slab_count_bytes(tamis_slab_plan *plan);

/* Adds one more slab or piece. */
tamis_status tamis_slab_add(tamis_slab_plan *plan, const tamis_slab *slab);
tamis_status tamis_slab_add_piece(tamis_slab_plan *plan, const tamis_slab_piece *piece);

/* Packs `count` rows of a member of X: rows first .. first + count - 1, or the rows in `rows`. */
tamis_status tamis_slab_pack_rows(const tamis_slab_plan *plan, const tamis_dense *X, int64_t member,
                                  const int64_t *rows, int64_t first, int64_t count, void *to);
/* Copies rows first .. first + count - 1 of an output of the plan's out_type; out: to the caller's output, else from
   it. */
void tamis_slab_move_output(const tamis_slab_plan *plan, const tamis_dense *X, int64_t member, int64_t first,
                            int64_t count, void *packed, bool out);
/* Gathers a piece's elements from (with `out`: scatters to) an array with one element per entry. */
void tamis_slab_move_entries(const tamis_slab_plan *plan, const tamis_slab_piece *piece, size_t size, void *array,
                             void *packed, bool out);
void tamis_slab_stage_offsets(const tamis_slab_plan *plan, const tamis_slab_piece *piece, int32_t *to);
void tamis_slab_stage_columns(const tamis_slab_plan *plan, const tamis_slab_piece *piece, void *to);

#endif
