/* The inside of a model, for the files of src/ml. README.md there says what is in which folder, and each file begins
   with what it is. */
#ifndef TAMIS_ML_MODEL_H
#define TAMIS_ML_MODEL_H

#include <math.h>
#include <tamis/dense.h>
#include <tamis/ml.h>
#include <tamis/stream.h>
#include <tamis/structure.h>

#include "base/memory.h"
#include "base/reserved.h"
#include "base/status.h"
#include "ml/methods/method.h"

/* Returns the steps of conjugate gradients from zero for new rows. In exact arithmetic as many as unknowns suffice; a
   few more make up for rounding. */
static inline int ml_fold_in_steps(int64_t unknowns) { return unknowns + 4 < 200 ? (int)unknowns + 4 : 200; }

/* Checks that an option is valid and finite; the message says what was expected. */
static inline tamis_status ml_check_number(const char *name, double value, bool valid, const char *expected) {
    if (valid && isfinite(value)) return TAMIS_OK;
    return tamis_fail(TAMIS_ERROR_ARGUMENT, "%s = %g, expected %s", name, value, expected);
}

/* Checks a number of rounds that new rows also take. It is bounded, so that an untrusted model file cannot make a call
   run for ever. */
static inline tamis_status ml_check_rounds(const char *name, int rounds) {
    enum { MOST = 1000 };
    if (rounds >= 1 && rounds <= MOST) return TAMIS_OK;
    return tamis_fail(TAMIS_ERROR_ARGUMENT, "%s = %d, expected 1 to %d", name, rounds, MOST);
}

/*
 * A weighted lambda is lambda (n + ML_PRIOR_RATINGS) for a row with n ratings: rows with few ratings need more than
 * lambda n, and for rows with many, lambda alone is too little. With this weight one lambda is near the optimum for
 * dense ratings (Jester), for a twentieth of them, and for generated data with 20 to 100 ratings per row
 * (lab/results/quality.md).
 */
enum { ML_PRIOR_RATINGS = 40 };

/* Default of lambda as a share of the noise, for data too small for a choice (choose.h). */
static const double ML_SHARE = 0.9;

/* The share of a fit over biases (method.h) that leaves its factors at nothing: biases alone. */
static const double ML_BIASES_ALONE = 1000;

/* Default of options.beta, also of files that have none. */
static const double ML_BETA = 0.4;

/* Default of implicit-als' confidence, for data too small for a choice, and where a choice begins. */
static const double ML_CONFIDENCE = 1;

/* Default of lda's priors, for data too small for a choice, and where a choice begins. */
static const double ML_PRIOR = 0.1;

/* Hyperparameters that a fit chooses by an inner split (choose.h). share: lambda relative to the noise, or to the
   method's own lambda. */
typedef struct ml_choice {
    double share;
    double regularization, column_regularization;
    double row_prior, column_prior;
    int64_t factors;
    tamis_use_weights weights;
    double confidence;
    int neighbours;
    double seconds; /* time of the search; 0: there was nothing to choose, or too little data */
} ml_choice;

/* Time in sparse calls, from events in the stream, which are read at the end of an iteration. */
typedef struct ml_times {
    void **events; /* two a call */
    int8_t *operation;
    int calls, capacity;
    double seconds[3]; /* from events already read, by tamis_operation */
} ml_times;

struct tamis_model {
    tamis_device *device;
    tamis_location location; /* of its memory */
    const ml_method *method;
    tamis_model_options options; /* options.checkpoint is the model's own copy */
    int64_t rows, cols, nnz;     /* of the data; cols = 0: never fitted */
    int64_t width;               /* of the factors */
    double mean, least, most;    /* of the data's values */
    double scale;                /* ratings are fitted as (r - mean) / scale; 1 from an old file */
    double prior_ratings;        /* a weighted lambda is multiplied by a row's ratings plus this; 0 from an old file */
    double lambda;               /* if options.regularization is 0: the last iteration's, see noise.h; else 0 */
    double share;                /* lambda relative to the noise, see noise.h */
    ml_choice asked;             /* the choice that the options asked for, before choose.h fills in the rest */
    double choice_seconds;       /* see ml_choice; not saved */
    bool renewed;                /* this fit has other data than the one before, see renew.h */
    uint64_t data_sum;           /* fingerprint of the data, 0: none (streams) */
    int iterations_done;
    int64_t batches_done;   /* in the current iteration */
    int64_t steps;          /* mini-batches in all */
    double parts[ML_PARTS]; /* sums of the current iteration (loss and its weight first), saved with the model */
    double loss, metric, total_seconds;

    tamis_dense row_factors, column_factors; /* on the device, packed; data NULL: none */
    tamis_dense states[ML_STATES];           /* the same */
    struct ml_kept *kept;                    /* cache, valid until the factors change, see kept.h */
    tamis_dense_workspace *workspace;        /* for tamis/dense.h, for at least `width` + 2 columns */
    tamis_names *row_names, *column_names;   /* NULL: none */
    tamis_owned_sparse *features[2];         /* of rows and columns, for the next fit, see features.h; NULL: none */
    int64_t featured[2];                     /* see tamis_model_description.featured_rows; not saved */

    int64_t *seeds; /* the topic of each column, -1: none; until the fit begins. NULL: none */
    int64_t seed_count;

    void *work;           /* the method's, during a fit; it belongs to the fit's scope */
    struct ml_rank *rank; /* during a fit on a group, see group.h; else NULL: one device has everything */
    ml_times times;
    tamis_iteration report; /* of the current iteration */
    double iteration_start;
    char algorithms[3][48]; /* by tamis_operation; "": the plan's choice */
    double last_save;       /* time of the last checkpoint */
    char save_failure[512]; /* error of the last checkpoint; "": none */
    bool stopped;           /* the callback said so */
    bool converged;         /* the loss has fallen by less than the tolerance */
};

/* Returns true if the factors end in a bias. */
static inline bool ml_biased(const tamis_model *model) { return model->width > model->options.factors; }

/* Returns the lambda of the fit: the option, or the estimate from the noise. */
static inline double ml_lambda(const tamis_model *model) {
    return model->options.regularization > 0 ? model->options.regularization : model->lambda;
}
static inline bool ml_finds_lambda(const tamis_model *model) { return model->options.regularization == 0; }

/* Returns the number subtracted from ratings before division by the scale: 0 for non-negative factors. */
static inline double ml_centre(const tamis_model *model) {
    return ml_is_nonnegative(model->method, &model->options) ? 0 : model->mean;
}

/* Returns a view of the same pattern with other values. */
static inline tamis_sparse ml_with_values(const tamis_sparse *S, const void *values) {
    tamis_sparse other = *S;
    other.values = values;
    return other;
}

static inline bool ml_begun(const tamis_model *model) { return model->iterations_done > 0 || model->batches_done > 0; }

/* Returns true if the fit must first compute statistics of the data: it has done no iteration, or the data are new. */
static inline bool ml_learns_data(const tamis_model *model) { return model->iterations_done == 0 || model->renewed; }

#endif
