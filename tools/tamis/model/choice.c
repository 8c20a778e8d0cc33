/*
 * Predicts from groups' plans if several devices fit faster than the first alone. Nearly all of a fit's time is in
 * fused calls with the mask: in half an iteration one for the residual and one for each step of conjugate gradients,
 * after one exchange of factors. The two halves have S and its transpose.
 */
#include "model/choice.h"

#include <stdlib.h>
#include <tamis/structure.h>

#include "base/sizes.h"
#include "cli/operands.h"
#include "cli/ranks.h"
#include "group/choice.h"

enum { FACTORS = 32 }; /* assumed number of factors if the fit chooses it: the first that it tries */

static tamis_options planning_of(const tool_group_fit *what) {
    const tamis_model_options *const options = what->options;
    tamis_model_description model = {.width = options->factors};
    if (what->model) (void)tamis_model_describe(what->model, &model); /* biases make it wider */
    if (options->factors == 0) model.width += FACTORS;
    tamis_options planning = TAMIS_OPTIONS_INIT;
    planning.operation = TAMIS_OP_FUSED;
    planning.edge = TAMIS_EDGE_MASK;
    planning.type = options->type;
    planning.inner = planning.width = model.width;
    planning.d_is_b = true;
    planning.threads = options->threads;
    planning.expected_calls = (int64_t)options->iterations * (1 + options->cg_steps);
    planning.overlap = TAMIS_OVERLAP_NEVER; /* a half-step begins when the factors have arrived */
    return planning;
}

/* Adds the prediction of half an iteration with S; false if there is none. */
static bool add_half(const tool_group_fit *what, const tamis_sparse *S, tool_group_choice *sum) {
    const tool_group_kind kind = {.devices = *what->devices, .link = TAMIS_LINK_COPIES};
    const tamis_options planning = planning_of(what);
    tool_problem problem = {.operation = TAMIS_OP_FUSED, .S = *S};
    const double calls = 1 + what->options->cg_steps;
    tool_group_choice one = {.stays = false};
    tool_group group = {0};
    problem.S.values = NULL; /* the mask reads no values, and their type may differ from the model's */
    tamis_status status = tool_group_plan(&kind, &problem, &planning, &group);
    if (status == TAMIS_OK) status = tool_group_predict(&group, &kind, &problem, &planning, &one);
    tool_group_close(&group);
    if (status != TAMIS_OK || !(one.alone > 0)) return false;
    sum->alone += calls * one.alone;
    sum->together += calls * (one.together - one.exchange) + one.exchange;
    return true;
}

static bool add_transposed(const tool_group_fit *what, tool_group_choice *sum) {
    const tamis_sparse *S = what->S;
    tamis_sparse turned = {.format = TAMIS_CSR,
                           .rows = S->cols,
                           .cols = S->rows,
                           .nnz = S->nnz,
                           .index_type = S->index_type,
                           .offset_type = S->offset_type};
    const size_t offset = S->offset_type == TAMIS_I64 ? 8 : 4, index = S->index_type == TAMIS_I64 ? 8 : 4;
    void *offsets = tool_large_allocate(tamis_bytes(S->cols + 1, offset));
    void *columns = tool_large_allocate(tamis_bytes(S->nnz, index) + 1);
    turned.offsets = offsets;
    turned.columns = columns;
    const bool known = tamis_transpose(S, offsets, columns, NULL, NULL) == TAMIS_OK && add_half(what, &turned, sum);
    free(offsets);
    free(columns);
    return known;
}

tool_group_choice tool_fit_predict(const tool_group_fit *what) {
    tool_group_choice sum = {.stays = false};
    if (what->devices->count < 2 || tool_ranks_transport() || what->options->algorithms) return sum;
    if (!add_half(what, what->S, &sum) || !add_transposed(what, &sum)) return (tool_group_choice){.stays = false};
    sum.stays = sum.alone <= sum.together;
    return sum;
}
