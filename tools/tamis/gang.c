/* Ranks as threads: each has its rows of every operand, in the arrays of the whole. */
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include <tamis/structure.h>

#include "exit.h"
#include "gang.h"
#include "progress.h"

struct tool_rank {
    tamis_device *device;
    tamis_group *group;
    tamis_group_plan *plan;
    tamis_sparse S;
    int64_t first_row, first_entry, first_own, own_rows;
    const tool_problem *problem;   /* of the call under way */
    const tamis_options *planning; /* of the call that makes the plan; NULL: of one that executes it */
    double seconds;
    tamis_status status;
    char message[512];
};

/* ------------------------------------------------------------------------------------------ one rank */

static tamis_dense rows_of(const tamis_dense *dense, int64_t first, int64_t rows) {
    tamis_dense view = *dense;
    if (view.stride == 0) view.stride = view.layout == TAMIS_ROW_MAJOR ? view.cols : view.rows;
    const int64_t skip = view.layout == TAMIS_ROW_MAJOR ? first * view.stride : first;
    if (view.data) view.data = (char *)view.data + (size_t)skip * tamis_type_size(view.type);
    view.rows = rows;
    return view;
}

static tamis_status execute(const tool_rank *rank) {
    const tool_problem *problem = rank->problem;
    const bool sddmm = problem->operation == TAMIS_OP_SDDMM;
    const tamis_dense A = rows_of(&problem->A, rank->first_row, rank->S.rows);
    const tamis_dense B = rows_of(&problem->B, rank->first_own, rank->own_rows);
    const tamis_dense D = rows_of(&problem->D, rank->first_own, rank->own_rows);
    const tamis_dense output =
        rows_of(&problem->output, sddmm ? rank->first_entry : rank->first_row, sddmm ? rank->S.nnz : rank->S.rows);
    tamis_execution execution = TAMIS_EXECUTION_INIT;
    execution.alpha = problem->alpha;
    execution.beta = problem->beta;
    if (sddmm) return tamis_group_plan_sddmm(rank->plan, &A, &B, &output, &execution);
    if (problem->operation == TAMIS_OP_SPMM) return tamis_group_plan_spmm(rank->plan, &B, &output, &execution);
    return tamis_group_plan_fused(rank->plan, &A, &B, &D, &output, &execution);
}

static void *work(void *memory) {
    tool_rank *rank = memory;
    const double start = tool_seconds();
    rank->status = rank->planning
                       ? tamis_group_plan_create(rank->group, &rank->S, rank->own_rows, rank->planning, &rank->plan)
                       : execute(rank);
    rank->seconds = tool_seconds() - start;
    strncpy(rank->message, tamis_last_error(), sizeof rank->message - 1); /* messages belong to a thread */
    return NULL;
}

/* ------------------------------------------------------------------------------------------ all of them */

/* A failure of one is that of all. The message gets back to this thread. */
static tamis_status run_all(const tool_gang *gang) {
    pthread_t *threads = tool_allocate((size_t)gang->ranks, sizeof *threads);
    tamis_status status = TAMIS_OK;
    int started = 0;
    while (started < gang->ranks && pthread_create(&threads[started], NULL, work, &gang->at[started]) == 0) started++;
    for (int r = started; r < gang->ranks; r++) { /* the others must not wait for it */
        tamis_group_close(gang->at[r].group);
        gang->at[r].group = NULL;
    }
    for (int r = 0; r < started; r++) pthread_join(threads[r], NULL);
    free(threads);
    if (started < gang->ranks)
        return tamis_transport_fail(TAMIS_ERROR_MEMORY, "a thread for each device could not be started");
    for (int r = 0; r < gang->ranks && status == TAMIS_OK; r++) {
        status = gang->at[r].status;
        if (status != TAMIS_OK) tamis_transport_fail(status, gang->at[r].message);
    }
    return status;
}

static tamis_status open_groups(tool_gang *gang) {
    tamis_device *devices[TOOL_LIST_LIMIT];
    tamis_group *groups[TOOL_LIST_LIMIT] = {NULL};
    for (int r = 0; r < gang->ranks; r++) devices[r] = gang->at[r].device;
    const tamis_status status = tamis_group_open_local(devices, gang->ranks, NULL, groups);
    for (int r = 0; r < gang->ranks; r++) gang->at[r].group = groups[r];
    return status;
}

static tamis_status share_rows(tool_gang *gang, const tamis_sparse *S) {
    int64_t *first = tool_allocate((size_t)gang->ranks + 1, sizeof *first);
    tamis_status status = tamis_partition(S, gang->ranks, first);
    for (int r = 0; r < gang->ranks && status == TAMIS_OK; r++) {
        tool_rank *rank = &gang->at[r];
        const bool square = S->rows == S->cols;
        const int64_t end = square ? first[r + 1] : S->cols * (r + 1) / gang->ranks;
        rank->first_row = first[r];
        rank->first_own = square ? first[r] : S->cols * r / gang->ranks;
        rank->own_rows = end - rank->first_own;
        status = tamis_slice(S, first[r], first[r + 1] - first[r], 0, 0, &rank->S);
        rank->first_entry = rank->S.offset_base - S->offset_base;
    }
    free(first);
    return status;
}

tamis_status tool_gang_open(const tool_chosen *devices, const tool_problem *problem, const tamis_options *planning,
                            tool_gang *gang) {
    if (problem->S.format != TAMIS_CSR)
        return tamis_transport_fail(TAMIS_ERROR_UNSUPPORTED, "several devices take csr only");
    gang->ranks = devices->count;
    gang->at = tool_allocate((size_t)gang->ranks, sizeof *gang->at);
    for (int r = 0; r < gang->ranks; r++) {
        const tamis_status status =
            tamis_device_open(devices->at[r] == 0 ? NULL : tool_devices.name(devices->at[r]), &gang->at[r].device);
        if (status != TAMIS_OK) return status;
    }
    tamis_status status = share_rows(gang, &problem->S);
    if (status == TAMIS_OK) status = open_groups(gang);
    for (int r = 0; r < gang->ranks; r++) gang->at[r].planning = planning;
    return status == TAMIS_OK ? run_all(gang) : status;
}

void tool_gang_close(tool_gang *gang) {
    for (int r = 0; r < gang->ranks; r++) {
        tamis_group_plan_destroy(gang->at[r].plan);
        tamis_group_close(gang->at[r].group);
        tamis_device_close(gang->at[r].device);
    }
    free(gang->at);
    *gang = (tool_gang){0};
}

tamis_status tool_gang_execute(const tool_gang *gang, const tool_problem *problem, double *seconds) {
    for (int r = 0; r < gang->ranks; r++) {
        gang->at[r].planning = NULL;
        gang->at[r].problem = problem;
    }
    const tamis_status status = run_all(gang);
    *seconds = 0;
    for (int r = 0; r < gang->ranks; r++) {
        if (gang->at[r].seconds > *seconds) *seconds = gang->at[r].seconds;
    }
    return status;
}

tamis_status tool_gang_describe(const tool_gang *gang, tamis_plan_report *local, tamis_group_report *group) {
    const tamis_status status = tamis_plan_describe(tamis_group_plan_local(gang->at[0].plan), local);
    return status == TAMIS_OK ? tamis_group_plan_describe(gang->at[0].plan, group) : status;
}

tamis_status tool_gang_once(const tool_chosen *devices, const tool_problem *problem, const tamis_options *planning) {
    tool_gang gang = {0};
    double seconds = 0;
    tamis_status status = tool_gang_open(devices, problem, planning, &gang);
    if (status == TAMIS_OK) status = tool_gang_execute(&gang, problem, &seconds);
    tool_gang_close(&gang);
    return status;
}
