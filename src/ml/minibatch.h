/*
 * Data cut into mini-batches of rows on the device, with their plans, and passes over them in a different order each
 * time. Cut and order depend only on the seed, the sizes and the number of the pass, so that a fit that was interrupted
 * between two mini-batches continues as if it had not been.
 */
#ifndef TAMIS_ML_MINIBATCH_H
#define TAMIS_ML_MINIBATCH_H

#include <math.h>

#include "ml/place.h"

enum { ML_BATCH_PLANS = 6 };

/* Description of a plan that each mini-batch gets: the arguments of ml_plan. calls: executions per visit (0: one). */
typedef struct ml_batch_plan {
    bool transpose; /* the plan is of the mini-batch's transpose */
    tamis_operation operation;
    tamis_edge edge;
    int64_t inner, width, calls;
} ml_batch_plan;

typedef struct ml_batch {
    int64_t first, rows; /* of the rows in their order (see `shuffle`) */
    double total;        /* sum of the values */
    ml_sparse S, T;      /* T: the transpose, where a plan wants it */
    tamis_plan *plans[ML_BATCH_PLANS];
} ml_batch;

typedef struct ml_batches {
    int64_t count;     /* 1 or more, also where there are no rows */
    int64_t rows, nnz; /* the most that a mini-batch has: for scratch */
    ml_batch *batch;
    int64_t *order; /* of the pass under way */
    int64_t summed; /* mini-batches of it whose losses are in model->parts */
} ml_batches;

/* Cuts data into mini-batches. `rows` is the most that one is to have, 1 or more; they are as equal as can be. With
   `shuffle` the rows are put into a seeded order first, since documents next to each other are often alike; without it
   mini-batch i has the rows batch[i].first to batch[i].first + batch[i].rows - 1. `visits`: of each mini-batch,
   ML_PASSES in a fit. `data` is not needed afterwards. On an error nothing is left. */
tamis_status ml_batches_make(const tamis_model *model, const tamis_sparse *data, int64_t rows, bool shuffle, int visits,
                             const ml_batch_plan *plans, int plan_count, ml_batches *batches);
void ml_batches_free(const tamis_model *model, ml_batches *batches);

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

/* Goes on with pass model->iterations_done at mini-batch model->batches_done: does the step, counts it in batches_done
   and steps, and tells ml_after_batch; ends early where that says so. Then the losses that the method has left on the
   device are added; after an error, with which a later fit may go on, they are added too or said to be not known.
   Allocates nothing. */
tamis_status ml_batches_pass(tamis_model *model, ml_batches *batches, ml_batch_step *step);

#endif
