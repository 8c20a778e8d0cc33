/*
 * One execution: fills the job from the plan and the operands, runs the threads, merges the rows that were cut. Nothing
 * is allocated here.
 */
#include <stdatomic.h>

#include "base/status.h"
#include "base/threads.h"
#include "cpu/plan.h"

enum { SAME_ROWS_CHUNK = 64 };

typedef struct execution {
    const tamis_prepared *prepared;
    tamis_cpu_job job;
    char *scratch;
    int stage;         /* of softmax_rows */
    atomic_llong next; /* the next row (or item) to hand out */
} execution;

static tamis_cpu_range range_with_scratch(const execution *run, int thread) {
    const tamis_prepared *const p = run->prepared;
    char *const mine = run->scratch + thread * p->thread_scratch;
    tamis_cpu_range range = p->ranges[thread];
    range.head = mine;
    range.tail = mine + p->partial_stride;
    range.carry = mine + 2 * p->partial_stride;
    range.block = mine + 3 * p->partial_stride;
    range.chunk = mine + p->thread_scratch - p->chunk_bytes;
    return range;
}

static void run_range(const execution *run, const tamis_cpu_range *range) {
    const tamis_cpu_kernels *const kernels = run->prepared->kernels;
    switch (run->prepared->problem.operation) {
    case TAMIS_OP_SDDMM: kernels->sddmm(&run->job, range); return;
    case TAMIS_OP_SPMM: kernels->spmm(&run->job, range); return;
    case TAMIS_OP_FUSED: kernels->fused(&run->job, range); return;
    }
}

static void body_nonzeros(void *context, int thread, int threads) {
    const execution *const run = context;
    (void)threads;
    const tamis_cpu_range range = range_with_scratch(run, thread);
    run_range(run, &range);
}

static void body_softmax(void *context, int thread, int threads) {
    const execution *const run = context;
    (void)threads;
    const tamis_cpu_range range = range_with_scratch(run, thread);
    run->prepared->kernels->softmax_rows(&run->job, &range, run->stage);
}

static int64_t offset_of(const tamis_prepared *prepared, int64_t row) {
    return prepared->problem.offset_type == TAMIS_I64 ? ((const int64_t *)prepared->problem.offsets)[row]
                                                      : ((const int32_t *)prepared->problem.offsets)[row];
}

/* Blocks of whole rows, taken in turn: a thread that drew short rows draws again. */
static void body_rows(void *context, int thread, int threads) {
    execution *const run = context;
    const tamis_prepared *const p = run->prepared;
    (void)threads;
    tamis_cpu_range range = range_with_scratch(run, thread);
    range.head_cut = range.tail_cut = false;
    for (;;) {
        range.row_begin = (int64_t)atomic_fetch_add(&run->next, (long long)p->grain);
        if (range.row_begin >= p->problem.rows) return;
        range.row_end = range.row_begin + p->grain < p->problem.rows ? range.row_begin + p->grain : p->problem.rows;
        range.nonzero_begin = offset_of(p, range.row_begin);
        range.nonzero_end = offset_of(p, range.row_end);
        run_range(run, &range);
    }
}

/* Items (row, member) of Zubair and Bauinger. */
static void body_members(void *context, int thread, int threads) {
    execution *const run = context;
    const tamis_prepared *const p = run->prepared;
    (void)thread;
    (void)threads;
    const int64_t items = p->problem.rows * p->members, grain = p->grain * p->members;
    for (;;) {
        const int64_t begin = (int64_t)atomic_fetch_add(&run->next, (long long)grain);
        if (begin >= items) return;
        p->kernels->sddmm_members(&run->job, begin, begin + grain < items ? begin + grain : items, (int)p->members);
    }
}

/* Equal shares of the rows, as a plain `omp parallel for` deals them. */
static void body_naive(void *context, int thread, int threads) {
    const execution *const run = context;
    const tamis_prepared *const p = run->prepared;
    const int64_t share = (p->problem.rows + threads - 1) / threads;
    const int64_t begin = share * thread < p->problem.rows ? share * thread : p->problem.rows;
    const int64_t end = begin + share < p->problem.rows ? begin + share : p->problem.rows;
    switch (p->problem.operation) {
    case TAMIS_OP_SDDMM: p->kernels->sddmm_naive(&run->job, begin, end); return;
    case TAMIS_OP_SPMM: p->kernels->spmm_naive(&run->job, begin, end); return;
    case TAMIS_OP_FUSED: p->kernels->fused_naive(&run->job, begin, end); return;
    }
}

enum { MERGE_MOST = 1024 };

/* Calls `merge` for every row that several ranges share, with their partial rows in order. */
static void merge_cut_rows(execution *run, bool softmax_of_p) {
    const tamis_prepared *const p = run->prepared;
    void *partials[MERGE_MOST];
    for (int t = 0; t + 1 < p->threads;) {
        if (!p->ranges[t].tail_cut) {
            t++;
            continue;
        }
        const int64_t row = p->ranges[t].row_end - 1;
        int count = 0;
        const tamis_cpu_range first = range_with_scratch(run, t);
        partials[count++] = first.head_cut && first.row_begin == row ? first.head : first.tail;
        do { /* every range that begins inside the row holds its part in head */
            t++;
            partials[count++] = range_with_scratch(run, t).head;
        } while (t + 1 < p->threads && p->ranges[t].tail_cut && p->ranges[t].row_end - 1 == row);
        if (softmax_of_p)
            p->kernels->merge_softmax(partials, count);
        else
            p->kernels->merge_row(&run->job, row, partials, count);
    }
}

static void *address(tamis_place place) { return place.base ? (char *)place.base + place.bytes : NULL; }

tamis_status tamis_cpu_execute(const tamis_prepared *prepared, void *stream, const tamis_operands *operands) {
    const tamis_problem *const problem = &prepared->problem;
    if (stream) return tamis_fail(TAMIS_ERROR_ARGUMENT, "stream must be NULL on the CPU");
    const int64_t size = (int64_t)tamis_type_size(problem->type);
    execution run = {
        .prepared = prepared,
        .scratch = address(operands->scratch),
        .job = {.rows = problem->rows,
                .cols = problem->cols,
                .nnz = problem->nnz,
                .offsets = problem->offsets,
                .columns = problem->columns,
                .wide_offsets = problem->offset_type == TAMIS_I64,
                .wide_columns = problem->index_type == TAMIS_I64,
                .values = address(operands->values),
                .a = address(operands->a),
                .b = address(operands->b),
                .d = address(operands->d),
                .a_stride = operands->a_stride * size,
                .b_stride = operands->b_stride * size,
                .d_stride = operands->d_stride * size,
                .inner = problem->inner,
                .width = problem->width,
                .out = address(operands->out),
                .out_stride = operands->out_stride * size,
                .alpha = operands->alpha,
                .beta = operands->beta,
                .edge = problem->edge,
                .edge_scale = problem->edge_scale,
                .edge_slope = problem->edge_slope,
                .edge_epsilon = problem->edge_epsilon,
                .prefetch = prepared->prefetch,
                .chunk = prepared->chunk,
                .segments = prepared->segments,
                .explicit_simd = prepared->kind == TAMIS_CPU_SIMD,
                .tiles = prepared->kind == TAMIS_CPU_TILED ? &prepared->tiles : NULL,
                .samples = (char *)address(operands->scratch) + prepared->threads * prepared->thread_scratch},
    };
    atomic_init(&run.next, 0);
    /* the rows of one matrix are read twice: at once, while they are in L1 */
    if (problem->operation == TAMIS_OP_FUSED && run.job.b == run.job.d && run.job.chunk > SAME_ROWS_CHUNK)
        run.job.chunk = SAME_ROWS_CHUNK;
    const bool softmax_of_p = problem->operation == TAMIS_OP_SDDMM && problem->edge == TAMIS_EDGE_SOFTMAX;
    tamis_thread_body *body = body_nonzeros;
    bool cuts = true; /* rows may be shared between threads */
    switch (prepared->kind) {
    case TAMIS_CPU_ROWS: body = body_rows, cuts = false; break;
    case TAMIS_CPU_SIMD: body = problem->operation == TAMIS_OP_SDDMM ? body_members : body_rows, cuts = false; break;
    case TAMIS_CPU_NAIVE: body = body_naive, cuts = false; break;
    case TAMIS_CPU_NONZEROS:
    case TAMIS_CPU_TILED: break;
    }
    tamis_threads_run(prepared->threads, body, &run);
    if (softmax_of_p) { /* the scores are there; p is made from them by equal nonzeros whatever made the scores */
        tamis_threads_run(prepared->threads, body_softmax, &run);
        merge_cut_rows(&run, true);
        run.stage = 1;
        tamis_threads_run(prepared->threads, body_softmax, &run);
    } else if (cuts && problem->operation != TAMIS_OP_SDDMM) {
        merge_cut_rows(&run, false);
    }
    return TAMIS_OK;
}
