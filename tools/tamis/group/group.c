/* Ranks as threads, or one rank per process: each has its rows of every operand, as views of the whole arrays. */
#include "group/group.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <tamis/stream.h>
#include <tamis/structure.h>

#include "base/sizes.h"
#include "cli/exit.h"
#include "cli/mirror.h"
#include "cli/progress.h"
#include "cli/ranks.h"
#include "group/join.h"

enum { METIS = 1 }; /* of tool_partitions */

struct tool_rank {
    tool_device device;
    tamis_group *group;
    tamis_group_plan *plan;
    tamis_sparse S;
    int64_t first_row, first_entry, first_own, own_rows;
    tool_problem problem;  /* its rows of the operands, on the host */
    tool_dense columns[4]; /* A, B, D and the output if column-major: copies, since their rows are not contiguous */
    tamis_dense output;    /* its rows of the whole output */
    tool_mirror mirror;    /* the problem in the device's memory */
    tool_line *line;
    const tamis_options *planning;
    const tool_problem *whole;
    int count, burst; /* number of samples, and of executions in each */
    bool kept;        /* B and D do not change within a sample */
    bool processes;   /* the others are such */
    bool copies;      /* copy the output to and from the device */
    double *seconds;
};

/* ------------------------------------------------------------------------------------------ the starting line */

static void wait_at(tool_line *line) {
    pthread_mutex_lock(&line->lock);
    const int64_t next = line->starts + 1;
    if (++line->waiting == line->ranks) { /* the last one starts all */
        line->waiting = 0;
        line->starts++;
        pthread_cond_broadcast(&line->start);
    }
    while (line->starts < next) pthread_cond_wait(&line->start, &line->lock);
    pthread_mutex_unlock(&line->lock);
}

/* ------------------------------------------------------------------------------------------ one rank */

static tamis_dense rows_of(const tamis_dense *dense, int64_t first, int64_t rows) {
    tamis_dense view = *dense;
    if (view.stride == 0) view.stride = view.layout == TAMIS_ROW_MAJOR ? view.cols : view.rows;
    const int64_t skip = view.layout == TAMIS_ROW_MAJOR ? first * view.stride : first;
    if (view.data) view.data = (char *)view.data + (size_t)skip * tamis_type_size(view.type);
    view.rows = rows;
    return view;
}

/* Copies column-major matrices, whose rows are not contiguous. */
static void make_blocks(tool_rank *rank) {
    tamis_dense *const views[] = {&rank->problem.A, &rank->problem.B, &rank->problem.D, &rank->problem.output};
    rank->output = rank->problem.output;
    for (int i = 0; i < 4 && rank->device.gpu; i++) {
        if (!views[i]->data || views[i]->layout == TAMIS_ROW_MAJOR) continue;
        if (i == 2 && rank->problem.d_is_b) { /* D stays the view B */
            rank->problem.D = rank->problem.B;
            continue;
        }
        rank->columns[i] = tool_dense_create(views[i]->rows, views[i]->cols, views[i]->type, views[i]->layout, 0, 0);
        tool_dense_copy(views[i], &rank->columns[i].view);
        *views[i] = rank->columns[i].view;
    }
}

/* Sets the rank's views. S stays on the host; the plan copies what it needs. */
static void take_rows(tool_rank *rank, const tool_problem *whole) {
    const bool sddmm = whole->operation == TAMIS_OP_SDDMM;
    rank->problem = *whole;
    rank->problem.S = (tamis_sparse){.format = TAMIS_CSR};
    rank->problem.A = rows_of(&whole->A, rank->first_row, rank->S.rows);
    rank->problem.B = rows_of(&whole->B, rank->first_own, rank->own_rows);
    rank->problem.D = rows_of(&whole->D, rank->first_own, rank->own_rows);
    rank->problem.output =
        rows_of(&whole->output, sddmm ? rank->first_entry : rank->first_row, sddmm ? rank->S.nnz : rank->S.rows);
}

static tamis_status execute(const tool_rank *rank) {
    const tool_problem *problem = &rank->mirror.problem;
    tamis_execution execution = TAMIS_EXECUTION_INIT;
    execution.alpha = problem->alpha;
    execution.beta = problem->beta;
    execution.generation = rank->kept ? 1 : 0;
    if (problem->operation == TAMIS_OP_SDDMM)
        return tamis_group_plan_sddmm(rank->plan, &problem->A, &problem->B, &problem->output, &execution);
    if (problem->operation == TAMIS_OP_SPMM)
        return tamis_group_plan_spmm(rank->plan, &problem->B, &problem->output, &execution);
    return tamis_group_plan_fused(rank->plan, &problem->A, &problem->B, &problem->D, &problem->output, &execution);
}

static tamis_status copy_operands(tool_rank *rank) {
    take_rows(rank, rank->whole);
    make_blocks(rank);
    return tool_mirror_create(&rank->device, &rank->problem, 0, &rank->mirror);
}

static tamis_status make_plan(tool_rank *rank) {
    return tamis_group_plan_create(rank->group, &rank->S, rank->own_rows, rank->planning, &rank->plan);
}

/* Copies the output, including padding, from the host to the device. */
static tamis_status put_output(const tool_rank *rank) {
    if (rank->columns[3].memory) tool_dense_copy(&rank->output, &rank->columns[3].view);
    return tool_mirror_put(&rank->mirror);
}

static tamis_status fetch_output(const tool_rank *rank) {
    const tamis_status status = tool_mirror_fetch(&rank->mirror);
    if (status == TAMIS_OK && rank->columns[3].memory) tool_dense_copy(&rank->columns[3].view, &rank->output);
    return status;
}

static tamis_status take_sample(tool_rank *rank, double *seconds) {
    tamis_status status = rank->kept ? execute(rank) : TAMIS_OK; /* fetches the rows that are then kept */
    if (status == TAMIS_OK) status = tamis_stream_synchronize(rank->device.device, NULL);
    wait_at(rank->line);
    if (rank->processes) (void)tool_ranks_most(0); /* their starting line */
    const double start = tool_seconds();
    for (int i = 0; i < rank->burst && status == TAMIS_OK; i++) status = execute(rank);
    if (status == TAMIS_OK) status = tamis_stream_synchronize(rank->device.device, NULL);
    *seconds = (tool_seconds() - start) / rank->burst;
    return status;
}

/* Executes the samples. A rank that fails continues like the others, whose calls then fail soon, so that all reach the
   barrier equally often. */
static tamis_status execute_all(tool_rank *rank) {
    tamis_status first = rank->copies ? put_output(rank) : TAMIS_OK;
    char why[512] = "";
    strncpy(why, tamis_last_error(), sizeof why - 1);
    for (int i = 0; i < rank->count; i++) {
        const tamis_status status = take_sample(rank, &rank->seconds[i]);
        if (status == TAMIS_OK || first != TAMIS_OK) continue;
        first = status;
        strncpy(why, tamis_last_error(), sizeof why - 1);
    }
    if (first != TAMIS_OK) return tamis_transport_fail(first, why);
    return rank->copies ? fetch_output(rank) : TAMIS_OK;
}

/* ------------------------------------------------------------------------------------------ all ranks */

static tamis_status call_rank(void *context, int rank) {
    const tool_group *group = context;
    return group->call(&group->at[rank]);
}

/* Calls a function for each rank; one failure is a failure of all. */
static tamis_status run_all(tool_group *group, tamis_status (*call)(tool_rank *rank)) {
    group->call = call;
    return group->processes ? tool_ranks_agree(call(group->at)) : tamis_group_run(group->ranks, call_rank, group);
}

static tamis_status open_groups(tool_group *group, int link) {
    if (group->processes)
        return tool_ranks_agree(tamis_group_open(group->at->device.device, tool_ranks_transport(), &group->at->group));
    tamis_device *devices[TOOL_LIST_LIMIT];
    tamis_group *groups[TOOL_LIST_LIMIT] = {NULL};
    tamis_transport_options options = TAMIS_TRANSPORT_OPTIONS_INIT;
    options.link = (tamis_link)link;
    for (int r = 0; r < group->ranks; r++) devices[r] = group->at[r].device.device;
    const tamis_status status = tamis_group_open_local(devices, group->ranks, &options, groups);
    for (int r = 0; r < group->ranks; r++) group->at[r].group = groups[r];
    return status;
}

/* Gives each rank its rows: as in `order`, or if that is NULL, ranges of rows with equal nonzeros. */
static tamis_status share_rows(tool_group *group, const tamis_sparse *S, const tool_order *order) {
    int64_t *first = tool_allocate((size_t)group->ranks + 1, sizeof *first);
    tamis_status status = TAMIS_OK;
    if (order)
        memcpy(first, order->first_rows, ((size_t)group->ranks + 1) * sizeof *first);
    else
        status = tamis_partition(S, group->ranks, first);
    group->first_rows = first;
    for (int i = 0; i < group->here && status == TAMIS_OK; i++) {
        tool_rank *rank = &group->at[i];
        const int r = group->processes ? tool_rank_number() : i;
        const bool square = S->rows == S->cols;
        const int64_t end = square ? first[r + 1] : S->cols * (r + 1) / group->ranks;
        rank->first_row = first[r];
        rank->first_own = square ? first[r] : S->cols * r / group->ranks;
        rank->own_rows = end - rank->first_own;
        status = tamis_slice(S, first[r], first[r + 1] - first[r], 0, 0, &rank->S);
        rank->first_entry = rank->S.offset_base - S->offset_base;
    }
    return status;
}

tamis_status tool_group_plan(const tool_group_kind *kind, const tool_problem *problem, const tamis_options *planning,
                             tool_group *group) {
    const tool_chosen *devices = &kind->devices;
    const bool processes = kind->transport != 0;
    const int here = devices->count, ranks = processes ? tool_rank_count() : here;
    if (problem->S.format != TAMIS_CSR)
        return tamis_transport_fail(TAMIS_ERROR_UNSUPPORTED, "several devices take csr only");
    *group = (tool_group){.ranks = ranks, .here = here, .at = tool_allocate((size_t)here, sizeof *group->at)};
    group->whole = problem;
    group->processes = processes;
    group->line.ranks = here;
    pthread_mutex_init(&group->line.lock, NULL);
    pthread_cond_init(&group->line.start, NULL);
    tamis_status status = TAMIS_OK;
    if (processes) status = tool_ranks_same_matrix(&problem->S);
    for (int r = 0; r < here && status == TAMIS_OK; r++) status = tool_device_try(devices->at[r], &group->at[r].device);
    tool_order *order = NULL;
    const bool reorders = kind->partition == METIS && ranks > 1;
    if (reorders && processes) status = tool_ranks_agree(status);
    if (status == TAMIS_OK && reorders) {
        order = group->order = tool_allocate(1, sizeof *order);
        status = tool_order_make(problem, ranks, order);
        group->whole = &order->problem;
    }
    if (status == TAMIS_OK) status = share_rows(group, order ? &order->problem.S : &problem->S, order);
    if (processes) status = tool_ranks_agree(status);
    if (status == TAMIS_OK) status = open_groups(group, kind->link);
    for (int r = 0; r < here; r++) {
        group->at[r].planning = planning;
        group->at[r].whole = group->whole;
        group->at[r].line = &group->line;
        group->at[r].processes = processes;
    }
    return status == TAMIS_OK ? run_all(group, make_plan) : status;
}

tamis_status tool_group_fill(tool_group *group) {
    if (group->order) tool_order_operands(group->order);
    return run_all(group, copy_operands);
}

void tool_group_close(tool_group *group) {
    for (int r = 0; r < group->here; r++) {
        tool_rank *rank = &group->at[r];
        tamis_group_plan_destroy(rank->plan);
        tamis_group_close(rank->group);
        tool_mirror_free(&rank->mirror);
        for (int i = 0; i < 4; i++) tool_dense_free(&rank->columns[i]);
        tool_device_close(&rank->device);
    }
    if (group->at) {
        pthread_cond_destroy(&group->line.start);
        pthread_mutex_destroy(&group->line.lock);
    }
    if (group->order) tool_order_free(group->order);
    free(group->order);
    free(group->at);
    free(group->first_rows);
    *group = (tool_group){0};
}

/* Collects the rows of the output of other processes on rank 0. */
static tamis_status collect_output(tool_group *group, const tool_problem *whole) {
    const bool sddmm = whole->operation == TAMIS_OP_SDDMM;
    const tamis_dense *output = &whole->output;
    const int64_t size = (int64_t)tamis_type_size(output->type), line = output->cols * size;
    int64_t *starts = tool_allocate((size_t)group->ranks + 1, sizeof *starts);
    for (int r = 0; r <= group->ranks; r++) {
        const int64_t row = group->first_rows[r];
        starts[r] =
            line * (sddmm ? tool_index_get(whole->S.offsets, whole->S.offset_type, row) - whole->S.offset_base : row);
    }
    const int64_t own = group->at->output.rows;
    const bool first = tool_rank_number() == 0;
    char *memory = tool_large_allocate((size_t)(first ? starts[group->ranks] : tamis_times(own, line)) + 1);
    tamis_dense packed = *output;
    packed.layout = TAMIS_ROW_MAJOR;
    packed.stride = output->cols;
    packed.data = memory;
    packed.rows = own;
    if (!first) tool_dense_copy(&group->at->output, &packed);
    const tamis_status status = tool_ranks_collect(memory, memory, starts);
    if (first && status == TAMIS_OK) { /* those behind its own */
        const tamis_dense rest = rows_of(output, own, output->rows - own);
        packed.data = memory + starts[1];
        packed.rows = rest.rows;
        tool_dense_copy(&packed, &rest);
    }
    free(memory);
    free(starts);
    return tool_ranks_agree(status);
}

static tamis_status sample(tool_group *group, int count, int burst, bool copies, bool kept, double *seconds) {
    double *all = tool_allocate(tamis_bytes(group->here, (size_t)count), sizeof *all);
    const bool processes = group->processes;
    for (int r = 0; r < group->here; r++) {
        tool_rank *rank = &group->at[r];
        rank->count = count;
        rank->burst = burst;
        rank->copies = copies;
        rank->kept = kept;
        rank->seconds = all + (size_t)r * (size_t)count;
    }
    if (group->order && copies) tool_order_output(group->order, false);
    tamis_status status = run_all(group, execute_all);
    for (int i = 0; i < count; i++) {
        seconds[i] = 0;
        for (int r = 0; r < group->here; r++)
            if (group->at[r].seconds[i] > seconds[i]) seconds[i] = group->at[r].seconds[i];
        if (processes && status == TAMIS_OK) seconds[i] = tool_ranks_most(seconds[i]);
    }
    free(all);
    if (processes && copies && status == TAMIS_OK) status = collect_output(group, group->whole);
    if (group->order && copies && status == TAMIS_OK) tool_order_output(group->order, true);
    return status;
}

tamis_status tool_group_execute(tool_group *group, int count, double *seconds) {
    return sample(group, count, 1, true, false, seconds);
}

tamis_status tool_group_time(tool_group *group, int count, int burst, bool kept, double *seconds) {
    return sample(group, count, burst, false, kept, seconds);
}

tamis_status tool_group_describe(const tool_group *group, tamis_plan_report *local, tamis_group_report *report) {
    const tamis_status status = tamis_plan_describe(tamis_group_plan_local(group->at[0].plan), local);
    return status == TAMIS_OK ? tamis_group_plan_describe(group->at[0].plan, report) : status;
}

tamis_status tool_group_explain(const tool_group *group) {
    size_t needed = 0;
    TOOL_TRY(tamis_group_plan_explain(group->at[0].plan, NULL, 0, &needed));
    char *text = tool_allocate(needed, 1);
    tamis_status status = tamis_group_plan_explain(group->at[0].plan, text, needed, NULL);
    if (status == TAMIS_OK) puts(text);
    free(text);
    if (status == TAMIS_OK && group->order) status = tool_order_explain(group->order, group->ranks);
    return status;
}

tamis_status tool_group_once(const tool_group_kind *kind, const tool_problem *problem, const tamis_options *planning) {
    tool_group group = {0};
    double seconds = 0;
    tamis_status status = tool_group_plan(kind, problem, planning, &group);
    if (status == TAMIS_OK) status = tool_group_fill(&group);
    if (status == TAMIS_OK) status = tool_group_execute(&group, 1, &seconds);
    tool_group_close(&group);
    return status;
}
