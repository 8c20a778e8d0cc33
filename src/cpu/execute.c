/*
 * One execution: fills the job from the plan and the operands, and runs the threads. Nothing is allocated here.
 *
 * The nonzeros are cut into ranges, several per thread. A thread that has finished its own takes ranges that others
 * have not begun (work stealing). If ranges share a row, the thread that ends the last of them merges their parts, in
 * order, so that results do not depend on who came last.
 *
 * The threads are started once for all members of a batch if no rows have to be merged and nothing is packed. Otherwise
 * they are started for one member after another, since the members share the scratch.
 */
#include "cpu/execute.h"

#include "base/status.h"
#include "base/threads.h"
#include "cpu/method.h"
#include "cpu/parts.h"
#include "cpu/stealing.h"

typedef struct execution {
    const tamis_prepared *prepared;
    const tamis_operands *operands;
    tamis_cpu_job common;   /* what all members share */
    int64_t begin, members; /* of this turn */
    tamis_cpu_job first;    /* the first member's of this turn */
    char *scratch;
    int stage;           /* stage of softmax_rows */
    atomic_llong next;   /* the next block of rows to hand out; members' blocks are numbered consecutively */
    atomic_int *begun;   /* per thread: number of its ranges that were begun */
    atomic_int *arrived; /* per cut row, at its first range: number of its ranges that have ended */
} execution;

static char *address(const tamis_matrix *x, int64_t member, tamis_type type) {
    tamis_matrix of = *x;
    tamis_matrix_advance(&of, member, type);
    return tamis_cpu_address(of.at);
}

/* The job of a member of this turn. */
static tamis_cpu_job job_of(const execution *run, int64_t member) {
    tamis_cpu_job job = run->common;
    const tamis_problem *const p = &run->prepared->problem;
    const tamis_operands *const x = run->operands;
    const int64_t number = run->begin + member;
    job.member = x->first_member + number;
    job.values = address(&x->values, number, p->value_type);
    job.a = address(&x->a, number, p->type);
    job.b = address(&x->b, number, p->type);
    job.d = address(&x->d, number, p->type);
    job.out = address(&x->out, number, p->output_type);
    if (job.softmax_rows) job.softmax_rows += number * 2 * job.rows * run->prepared->kernels->real_bytes;
    return job;
}

/* Range number `number` with the scratch of a thread. */
static tamis_cpu_range range_with_scratch(const execution *run, int thread, int number) {
    const tamis_prepared *const p = run->prepared;
    char *const mine = run->scratch + thread * p->thread_scratch;
    char *const parts = run->scratch + p->threads * p->thread_scratch + 2 * number * p->partial_stride;
    tamis_cpu_range range = p->ranges[number];
    range.head = parts;
    range.tail = parts + p->partial_stride;
    range.carry = mine;
    range.block = mine + p->partial_stride;
    range.chunk = mine + p->thread_scratch - p->chunk_bytes;
    return range;
}

/* Runs the method's kernel: from range_kernels of kernels/table.c, or from its own header, compiled for the plan's
   instruction set and type. */
static void run_range(const execution *run, int64_t member, const tamis_cpu_range *range) {
    const tamis_cpu_job job = job_of(run, member);
    run->prepared->kernel(&job, range);
}

/* The first of the ranges that share the row at the beginning of range `number`. */
static int first_of_row(const tamis_prepared *p, int number) {
    const int64_t row = p->ranges[number].row_begin;
    while (p->ranges[number].head_cut && p->ranges[number].row_begin == row) number--;
    return number;
}

/* True if the row that is cut at the range's end begins in it: then the range is the first of those that share the
   row. */
static bool begins_cut_row(const tamis_cpu_range *range) {
    return range->tail_cut && !(range->head_cut && range->row_end - range->row_begin == 1);
}

/* Collects the partial sums of the row that is cut at the end of range `first`; returns their number. A range that
   begins inside the row has its part in head. */
static int parts_of_row(const execution *run, int first, int64_t *row, void **partials) {
    const tamis_prepared *const p = run->prepared;
    int count = 0, i = first;
    *row = p->ranges[first].row_end - 1;
    partials[count++] = range_with_scratch(run, 0, first).tail;
    do partials[count++] = range_with_scratch(run, 0, ++i).head;
    while (p->ranges[i].tail_cut && p->ranges[i].row_end - 1 == *row);
    return count;
}

/* Called at the end of a range that shares the row at the end of range `first`. The last one to arrive merges. */
static void arrive(execution *run, int first) {
    void *partials[TAMIS_CPU_RANGES];
    int64_t row;
    const int count = parts_of_row(run, first, &row, partials);
    if (atomic_fetch_add(&run->arrived[first], 1) + 1 == count)
        run->prepared->kernels->merge_row(&run->first, row, partials, count);
}

static void merge_range(execution *run, int number) {
    const tamis_cpu_range *const range = &run->prepared->ranges[number];
    if (range->head_cut) arrive(run, first_of_row(run->prepared, number));
    if (begins_cut_row(range)) arrive(run, number);
}

static void body_pack(void *context, int share, int shares) {
    const execution *const run = context;
    run->prepared->pack(&run->first, share, shares);
}

static void body_ranges(void *context, int thread, int threads) {
    execution *const run = context;
    const int each = run->prepared->ranges_of_thread;
    int victim = 0;
    for (int number; (number = tamis_cpu_next_part(run->begun, each, thread, threads, &victim)) >= 0;) {
        const tamis_cpu_range range = range_with_scratch(run, thread, number);
        for (int64_t member = 0; member < run->members; member++) run_range(run, member, &range);
        if (run->prepared->cuts) merge_range(run, number);
    }
}

static void body_softmax(void *context, int thread, int threads) {
    const execution *const run = context;
    const int each = run->prepared->ranges_of_thread;
    (void)threads;
    for (int i = 0; i < each; i++) {
        const tamis_cpu_range range = range_with_scratch(run, thread, thread * each + i);
        run->prepared->kernels->softmax_rows(&run->first, &range, run->stage);
    }
}

/* Takes the next block of rows and its member; false if none is left. */
static bool next_block(execution *run, int64_t *member, int64_t *row_begin, int64_t *row_end) {
    const int64_t rows = run->prepared->problem.rows, grain = run->prepared->grain;
    const int64_t blocks = (rows + grain - 1) / grain, block = (int64_t)atomic_fetch_add(&run->next, 1);
    if (block >= blocks * run->members) return false;
    *member = block / blocks;
    *row_begin = block % blocks * grain;
    *row_end = *row_begin + grain < rows ? *row_begin + grain : rows;
    return true;
}

/* Dynamic scheduling: threads take blocks of whole rows until none is left. */
static void body_blocks(void *context, int thread, int threads) {
    execution *const run = context;
    const tamis_prepared *const p = run->prepared;
    (void)threads;
    tamis_cpu_range range = range_with_scratch(run, thread, thread);
    for (int64_t member, begin, end; next_block(run, &member, &begin, &end);) {
        tamis_cpu_whole_rows(&p->problem, begin, end, &range);
        run_range(run, member, &range);
    }
}

/* Merges the softmax states of the rows that ranges share. */
static void merge_softmax(execution *run) {
    const tamis_prepared *const p = run->prepared;
    void *partials[TAMIS_CPU_RANGES];
    for (int i = 0; i < tamis_cpu_range_count(p); i++) {
        int64_t row;
        if (!begins_cut_row(&p->ranges[i])) continue;
        const int count = parts_of_row(run, i, &row, partials);
        p->kernels->merge_softmax(&run->first, row, partials, count);
    }
}

static void start_ranges(execution *run) {
    const tamis_prepared *const p = run->prepared;
    for (int t = 0; t < p->threads; t++) atomic_init(&run->begun[t], 0);
    for (int i = 0; p->cuts && i < tamis_cpu_range_count(p); i++) atomic_init(&run->arrived[i], 0);
    atomic_init(&run->next, 0);
    run->stage = 0;
}

tamis_status tamis_cpu_execute(const tamis_prepared *prepared, void *stream, const tamis_operands *operands) {
    const tamis_problem *const problem = &prepared->problem;
    if (stream) return tamis_fail(TAMIS_ERROR_ARGUMENT, "stream must be NULL on the CPU");
    const int64_t size = (int64_t)tamis_type_size(problem->type);
    const int64_t out_size = (int64_t)tamis_type_size(problem->output_type);
    atomic_int begun[TAMIS_CPU_RANGES], arrived[TAMIS_CPU_RANGES];
    execution run = {
        .prepared = prepared,
        .begun = begun,
        .arrived = arrived,
        .operands = operands,
        .scratch = tamis_cpu_address(operands->scratch),
        .common = prepared->job,
    };
    tamis_cpu_job *const job = &run.common;
    job->a_stride = operands->a.stride * size;
    job->b_stride = operands->b.stride * size;
    job->d_stride = operands->d.stride * size;
    job->out_stride = operands->out.stride * out_size;
    job->named = operands->named;
    job->permutation = operands->permutation;
    job->alpha = operands->alpha;
    job->beta = operands->beta;
    job->softmax_rows = tamis_cpu_address(operands->softmax_rows);
    job->samples = run.scratch + prepared->samples_at;
    if (prepared->pack) job->packed = run.scratch + prepared->packed_at;
    /* short pieces and chunks read the rows of B a second time, as rows of D, while they are in L1 */
    job->d_is_b = problem->operation == TAMIS_OP_FUSED && tamis_d_is_b(problem, operands);
    if (job->d_is_b && job->chunk > TAMIS_CPU_SAME_ROWS_CHUNK) job->chunk = TAMIS_CPU_SAME_ROWS_CHUNK;
    const bool softmax_of_p = problem->operation == TAMIS_OP_SDDMM && problem->edge == TAMIS_EDGE_SOFTMAX;
    tamis_thread_body *const body = prepared->method->blocks ? body_blocks : body_ranges;
    const int64_t at_once = softmax_of_p || prepared->cuts || prepared->pack ? 1 : operands->batch;
    run.members = at_once;
    for (int64_t member = 0; member < operands->batch; member += at_once) {
        run.begin = member;
        run.first = job_of(&run, 0);
        start_ranges(&run);
        if (prepared->pack) tamis_threads_run(prepared->threads, body_pack, &run);
        tamis_threads_run(prepared->threads, body, &run);
        if (softmax_of_p) { /* the scores are stored; p is computed from them by equal nonzeros, whatever the algorithm
                             */
            tamis_threads_run(prepared->threads, body_softmax, &run);
            merge_softmax(&run);
            run.stage = 1;
            tamis_threads_run(prepared->threads, body_softmax, &run);
        }
    }
    return TAMIS_OK;
}
