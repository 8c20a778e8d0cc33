/*
 * Kinds whose entries are drawn one by one: R-MAT and diagonal plus scatter. Entry e has its own random numbers, so the
 * result does not depend on the number of threads. Rounds of draws are merged until there are enough distinct entries,
 * and surplus entries are removed at random. If the matrix is so full or skewed that draws rarely find free places, the
 * rest is sampled from the free places.
 */
#include "generate/edges.h"

#include <string.h>

#include "base/memory.h"
#include "base/random.h"
#include "base/status.h"
#include "base/threads.h"
#include "sparse/check.h"
#include "sparse/order.h"
#include "sparse/structure.h"

enum { SHARE = 1 << 14, ROUNDS = 12, BATCH = 512 /* random numbers drawn at once */ };

typedef struct drawing {
    const tamis_edge_plan *plan;
    tamis_index_type type;
    void *row_indices, *columns;
    int64_t place, count; /* position of the first new entry, and the number of new entries */
    int64_t first;        /* the number of its draw */
} drawing;

static void draw_thread(void *context, int thread, int threads) {
    const drawing *const d = context;
    const tamis_edge_plan *const plan = d->plan;
    const int64_t end = tamis_partition_even(d->count, threads, thread + 1), batch = BATCH / plan->draws;
    uint64_t bits[BATCH];
    for (int64_t begin = tamis_partition_even(d->count, threads, thread); begin < end; begin += batch) {
        const int64_t count = end - begin < batch ? end - begin : batch;
        tamis_random_fill(plan->recipe->seed, tamis_stream(TAMIS_STREAM_EDGES, 0),
                          (uint64_t)(d->first + begin) * (uint64_t)plan->draws, count * plan->draws, bits);
        for (int64_t i = 0; i < count; i++) {
            const tamis_coordinates place = plan->draw(plan, bits + i * plan->draws);
            tamis_index_store(d->row_indices, d->type, d->place + begin + i, place.row);
            tamis_index_store(d->columns, d->type, d->place + begin + i, place.column);
        }
    }
}

static tamis_sparse shape_of(const tamis_recipe *recipe, tamis_format format, int64_t nnz) {
    return (tamis_sparse){.format = format,
                          .rows = recipe->rows,
                          .cols = recipe->cols,
                          .nnz = nnz,
                          .index_type = recipe->index_type,
                          .offset_type = TAMIS_I64};
}

/* Makes a COO from the entries of `kept` (a CSR; NULL: the diagonal) and `count` draws from `first` on. */
static tamis_status collect(const tamis_edge_plan *plan, const tamis_owned_sparse *kept, int64_t first, int64_t count,
                            tamis_owned_sparse **entries) {
    const tamis_recipe *const recipe = plan->recipe;
    const int64_t before = kept ? kept->view.nnz : plan->diagonal;
    const tamis_sparse shape = shape_of(recipe, TAMIS_COO, before + count); /* nnz is at most 2^60 */
    tamis_owned_sparse *made;
    TRY(tamis_owned_sparse_create(&shape, false, &made));
    if (kept) {
        tamis_expand_rows(&kept->view, recipe->threads, made->row_indices);
        for (int64_t t = 0; t < before; t++)
            tamis_index_store(made->columns, recipe->index_type, t,
                              tamis_index_load(kept->columns, recipe->index_type, t));
    } else {
        for (int64_t t = 0; t < before; t++) {
            tamis_index_store(made->row_indices, recipe->index_type, t, t);
            tamis_index_store(made->columns, recipe->index_type, t, t);
        }
    }
    drawing d = {plan, recipe->index_type, made->row_indices, made->columns, before, count, first};
    tamis_threads_run(tamis_threads_for(recipe->threads, count, SHARE), draw_thread, &d);
    *entries = made;
    return TAMIS_OK;
}

/* Makes a sorted CSR without duplicates from a COO in any order, and frees the COO. */
static tamis_status merge(const tamis_recipe *recipe, tamis_owned_sparse *entries, tamis_owned_sparse **merged) {
    tamis_status status = TAMIS_OK;
    tamis_owned_sparse *grouped = NULL, *sorted = NULL;
    const tamis_sparse shape = shape_of(recipe, TAMIS_CSR, entries->view.nnz);
    TRY_GOTO(cleanup, tamis_owned_sparse_create(&shape, false, &grouped));
    TRY_GOTO(cleanup, tamis_group(&entries->view, false, recipe->threads, TAMIS_I64, grouped->offsets,
                                  &(tamis_reordered){grouped->columns, NULL, NULL}));
    tamis_owned_sparse_free(entries);
    entries = NULL;
    TRY_GOTO(cleanup, tamis_owned_sparse_create(&shape, false, &sorted));
    memcpy(sorted->offsets, grouped->offsets, (size_t)(shape.rows + 1) * sizeof(int64_t));
    TRY_GOTO(cleanup,
             tamis_sort_rows(&grouped->view, recipe->threads, &(tamis_reordered){sorted->columns, NULL, NULL}));
    TRY_GOTO(cleanup, tamis_merge_duplicates(sorted, false));
    *merged = sorted;
    sorted = NULL;
cleanup:
    tamis_owned_sparse_free(entries);
    tamis_owned_sparse_free(grouped);
    tamis_owned_sparse_free(sorted);
    return status;
}

/* Draws until there are recipe->nnz different entries, or until a round gains hardly any. */
static tamis_status draw_rounds(const tamis_edge_plan *plan, tamis_owned_sparse **kept) {
    const int64_t nnz = plan->recipe->nnz;
    int64_t first = 0, have = 0;
    for (int round = 0; round < ROUNDS && (!*kept || have < nnz); round++) {
        const int64_t missing = *kept ? nnz - have : nnz - plan->diagonal;
        const int64_t count = missing ? missing + missing / (round == 0 ? 3 : 1) + 64 : 0;
        tamis_owned_sparse *entries = NULL, *merged = NULL;
        TRY(collect(plan, *kept, first, count, &entries));
        TRY(merge(plan->recipe, entries, &merged));
        const int64_t gained = merged->view.nnz - have;
        tamis_owned_sparse_free(*kept);
        *kept = merged;
        have = merged->view.nnz;
        first += count;
        if (gained < count / 16) break;
    }
    return TAMIS_OK;
}

/* ------------------------------------------------------------------------------------------- the exact count */

/* State of selection sampling: takes `wanted` of the next `open` candidates; every subset is equally likely. */
typedef struct lottery {
    tamis_random random;
    int64_t open, wanted;
} lottery;

static bool is_taken(lottery *l) {
    const bool taken = tamis_scale_bits(tamis_random_next(&l->random), l->open) < l->wanted;
    l->open--;
    l->wanted -= taken;
    return taken;
}

/* Removes surplus entries in place, except on the plan's diagonal. */
static void remove_some(const tamis_edge_plan *plan, tamis_owned_sparse *matrix) {
    const tamis_recipe *const recipe = plan->recipe;
    int64_t *const offsets = matrix->offsets;
    lottery l = {tamis_random_start(recipe->seed, tamis_stream(TAMIS_STREAM_REMOVED, 0)),
                 matrix->view.nnz - plan->diagonal, matrix->view.nnz - recipe->nnz};
    int64_t to = 0, begin = 0;
    for (int64_t row = 0; row < recipe->rows; row++) {
        const int64_t end = offsets[row + 1];
        for (int64_t z = begin; z < end; z++) {
            const int64_t column = tamis_index_load(matrix->columns, recipe->index_type, z);
            const bool stays = column == row && row < plan->diagonal;
            if (!stays && l.wanted > 0 && is_taken(&l)) continue;
            tamis_index_store(matrix->columns, recipe->index_type, to++, column);
        }
        offsets[row + 1] = to;
        begin = end;
    }
    matrix->view.nnz = to;
}

/* Adds the missing entries at random free places. */
static tamis_status add_some(const tamis_recipe *recipe, tamis_owned_sparse **matrix) {
    const tamis_owned_sparse *const old = *matrix;
    const int64_t *const from = old->offsets;
    const tamis_sparse shape = shape_of(recipe, TAMIS_CSR, recipe->nnz);
    tamis_owned_sparse *made;
    TRY(tamis_owned_sparse_create(&shape, false, &made));
    int64_t *const offsets = made->offsets;
    lottery l = {tamis_random_start(recipe->seed, tamis_stream(TAMIS_STREAM_ADDED, 0)),
                 recipe->rows * recipe->cols - old->view.nnz, recipe->nnz - old->view.nnz};
    int64_t to = 0;
    offsets[0] = 0;
    for (int64_t row = 0; row < recipe->rows; row++) {
        int64_t column = 0;
        for (int64_t z = from[row]; z < from[row + 1]; z++) {
            const int64_t next = tamis_index_load(old->columns, recipe->index_type, z);
            for (; column < next && l.wanted > 0; column++)
                if (is_taken(&l)) tamis_index_store(made->columns, recipe->index_type, to++, column);
            tamis_index_store(made->columns, recipe->index_type, to++, next);
            column = next + 1;
        }
        for (; column < recipe->cols && l.wanted > 0; column++)
            if (is_taken(&l)) tamis_index_store(made->columns, recipe->index_type, to++, column);
        offsets[row + 1] = to;
    }
    tamis_owned_sparse_free(*matrix);
    *matrix = made;
    return TAMIS_OK;
}

/* Converts the 64-bit offsets to the requested type, and shrinks the arrays. */
static tamis_status finish(const tamis_recipe *recipe, int64_t room, tamis_owned_sparse *matrix) {
    if (recipe->offset_type == TAMIS_I32) {
        void *offsets;
        TRY(tamis_allocate(recipe->rows + 1, sizeof(int32_t), "row offsets", &offsets));
        for (int64_t row = 0; row <= recipe->rows; row++)
            ((int32_t *)offsets)[row] = (int32_t)((const int64_t *)matrix->offsets)[row];
        tamis_release(matrix->offsets);
        matrix->view.offsets = matrix->offsets = offsets;
        matrix->view.offset_type = TAMIS_I32;
    }
    if (room == matrix->view.nnz) return TAMIS_OK;
    const tamis_status status = tamis_reallocate(room, matrix->view.nnz, tamis_index_size(recipe->index_type),
                                                 "column indices", &matrix->columns);
    matrix->view.columns = matrix->columns;
    return status;
}

tamis_status tamis_make_edges(const tamis_recipe *recipe, tamis_status (*fill_plan)(tamis_edge_plan *plan),
                              tamis_owned_sparse **matrix) {
    tamis_status status = TAMIS_OK;
    tamis_edge_plan plan = {.recipe = recipe};
    tamis_owned_sparse *kept = NULL;
    int64_t room, cells;
    if (__builtin_mul_overflow(recipe->rows, recipe->cols, &cells))
        return tamis_fail(TAMIS_ERROR_OVERFLOW, "rows = %lld, cols = %lld: their product overflows 64 bits",
                          (long long)recipe->rows, (long long)recipe->cols);
    TRY(tamis_index_check("", "rows", recipe->rows, recipe->index_type));
    TRY_GOTO(cleanup, fill_plan(&plan));
    TRY_GOTO(cleanup, draw_rounds(&plan, &kept));
    if (kept->view.nnz < recipe->nnz) TRY_GOTO(cleanup, add_some(recipe, &kept));
    room = kept->view.nnz;
    if (room > recipe->nnz) remove_some(&plan, kept);
    TRY_GOTO(cleanup, finish(recipe, room, kept));
    *matrix = kept;
    kept = NULL;
cleanup:
    tamis_release(plan.row_names);
    tamis_release(plan.column_names == plan.row_names ? NULL : plan.column_names);
    tamis_owned_sparse_free(kept);
    return status;
}
