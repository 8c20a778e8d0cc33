/*
 * One execution: fills the job from the plan and the operands, runs the threads, and merges the rows that were cut.
 * Nothing is allocated here.
 *
 * The threads are started once for all members of a batch if no rows have to be merged. Otherwise they are started for
 * one member after another, since the members share the scratch.
 */
#include "cpu/execute.h"

#include <stdatomic.h>

#include "base/status.h"
#include "base/threads.h"
#include "cpu/method.h"
#include "cpu/parts.h"

typedef struct execution {
    const tamis_prepared *prepared;
    tamis_cpu_job first;              /* the first member's */
    tamis_batch_strides batch_stride; /* in bytes */
    int64_t members;
    char *scratch;
    int stage;         /* of softmax_rows */
    atomic_llong next; /* the next block of rows to hand out; the blocks of one member follow those of the one before */
} execution;

static tamis_cpu_job job_of(const execution *run, int64_t member) {
    tamis_cpu_job job = run->first;
    if (member == 0) return job;
    if (job.values) job.values += member * run->batch_stride.values;
    if (job.a) job.a += member * run->batch_stride.a;
    if (job.b) job.b += member * run->batch_stride.b;
    if (job.d) job.d += member * run->batch_stride.d;
    if (job.out) job.out += member * run->batch_stride.out;
    if (job.softmax_rows) job.softmax_rows += member * 2 * job.rows * run->prepared->kernels->real_bytes;
    return job;
}

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

/* The kernel is the method's: range_kernels of kernels/table.c, or those that its own header defines, compiled for the
   plan's instruction set and type. */
static void run_range(const execution *run, int64_t member, const tamis_cpu_range *range) {
    const tamis_cpu_job job = job_of(run, member);
    run->prepared->kernel(&job, range);
}

static void body_ranges(void *context, int thread, int threads) {
    const execution *const run = context;
    (void)threads;
    const tamis_cpu_range range = range_with_scratch(run, thread);
    for (int64_t member = 0; member < run->members; member++) run_range(run, member, &range);
}

static void body_softmax(void *context, int thread, int threads) {
    const execution *const run = context;
    (void)threads;
    const tamis_cpu_range range = range_with_scratch(run, thread);
    run->prepared->kernels->softmax_rows(&run->first, &range, run->stage);
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

/* Threads take blocks of whole rows until none is left, so a thread with short rows takes more blocks. */
static void body_blocks(void *context, int thread, int threads) {
    execution *const run = context;
    const tamis_prepared *const p = run->prepared;
    (void)threads;
    tamis_cpu_range range = range_with_scratch(run, thread);
    for (int64_t member, begin, end; next_block(run, &member, &begin, &end);) {
        tamis_cpu_whole_rows(&p->problem, begin, end, &range);
        run_range(run, member, &range);
    }
}

enum { MERGE_MOST = 1024 };

/* Merges every row that several ranges share from its partial rows, in order. */
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
        do { /* a range that begins inside the row has its part in head */
            t++;
            partials[count++] = range_with_scratch(run, t).head;
        } while (t + 1 < p->threads && p->ranges[t].tail_cut && p->ranges[t].row_end - 1 == row);
        if (softmax_of_p)
            p->kernels->merge_softmax(&run->first, row, partials, count);
        else
            p->kernels->merge_row(&run->first, row, partials, count);
    }
}

tamis_status tamis_cpu_execute(const tamis_prepared *prepared, void *stream, const tamis_operands *operands) {
    const tamis_problem *const problem = &prepared->problem;
    if (stream) return tamis_fail(TAMIS_ERROR_ARGUMENT, "stream must be NULL on the CPU");
    const int64_t size = (int64_t)tamis_type_size(problem->type);
    const int64_t out_size = (int64_t)tamis_type_size(problem->output_type);
    const int64_t value_size = (int64_t)tamis_type_size(problem->value_type);
    const tamis_batch_strides *const strides = &operands->batch_stride;
    execution run = {
        .prepared = prepared,
        .batch_stride = {strides->values * value_size, strides->a * size, strides->b * size, strides->d * size,
                         strides->out * out_size},
        .scratch = tamis_cpu_address(operands->scratch),
        .first = prepared->job,
    };
    tamis_cpu_job *const job = &run.first;
    job->values = tamis_cpu_address(operands->values);
    job->a = tamis_cpu_address(operands->a);
    job->b = tamis_cpu_address(operands->b);
    job->d = tamis_cpu_address(operands->d);
    job->a_stride = operands->a_stride * size;
    job->b_stride = operands->b_stride * size;
    job->d_stride = operands->d_stride * size;
    job->out = tamis_cpu_address(operands->out);
    job->out_stride = operands->out_stride * out_size;
    job->alpha = operands->alpha;
    job->beta = operands->beta;
    job->softmax_rows = tamis_cpu_address(operands->softmax_rows);
    job->samples = run.scratch + prepared->threads * prepared->thread_scratch;
    /* short pieces and chunks read the rows of B again, as those of D, while they are in L1 */
    job->d_is_b = problem->operation == TAMIS_OP_FUSED && tamis_d_is_b(problem, operands);
    if (job->d_is_b && job->chunk > TAMIS_CPU_SAME_ROWS_CHUNK) job->chunk = TAMIS_CPU_SAME_ROWS_CHUNK;
    const bool softmax_of_p = problem->operation == TAMIS_OP_SDDMM && problem->edge == TAMIS_EDGE_SOFTMAX;
    tamis_thread_body *const body = prepared->method->blocks ? body_blocks : body_ranges;
    const int64_t at_once = softmax_of_p || prepared->cuts ? 1 : operands->batch;
    run.members = at_once;
    for (int64_t member = 0; member < operands->batch; member += at_once) {
        run.stage = 0;
        atomic_init(&run.next, 0);
        tamis_threads_run(prepared->threads, body, &run);
        if (softmax_of_p) { /* the scores are stored; p is computed from them by equal nonzeros, whichever algorithm
                               made the scores */
            tamis_threads_run(prepared->threads, body_softmax, &run);
            merge_cut_rows(&run, true);
            run.stage = 1;
            tamis_threads_run(prepared->threads, body_softmax, &run);
        } else if (prepared->cuts) {
            merge_cut_rows(&run, false);
        }
        run.first = job_of(&run, at_once);
    }
    return TAMIS_OK;
}
