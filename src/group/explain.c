/* What a group's plan says of itself, as fields and as text. */
#include <stdio.h>

#include "group/plan.h"

static tamis_status check_plan(const tamis_group_plan *plan) {
    if (plan) return TAMIS_OK;
    return tamis_fail(TAMIS_ERROR_ARGUMENT, "plan = NULL: make one with tamis_group_plan_create");
}

const tamis_plan *tamis_group_plan_local(const tamis_group_plan *plan) {
    return plan ? plan->pieces[TAMIS_PIECE_FIRST].plan : NULL;
}

tamis_status tamis_group_plan_describe(const tamis_group_plan *plan, tamis_group_report *report) {
    tamis_clear_error();
    TRY(check_plan(plan));
    if (!report) return tamis_fail(TAMIS_ERROR_ARGUMENT, "report = NULL: expected an address for the result");
    *report = plan->report;
    return TAMIS_OK;
}

/* The lines about the group, in at most `bytes`. Returns their full length. */
static size_t write_exchange(const tamis_group_plan *plan, char *text, size_t bytes) {
    const tamis_group_report *const r = &plan->report;
    const int length = snprintf(
        text, bytes,
        "group        rank %d of %d, over %s\n"
        "whole        %lld x %lld, %lld nonzeros; this rank has %lld, the most has %lld, %.2f times the mean\n"
        "exchange     receives %lld rows of at most %lld bytes from %d rank%s, sends %lld to %d; an all-gather would bring %lld\n"
        "all ranks    receive %lld rows, the most %lld\n"
        "buffers      %zu bytes\n",
        r->rank, r->ranks, plan->group->transport.name, (long long)r->rows, (long long)r->cols, (long long)r->nnz,
        (long long)r->nnz_here, (long long)r->nnz_most, r->imbalance, (long long)r->ghost_rows, (long long)r->row_bytes,
        r->sources, r->sources == 1 ? "" : "s", (long long)r->send_rows, r->targets, (long long)(r->cols - r->own_rows),
        (long long)r->ghosts, (long long)r->ghosts_most, r->buffer_bytes);
    return length > 0 ? (size_t)length : 0;
}

tamis_status tamis_group_plan_explain(const tamis_group_plan *plan, char *text, size_t bytes, size_t *needed) {
    size_t rest = 0;
    tamis_clear_error();
    TRY(check_plan(plan));
    if (!text && bytes > 0) return tamis_fail(TAMIS_ERROR_ARGUMENT, "text = NULL, but bytes = %zu", bytes);
    const size_t length = write_exchange(plan, text, bytes);
    const bool room = length < bytes;
    TRY(tamis_plan_explain(plan->pieces[TAMIS_PIECE_FIRST].plan, room ? text + length : NULL, room ? bytes - length : 0,
                           &rest));
    if (needed) *needed = length + rest;
    return TAMIS_OK;
}
