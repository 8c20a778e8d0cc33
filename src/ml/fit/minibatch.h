/*
 * Data cut into mini-batches of rows on the device, with their plans, and passes over them in a different order each
 * time. Cut and order depend only on the seed, the sizes and the number of the pass, so that a fit interrupted between
 * two mini-batches continues exactly.
 */
#ifndef TAMIS_ML_MINIBATCH_H
#define TAMIS_ML_MINIBATCH_H

#include <math.h>

#include "ml/fit/place.h"

enum { ML_BATCH_PLANS = 6 };

/* Description of a plan that each mini-batch gets: the arguments of ml_plan. calls: executions per visit (0: one). */
typedef struct ml_batch_plan {
    bool transpose; /* the plan is of the mini-batch's transpose */
    tamis_operation operation;
    tamis_edge edge;
    int64_t inner, width, calls;
} ml_batch_plan;

typedef struct ml_batch {
    int64_t first, rows; /* a range of the rows in their order (see `shuffle`) */
    double total;        /* sum of the values */
    ml_sparse S, T;      /* T: the transpose, if a plan needs it */
    tamis_plan *plans[ML_BATCH_PLANS];
} ml_batch;

typedef struct ml_batches {
    int64_t count;     /* 1 or more, even without rows */
    int64_t rows, nnz; /* of the largest mini-batch, for scratch */
    ml_batch *batch;
    int64_t *order; /* of the pass under way */
    int64_t summed; /* mini-batches of the pass whose losses are in model->parts */
} ml_batches;

/* Cuts data into mini-batches of at most `rows` rows (0: of all), of equal sizes up to one row. With `shuffle` the rows
   are first permuted by the seed, since neighbouring documents are often similar; without it mini-batch i has the rows
   batch[i].first to batch[i].first + batch[i].rows - 1. visits: expected visits of each mini-batch, ML_PASSES in a fit.
   `data` is not needed afterwards. They belong to the scope. */
tamis_status ml_batches_make(const tamis_model *model, const tamis_sparse *data, int64_t rows, bool shuffle, int visits,
                             const ml_batch_plan *plans, int plan_count, ml_batches *batches);

/* Describes the plans of models of counts: for a mini-batch's rows, executed `rounds` times; for the columns; and for
   <x, y> at its entries. */
enum { ML_PLAN_ROWS = 0, ML_PLAN_COLUMNS = 1, ML_PLAN_SAMPLE = 2, ML_TOPIC_PLANS = 3 };
void ml_topic_plans(const tamis_model *model, int64_t rounds, ml_batch_plan plans[ML_TOPIC_PLANS]);

/* The weight of the model's next mini-batch: (1 / (t + offset))^decay for t = 1, 2, ... */
static inline double ml_rate(const tamis_model *model) {
    const double offset = model->options.rate_offset;
    return pow(1 / ((double)(model->steps + 1) + (offset > 0 ? offset : 1)), model->options.rate_decay);
}

/* Does what the method does with one mini-batch. */
typedef tamis_status ml_batch_step(tamis_model *model, ml_batch *batch);

/* Continues pass model->iterations_done from mini-batch model->batches_done: does the step, counts it in batches_done
   and steps, and calls ml_after_batch; ends early if that says so. Then it adds the losses that the method has left on
   the device; also after an error, since a later fit may continue, or marks them as unknown. Allocates nothing. */
tamis_status ml_batches_pass(tamis_model *model, ml_batches *batches, ml_batch_step *step);

#endif
