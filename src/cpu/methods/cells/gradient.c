/*
 * Host side of gradient_kernels.h: fused's backward call in one piece on the CPU. An item is a share of the blocks of
 * one member; members have one share each unless they are fewer than the threads.
 */
#include "cpu/methods/cells/gradient.h"

#include "base/memory.h"
#include "base/status.h"
#include "base/threads.h"
#include "cpu/methods/cells/build.h"
#include "cpu/methods/cells/cells.h"
#include "cpu/methods/cells/table.h"
#include "cpu/parts.h"
#include "sparse/structure.h"

enum {
    COLUMNS_MOST = 1 << 17, /* columns of a block: 32 MB of scores */
    LENGTH_MOST = 1 << 24,  /* length of a row: 9 GB for those of a block */
    SUMS_MOST = 1 << 28     /* bytes of sums of all threads */
};

struct tamis_prepared_backward {
    tamis_problem problem; /* its evidence and parameters are not kept */
    const tamis_cpu_cell_kernels *kernels;
    tamis_cpu_cell_index index;
    int threads, shares;               /* shares: per member */
    tamis_cpu_cell_part *parts;        /* of a member */
    int64_t scratch_bytes, sums_bytes; /* of an item */
};

/* ------------------------------------------------------------------------------------------ choosing */

static double seconds(const tamis_problem *problem, const tamis_problem *turned) {
    (void)turned;
    if (problem->edge != TAMIS_EDGE_SOFTMAX || problem->edge_constants.text || problem->nnz == 0 ||
        problem->inner == 0 || problem->width == 0 || problem->evidence->profile.max > TAMIS_CPU_CELLS_MOST ||
        problem->cols > UINT32_MAX)
        return 0;
    const double products = 3.0 * (double)problem->inner + 2.0 * (double)problem->width;
    return tamis_cpu_cells_seconds(problem, products);
}

/* ------------------------------------------------------------------------------------------ preparing */

static void release(tamis_prepared_backward *back) {
    if (!back) return;
    tamis_cpu_cells_free(&back->index);
    tamis_release(back->parts);
    tamis_release(back);
}

/* Divides the blocks into shares with equally many columns; and finds the columns that each share's sums cover. */
static void share_blocks(tamis_prepared_backward *back) {
    const tamis_cpu_cell_index *const index = &back->index;
    const int64_t all = index->starts[index->blocks];
    int64_t block = 0;
    for (int s = 0; s < back->shares; s++) {
        tamis_cpu_cell_part *const part = &back->parts[s];
        int64_t first = back->problem.cols, last = -1;
        part->begin = block;
        while (block < index->blocks &&
               (s + 1 == back->shares || index->starts[block] < all / back->shares * (s + 1))) {
            for (int64_t c = index->starts[block]; c < index->starts[block + 1]; c++) {
                const int64_t column = index->cells[c].column;
                if (column < first) first = column;
                if (column > last) last = column;
            }
            block++;
        }
        part->end = block;
        part->first = last < 0 ? 0 : first;
        part->columns = last < 0 ? 0 : last + 1 - first;
    }
}

static int64_t whole_lines(int64_t bytes) { return (bytes + 63) / 64 * 64; }

static tamis_status prepare_parts(tamis_prepared_backward *back) {
    const tamis_problem *const p = &back->problem;
    int64_t columns = 0;
    back->shares = p->batch >= back->threads ? 1 : (int)((back->threads + p->batch - 1) / p->batch);
    if (back->shares > back->index.blocks) back->shares = back->index.blocks > 0 ? (int)back->index.blocks : 1;
    TRY(tamis_allocate_zeroed(back->shares, sizeof *back->parts, "the shares of a gradient", (void **)&back->parts));
    share_blocks(back);
    for (int s = 0; s < back->shares; s++)
        if (back->parts[s].columns > columns) columns = back->parts[s].columns;
    back->scratch_bytes = whole_lines(back->kernels->gradient_bytes(p->inner, p->width, back->index.most));
    back->sums_bytes = whole_lines(back->kernels->sums_bytes(p->inner, p->width, columns));
    return TAMIS_OK;
}

/* Members whose items have scratch at the same time. */
static int64_t at_once(const tamis_prepared_backward *back) {
    const int64_t members = back->shares == 1 ? back->threads : (back->threads + back->shares - 1) / back->shares;
    return members < back->problem.batch ? members : back->problem.batch;
}

static size_t scratch_bytes(const tamis_prepared_backward *back) {
    return (size_t)(at_once(back) * back->shares * (back->scratch_bytes + back->sums_bytes));
}

static tamis_status prepare(const tamis_problem *problem, const tamis_problem *turned,
                            tamis_prepared_backward **prepared) {
    const tamis_cpu_variant *variant;
    tamis_prepared_backward *back = NULL;
    tamis_status status = TAMIS_OK;
    (void)turned;
    TRY(tamis_cpu_variant_choose(&variant));
    TRY(tamis_allocate_zeroed(1, sizeof *back, "a gradient", (void **)&back));
    back->problem = *problem;
    back->problem.evidence = NULL;
    back->problem.parameters = NULL;
    back->kernels = variant->kernels[problem->type]->cells;
    back->threads = problem->threads;
    if (problem->inner > LENGTH_MOST || problem->width > LENGTH_MOST)
        goto failed; /* the call in steps is used instead */
    TRY_GOTO(failed, tamis_cpu_cells_build(problem, problem->threads, &back->index));
    TRY_GOTO(failed, prepare_parts(back));
    if (back->index.most > COLUMNS_MOST || back->sums_bytes * back->threads > SUMS_MOST)
        goto failed; /* the call in steps is used instead */
    *prepared = back;
    return TAMIS_OK;
failed:
    release(back);
    return status;
}

/* ------------------------------------------------------------------------------------------ executing */

typedef struct run {
    const tamis_prepared_backward *back;
    const tamis_backward_operands *operands;
    int64_t first, members; /* the members of this turn, which have scratch at the same time */
} run;

static tamis_cpu_cell_rows rows_of(const tamis_matrix *x, int64_t member, int64_t size) {
    if (!x->at.base) return (tamis_cpu_cell_rows){.at = NULL};
    return (tamis_cpu_cell_rows){tamis_cpu_address(x->at) + member * x->batch_stride * size, x->stride * size};
}

static tamis_cpu_cell_gradient member_of(const run *r, int64_t member) {
    const tamis_problem *const p = &r->back->problem;
    const tamis_backward_operands *const x = r->operands;
    const int64_t size = (int64_t)tamis_type_size(p->type);
    return (tamis_cpu_cell_gradient){.index = &r->back->index,
                                     .rows = p->rows,
                                     .cols = p->cols,
                                     .inner = p->inner,
                                     .width = p->width,
                                     .a = rows_of(&x->a, member, size),
                                     .b = rows_of(&x->b, member, size),
                                     .d = rows_of(&x->d, member, size),
                                     .e = rows_of(&x->e, member, size),
                                     .da = rows_of(&x->da, member, size),
                                     .db = rows_of(&x->db, member, size),
                                     .dd = rows_of(&x->dd, member, size),
                                     .scale = p->edge_constants.scale,
                                     .alpha = x->alpha,
                                     .beta = x->beta};
}

/* Share `share` of member `first + member`. */
static tamis_cpu_cell_part part_of(const run *r, int64_t member, int share) {
    const tamis_prepared_backward *const back = r->back;
    const int64_t item = member * back->shares + share;
    tamis_cpu_cell_part part = back->parts[share];
    char *const mine = tamis_cpu_address(r->operands->scratch) + item * (back->scratch_bytes + back->sums_bytes);
    part.scratch = mine;
    part.sums = mine + back->scratch_bytes;
    return part;
}

static void body_items(void *context, int thread, int threads) {
    const run *const r = context;
    const int64_t shares = r->back->shares;
    for (int64_t item = thread; item < r->members * shares; item += threads) {
        const tamis_cpu_cell_gradient x = member_of(r, r->first + item / shares);
        const tamis_cpu_cell_part part = part_of(r, item / shares, (int)(item % shares));
        r->back->kernels->gradient(&x, &part);
        if (shares == 1) r->back->kernels->finish(&x, &part, 1, 0, x.cols);
    }
}

/* Adds the shares of each member; threads divide the columns. */
static void body_finish(void *context, int thread, int threads) {
    enum { SHARES_MOST = 1024 };
    const run *const r = context;
    const int shares = r->back->shares;
    tamis_cpu_cell_part parts[SHARES_MOST];
    for (int64_t member = 0; member < r->members; member++) {
        const tamis_cpu_cell_gradient x = member_of(r, r->first + member);
        for (int s = 0; s < shares; s++) parts[s] = part_of(r, member, s);
        r->back->kernels->finish(&x, parts, shares, tamis_partition_even(x.cols, threads, thread),
                                 tamis_partition_even(x.cols, threads, thread + 1));
    }
}

static tamis_status execute(const tamis_prepared_backward *back, void *stream, const tamis_backward_operands *x) {
    run r = {.back = back, .operands = x};
    if (stream) return tamis_fail(TAMIS_ERROR_ARGUMENT, "stream must be NULL on the CPU");
    for (; r.first < back->problem.batch; r.first += r.members) {
        const int64_t left = back->problem.batch - r.first, most = at_once(back);
        r.members = left < most ? left : most;
        tamis_threads_run(back->threads, body_items, &r);
        if (back->shares > 1) tamis_threads_run(back->threads, body_finish, &r);
    }
    return TAMIS_OK;
}

const tamis_backward_functions tamis_cpu_cells_backward = {.algorithm = "cpu-cells",
                                                           .seconds = seconds,
                                                           .prepare = prepare,
                                                           .scratch_bytes = scratch_bytes,
                                                           .execute = execute,
                                                           .release = release};
