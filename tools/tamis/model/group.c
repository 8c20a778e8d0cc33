/* Ranks of a fit: each has its rows of the data and a model; and the choice between several devices and one. */
#include "model/group.h"

#include <stdlib.h>
#include <tamis/structure.h>

#include "base/sizes.h"
#include "cli/device.h"
#include "cli/exit.h"
#include "cli/operands.h"
#include "cli/ranks.h"
#include "group/choice.h"

typedef struct rank {
    const tool_group_fit *what;
    tool_device device;  /* of all but the first */
    tamis_device *where; /* it computes */
    tamis_model *model;  /* the request's model, or its own */
    tamis_group *group;
    tamis_sparse S, entries, observed;
    tamis_held_out held_out;
} rank;

/* ------------------------------------------------------------------------------------------ one rank */

static tamis_status take_slice(const tamis_sparse *S, const int64_t *first, int number, tamis_sparse *slice) {
    return tamis_slice(S, first[number], first[number + 1] - first[number], 0, 0, slice);
}

static tamis_status take_rows(rank *one, const int64_t *first, int number) {
    const tool_group_fit *what = one->what;
    tamis_status status = take_slice(what->S, first, number, &one->S);
    if (status != TAMIS_OK || !what->held_out) return status;
    one->held_out = *what->held_out;
    status = take_slice(what->held_out->entries, first, number, &one->entries);
    one->held_out.entries = &one->entries;
    if (status != TAMIS_OK || !what->held_out->observed) return status;
    one->held_out.observed = &one->observed;
    return take_slice(what->held_out->observed, first, number, &one->observed);
}

/* Makes the same model as the first rank's: a new one, or from the file. */
static tamis_status make_model(rank *one) {
    tamis_model_options options = *one->what->options;
    options.callback = NULL;
    options.checkpoint = NULL;
    if (!one->what->resume) return tamis_model_create(one->where, &options, &one->model);
    const tamis_status status = tamis_model_load(one->where, one->what->resume, &one->model);
    return status == TAMIS_OK ? tamis_model_continue_with(one->model, &options) : status;
}

static tamis_status fit(void *ranks, int number) {
    const rank *one = (const rank *)ranks + number;
    return tamis_model_fit_group(one->model, one->group, &one->S, one->what->held_out ? &one->held_out : NULL);
}

/* ------------------------------------------------------------------------------------------ all ranks */

static tamis_status open_ranks(rank *ranks, int count) {
    tamis_device *devices[TOOL_LIST_LIMIT] = {NULL};
    tamis_group *groups[TOOL_LIST_LIMIT] = {NULL};
    tamis_status status = TAMIS_OK;
    for (int r = 0; r < count && status == TAMIS_OK; r++) {
        rank *one = &ranks[r];
        const tool_group_fit *what = one->what;
        one->where = what->device;
        one->model = what->model;
        if (r > 0) {
            one->model = NULL;
            status = tool_device_try(what->devices->at[r], &one->device);
            one->where = one->device.device;
        }
        if (r > 0 && status == TAMIS_OK) status = make_model(one);
        devices[r] = one->where;
    }
    if (status == TAMIS_OK) status = tamis_group_open_local(devices, count, NULL, groups);
    for (int r = 0; r < count; r++) ranks[r].group = groups[r];
    return status;
}

tamis_status tool_fit_group(const tool_group_fit *what) {
    const bool processes = tool_ranks_transport() != NULL;
    const int here = what->devices->count, all = processes ? tool_rank_count() : here;
    rank *ranks = tool_allocate((size_t)here, sizeof *ranks);
    int64_t *first = tool_allocate((size_t)all + 1, sizeof *first);
    tamis_status status = tamis_partition(what->S, all, first);
    for (int r = 0; r < here; r++) {
        ranks[r].what = what;
        if (status == TAMIS_OK) status = take_rows(&ranks[r], first, processes ? tool_rank_number() : r);
    }
    if (processes) {
        status = tool_ranks_agree(status);
        ranks[0].where = what->device;
        ranks[0].model = what->model;
        if (status == TAMIS_OK) status = tamis_group_open(what->device, tool_ranks_transport(), &ranks[0].group);
        status = tool_ranks_agree(status);
        if (status == TAMIS_OK) status = tool_ranks_agree(fit(ranks, 0));
    } else {
        if (status == TAMIS_OK) status = open_ranks(ranks, here);
        if (status == TAMIS_OK) status = tamis_group_run(here, fit, ranks);
    }
    for (int r = 0; r < here; r++) {
        tamis_group_close(ranks[r].group);
        if (ranks[r].model != what->model) tamis_model_free(ranks[r].model);
        tool_device_close(&ranks[r].device);
    }
    free(ranks);
    free(first);
    return status;
}

/* ------------------------------------------------------------------------------------------ several devices or one */

/* Predicts from groups' plans if several devices fit faster than the first alone. Nearly all of a fit's time is in
   fused calls with the mask: in half an iteration one for the residual and one for each step of conjugate gradients,
   after one exchange of factors. The two halves have S and its transpose. */
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
