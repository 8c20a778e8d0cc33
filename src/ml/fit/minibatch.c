/*
 * Mini-batches: rows are ordered by shuffles that need no sort (Fisher and Yates), on counter-based random numbers.
 * Stream SHUFFLE is for the rows, stream PASSES + i for pass i. Memory: all mini-batches together hold the data once,
 * or twice with transposes. Each transpose has offsets for all columns, cols * 4 bytes a mini-batch, so there should be
 * no more mini-batches than nonzeros / columns.
 */
#include "ml/fit/minibatch.h"

#include <stdio.h>

#include "base/scope.h"
#include "ml/data/rows.h"
#include "ml/fit/calls.h"
#include "ml/fit/loop.h"
#include "ml/fit/place.h"
#include "ml/model.h"
#include "ml/numbers.h"

enum { SHUFFLE = 0x6d6200, PASSES = 0x6d620000 };

static tamis_status shuffle_rows(const tamis_model *model, const tamis_sparse *data, ml_rows *shuffled) {
    static const char what[] = "documents in a random order";
    int64_t *order;
    TRY(tamis_allocate_array(data->rows, what, order));
    ml_shuffle(model->options.seed, SHUFFLE, TAMIS_I64, data->rows, order);
    TRY(ml_rows_copy(data, order, 0, data->rows, what, shuffled));
    tamis_scope_drop(order);
    return TAMIS_OK;
}

/* ------------------------------------------------------------------------------------------ mini-batches */

static double total_of(const tamis_sparse *S, int64_t first, int64_t end) {
    double total = 0;
    for (int64_t t = first; t < end; t++) total += ml_value(S, t);
    return total;
}

static tamis_status batch_make(const tamis_model *model, const tamis_sparse *data, int visits,
                               const ml_batch_plan *plans, int plan_count, ml_batch *batch) {
    const int64_t *const offsets = data->offsets;
    batch->total = total_of(data, offsets[batch->first], offsets[batch->first + batch->rows]);
    bool transpose = false;
    for (int i = 0; i < plan_count; i++) transpose = transpose || plans[i].transpose;
    TRY(ml_sparse_place_rows(model, data, batch->first, batch->rows, false, &batch->S));
    if (transpose) TRY(ml_sparse_place_rows(model, data, batch->first, batch->rows, true, &batch->T));
    for (int i = 0; i < plan_count; i++)
        TRY(ml_plan(model, plans[i].transpose ? &batch->T.view : &batch->S.view, plans[i].operation, plans[i].edge,
                    plans[i].inner, plans[i].width, visits * (plans[i].calls > 0 ? plans[i].calls : 1),
                    &batch->plans[i]));
    return TAMIS_OK;
}

static tamis_status make_all(const tamis_model *model, const tamis_sparse *data, int visits, const ml_batch_plan *plans,
                             int plan_count, ml_batches *batches) {
    const int64_t count = batches->count;
    TRY(tamis_allocate_zeros(count, "mini-batches", batches->batch));
    TRY(tamis_allocate_array(count, "the order of mini-batches", batches->order));
    /* the first `longer` mini-batches have one row more than the others */
    const int64_t least = data->rows / count, longer = data->rows % count;
    for (int64_t i = 0, first = 0; i < count; i++) {
        ml_batch *const batch = &batches->batch[i];
        batch->first = first;
        batch->rows = i < longer ? least + 1 : least;
        first += batch->rows;
        TRY(batch_make(model, data, visits, plans, plan_count, batch));
        if (batch->rows > batches->rows) batches->rows = batch->rows;
        if (batch->S.view.nnz > batches->nnz) batches->nnz = batch->S.view.nnz;
    }
    return TAMIS_OK;
}

tamis_status ml_batches_make(const tamis_model *model, const tamis_sparse *data, int64_t rows, bool shuffle, int visits,
                             const ml_batch_plan *plans, int plan_count, ml_batches *batches) {
    *batches = (ml_batches){.count = rows > 0 && data->rows > rows ? (data->rows - 1) / rows + 1 : 1};
    ml_rows S = {.view = *data};
    if (shuffle && batches->count > 1) TRY(shuffle_rows(model, data, &S));
    TRY(make_all(model, &S.view, visits, plans, plan_count, batches));
    ml_rows_drop(&S);
    return TAMIS_OK;
}

void ml_topic_plans(const tamis_model *model, int64_t rounds, ml_batch_plan plans[ML_TOPIC_PLANS]) {
    const int64_t topics = model->width;
    plans[ML_PLAN_ROWS] = (ml_batch_plan){false, TAMIS_OP_FUSED, TAMIS_EDGE_QUOTIENT, topics, topics, rounds};
    plans[ML_PLAN_COLUMNS] = (ml_batch_plan){true, TAMIS_OP_FUSED, TAMIS_EDGE_QUOTIENT, topics, topics, 1};
    plans[ML_PLAN_SAMPLE] = (ml_batch_plan){false, TAMIS_OP_SDDMM, TAMIS_EDGE_MASK, topics, 0, 1};
}

/* ------------------------------------------------------------------------------------------ passes */

/* Adds the known losses after an error, and keeps its message. */
static void keep_losses(tamis_model *model, tamis_status status) {
    char message[TAMIS_MESSAGE_MOST];
    snprintf(message, sizeof message, "%s", tamis_last_error());
    if (model->method->pending(model, model->parts) != TAMIS_OK) model->parts[0] = NAN;
    (void)tamis_fail(status, "%s", message);
}

static tamis_status do_steps(tamis_model *model, ml_batches *batches, ml_batch_step *step) {
    const uint64_t stream = PASSES + (uint64_t)model->iterations_done;
    ml_shuffle(model->options.seed, stream, TAMIS_I64, batches->count, batches->order);
    while (model->batches_done < batches->count) {
        TRY(step(model, &batches->batch[batches->order[model->batches_done]]));
        model->batches_done++;
        model->steps++;
        bool go_on;
        TRY(ml_after_batch(model, model->batches_done, batches->count, &go_on));
        if (!go_on) break;
    }
    return TAMIS_OK;
}

tamis_status ml_batches_pass(tamis_model *model, ml_batches *batches, ml_batch_step *step) {
    batches->summed = model->batches_done;
    const tamis_status status = do_steps(model, batches, step);
    if (!model->method->pending) return status;
    if (status == TAMIS_OK) TRY(model->method->pending(model, model->parts));
    if (status != TAMIS_OK) keep_losses(model, status);
    batches->summed = model->batches_done;
    return status;
}
