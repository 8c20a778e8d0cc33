/* Reorders a problem by METIS, and restores its result's order. */
#include "group/order.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <tamis/shard.h>
#include <tamis/transport.h>

#include "base/fnv.h"
#include "cli/exit.h"
#include "cli/progress.h"
#include "cli/ranks.h"

/* ------------------------------------------------------------------------------------------ S */

static int64_t offset_of(const tamis_sparse *S, int64_t row) {
    return tool_index_get(S->offsets, S->offset_type, row) - S->offset_base;
}

static void reorder_pattern(tool_order *o) {
    const tamis_sparse *S = &o->given->S;
    int64_t *place = tool_allocate((size_t)S->rows, sizeof *place); /* new position of each given row and column */
    int64_t at = 0;
    for (int64_t i = 0; i < S->rows; i++) place[o->order[i]] = i;
    for (int64_t i = 0; i < S->rows; i++) {
        o->offsets[i] = at;
        const int64_t end = offset_of(S, o->order[i] + 1);
        for (int64_t t = offset_of(S, o->order[i]); t < end; t++, at++) {
            o->entries[at] = t;
            o->columns[at] = place[tool_index_get(S->columns, S->index_type, t)];
        }
    }
    o->offsets[S->rows] = at;
    free(place);
}

static void reorder_matrix(tool_order *o) {
    const tamis_sparse *S = &o->given->S;
    const size_t nnz = (size_t)S->nnz, size = tamis_type_size(S->value_type);
    o->offsets = tool_allocate((size_t)S->rows + 1, sizeof *o->offsets);
    o->columns = tool_allocate(nnz, sizeof *o->columns);
    o->entries = tool_allocate(nnz, sizeof *o->entries);
    reorder_pattern(o);
    if (S->values) o->values = tool_allocate(nnz, size);
    for (size_t t = 0; S->values && t < nnz; t++)
        memcpy((char *)o->values + t * size, (const char *)S->values + (size_t)o->entries[t] * size, size);
    o->problem = *o->given;
    o->problem.S = (tamis_sparse){.format = TAMIS_CSR,
                                  .rows = S->rows,
                                  .cols = S->cols,
                                  .nnz = S->nnz,
                                  .offset_type = TAMIS_I64,
                                  .index_type = TAMIS_I64,
                                  .value_type = S->value_type,
                                  .offsets = o->offsets,
                                  .columns = o->columns,
                                  .values = o->values};
}

/* Checks that all processes found the same order: METIS of another version or width may find another one. */
static tamis_status compare_processes(const tool_order *o) {
    const uint64_t sum = tamis_fnv_words(TAMIS_FNV_START, o->order, (size_t)o->given->S.rows * sizeof *o->order);
    const double mine = (double)(sum >> 12); /* exactly */
    const double most = tool_ranks_most(mine), least = -tool_ranks_most(-mine);
    if (most == least) return TAMIS_OK;
    return tamis_transport_fail(TAMIS_ERROR_UNSUPPORTED,
                                "--partition metis: the processes' METIS find different orders: use the same one");
}

tamis_status tool_order_make(const tool_problem *given, int ranks, tool_order *order) {
    const tamis_sparse *S = &given->S;
    const double start = tool_seconds();
    *order = (tool_order){.given = given};
    char text[128];
    snprintf(text, sizeof text, "--partition metis: S has %lld rows and %lld columns, expected as many",
             (long long)S->rows, (long long)S->cols);
    if (S->rows != S->cols) return tamis_transport_fail(TAMIS_ERROR_ARGUMENT, text);
    if (tool_problem_batch(given) > 1)
        return tamis_transport_fail(TAMIS_ERROR_UNSUPPORTED, "--partition metis: not with a batch");
    order->order = tool_allocate((size_t)S->rows, sizeof *order->order);
    order->first_rows = tool_allocate((size_t)ranks + 1, sizeof *order->first_rows);
    tamis_status status = tool_ranks_agree(tamis_shard_partition(S, ranks, order->order, order->first_rows));
    if (status == TAMIS_OK) status = compare_processes(order);
    if (status == TAMIS_OK) reorder_matrix(order);
    order->seconds = tool_seconds() - start;
    return status;
}

void tool_order_free(tool_order *o) {
    void *arrays[] = {o->first_rows, o->order, o->entries, o->offsets, o->columns, o->values};
    tool_dense *matrices[] = {&o->A, &o->B, &o->D, &o->output};
    for (size_t i = 0; i < sizeof arrays / sizeof *arrays; i++) free(arrays[i]);
    for (int i = 0; i < 4; i++) tool_dense_free(matrices[i]);
    *o = (tool_order){0};
}

/* ------------------------------------------------------------------------------------------ operands */

/* Copies row order[i] of `from` to row i of `to`; back: the reverse. */
static void copy_rows(const tamis_dense *from, const tamis_dense *to, const int64_t *order, bool back) {
    for (int64_t i = 0; i < to->rows; i++) {
        const int64_t source = back ? i : order[i], target = back ? order[i] : i;
        for (int64_t j = 0; j < to->cols; j++) tool_dense_set(to, target, j, tool_dense_get(from, source, j));
    }
}

static void reorder_dense(const int64_t *order, const tamis_dense *given, tool_dense *made, tamis_dense *view) {
    if (!given->data) return;
    *made = tool_dense_create(given->rows, given->cols, given->type, given->layout, 0, 0);
    *view = made->view;
    copy_rows(given, view, order, false);
}

/* Returns the order of the output's rows: samples are one for each entry. */
static const int64_t *output_order(const tool_order *o) {
    return o->given->operation == TAMIS_OP_SDDMM ? o->entries : o->order;
}

void tool_order_operands(tool_order *o) {
    const tool_problem *given = o->given;
    tool_problem *problem = &o->problem;
    reorder_dense(o->order, &given->A, &o->A, &problem->A);
    reorder_dense(o->order, &given->B, &o->B, &problem->B);
    if (given->D.data && given->D.data == given->B.data)
        problem->D = problem->B;
    else
        reorder_dense(o->order, &given->D, &o->D, &problem->D);
    reorder_dense(output_order(o), &given->output, &o->output, &problem->output);
}

void tool_order_output(const tool_order *o, bool back) {
    const tamis_dense *from = back ? &o->problem.output : &o->given->output;
    const tamis_dense *to = back ? &o->given->output : &o->problem.output;
    copy_rows(from, to, output_order(o), back);
}

/* ------------------------------------------------------------------------------------------ what it saves */

tamis_status tool_order_explain(const tool_order *o, int ranks) {
    tamis_shard_volume before, after;
    TOOL_TRY(tamis_shard_survey(&o->given->S, ranks, NULL, NULL, &before));
    TOOL_TRY(tamis_shard_survey(&o->problem.S, ranks, o->first_rows, o->first_rows, &after));
    printf("partition    metis, in %s: all ranks receive %s rows, in the order of the matrix %s",
           tool_word_seconds(o->seconds).text, tool_word_count(after.ghosts).text, tool_word_count(before.ghosts).text);
    if (after.ghosts > 0) printf(": %.2f times as many", (double)before.ghosts / (double)after.ghosts);
    printf("\n             the most nonzeros of a rank are %.2f times the mean, in that order %.2f\n", after.imbalance,
           before.imbalance);
    return TAMIS_OK;
}
