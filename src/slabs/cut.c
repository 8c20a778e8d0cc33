/*
 * Cuts S into slabs that fit the device's memory. The first attempt is the simplest and moves the fewest bytes: B and D
 * stay on the device, and each slab is one piece. If they or a row are too large, B is moved in tiles.
 */
#include "slabs/slabs.h"

#include "base/status.h"

/* The fewest slabs of an execution, if slabs have at least SLAB_LEAST bytes: then the first and the last transfer,
   which nothing overlaps, are a small part of it. */
enum { SLABS_WANTED = 16, SLAB_LEAST = 4 << 20 };

/* Capacity of a slab's buffers: the largest numbers of rows and of nonzeros, perhaps of different slabs. */
typedef struct limits {
    int64_t rows, nnz;
} limits;

/* Divides `most` bytes into rows and nonzeros in S's proportion. Returns false if the longest row does not fit. */
static bool limits_of(const tamis_slab_plan *plan, int64_t most, limits *l) {
    const tamis_sparse *const S = &plan->S;
    const int64_t offset = sizeof(int32_t), entry = plan->bytes.whole_entry;
    int64_t longest = 0, row_most;
    for (int64_t i = 0; i < S->rows; i++) {
        const int64_t nnz = tamis_slab_entry(S, i + 1) - tamis_slab_entry(S, i);
        if (nnz > longest) longest = nnz;
    }
    if (__builtin_add_overflow(plan->bytes.row, plan->bytes.piece_row, &row_most)) return false;
    const double mean = S->rows > 0 ? (double)S->nnz / (double)S->rows : 0;
    l->nnz = (int64_t)(mean * (double)most / ((double)row_most + mean * (double)entry));
    if (l->nnz < longest) l->nnz = longest;
    if (l->nnz > INT32_MAX) l->nnz = INT32_MAX;
    if (longest > l->nnz || l->nnz > (most - offset) / entry) return false;
    l->rows = (most - offset - l->nnz * entry) / row_most;
    return l->rows > 0;
}

/* Finds the end of the longest run of rows from `first` that fits. */
static int64_t end_of_run(const tamis_slab_plan *plan, int64_t first, const limits *l) {
    const int64_t begin = tamis_slab_entry(&plan->S, first), rest = plan->S.rows - first;
    int64_t fits = first + 1, beyond = first + (l->rows < rest ? l->rows : rest) + 1;
    while (beyond - fits > 1) {
        const int64_t middle = fits + (beyond - fits) / 2;
        if (tamis_slab_entry(&plan->S, middle) - begin <= l->nnz)
            fits = middle;
        else
            beyond = middle;
    }
    return fits;
}

/* Returns the bytes of all of B and D; -1 on overflow. */
static int64_t bytes_of_b(const tamis_slab_plan *plan) {
    int64_t bytes;
    return __builtin_mul_overflow(plan->S.cols, plan->bytes.b_row, &bytes) ? -1 : bytes;
}

static int64_t less(int64_t a, int64_t b) { return a < b ? a : b; }

/* Returns the limit of one allocation, which with OpenCL is often a quarter of the memory. */
static int64_t allocation_most(const tamis_slab_plan *plan) {
    const tamis_device *const device = plan->device;
    return device->backend->allocation_most ? device->backend->allocation_most(device->handle) : INT64_MAX;
}

/* Returns the bytes of one set; less than its share of the memory if that gives more slabs. */
static int64_t share_of(const tamis_slab_plan *plan, int64_t room) {
    const double all = (double)plan->S.rows * (double)(plan->bytes.row + plan->bytes.piece_row) +
                       (double)plan->S.nnz * (double)plan->bytes.whole_entry;
    const double wanted = all / SLABS_WANTED < SLAB_LEAST ? SLAB_LEAST : all / SLABS_WANTED;
    const int64_t most =
        less(room / TAMIS_SLAB_SETS, allocation_most(plan)); /* so that no buffer of the set exceeds it */
    return wanted < (double)most ? (int64_t)wanted : most;
}

static tamis_status cut_rows(tamis_slab_plan *plan, const limits *l) {
    plan->report.keeps_b = true;
    plan->report.b_rows = plan->S.cols;
    for (int64_t first = 0; first < plan->S.rows;) {
        const int64_t end = end_of_run(plan, first, l);
        const tamis_slab slab = {.first_row = first,
                                 .rows = end - first,
                                 .first_entry = tamis_slab_entry(&plan->S, first),
                                 .nnz = tamis_slab_entry(&plan->S, end) - tamis_slab_entry(&plan->S, first),
                                 .first_piece = plan->report.pieces,
                                 .pieces = 1};
        const tamis_slab_piece piece = {.slab = plan->report.slabs, .nnz = slab.nnz, .first_entry = slab.first_entry};
        TRY(tamis_slab_add(plan, &slab));
        TRY(tamis_slab_add_piece(plan, &piece));
        first = end;
    }
    return TAMIS_OK;
}

tamis_status tamis_slab_cut(tamis_slab_plan *plan) {
    const tamis_options *const o = &plan->options;
    const bool softmax = tamis_is_softmax(o);
    const int64_t budget = plan->report.device_memory / 16 * 15, one = allocation_most(plan);
    plan->out_type = o->output_type;
    TRY(tamis_slab_count_bytes(plan));
    const int64_t of_b = bytes_of_b(plan);
    const bool stays = of_b >= 0 && of_b <= less(budget / 4 * 3, one);
    limits l;
    if (stays && (limits_of(plan, share_of(plan, budget - of_b), &l) ||
                  limits_of(plan, less((budget - of_b) / TAMIS_SLAB_SETS, one), &l)))
        return cut_rows(plan, &l);
    /* the pieces of a slab are summed on the device; in 16 bits each would round again */
    if (!softmax && o->operation != TAMIS_OP_SDDMM && tamis_type_size(o->output_type) == 2) {
        plan->out_type = TAMIS_F32;
        TRY(tamis_slab_count_bytes(plan));
    }
    /* With large slabs rows of B are moved less often; tiles only need to be large enough for an efficient call. But a
       slab of softmax has one tile, with more rows of B than rows of S. */
    const int64_t tile = less(softmax ? budget / 8 * 3 : budget / 8, one);
    return tamis_slab_cut_tiles(plan, less(budget / TAMIS_SLAB_SETS - tile, one), tile);
}
