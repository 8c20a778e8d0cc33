/*
 * Inside of a model, for the files of src/ml. A method is one table of functions (ml_method); what all methods share is
 * done once around it: checking, the loop over iterations, timing, checkpoints, prediction.
 *
 *   options.c    defaults, checks, making    model.c     matrices and names, describing, freeing
 *   fit.c        the loop over iterations    place.c     matrices on the device
 *   calls.c      plans and timed calls       methods.c   the table of methods
 *   canonical.c  data as methods take them   fit_stream.c partial_fit, fits of streams
 *   operands.c   predictions as products     sums.c       sums that stay on the device
 *   team.h                                   fits on groups
 *   als.c implicit.c ccd.c sfa.c lda.c gap.c the methods, on public calls alone
 *   predict.c recommend.c topics.c score.c   using a model
 *   model_file.c                             saving and loading
 */
#ifndef TAMIS_ML_MODEL_H
#define TAMIS_ML_MODEL_H

#include <tamis/dense.h>
#include <tamis/ml.h>
#include <tamis/stream.h>
#include <tamis/structure.h>

#include "base/memory.h"
#include "base/reserved.h"
#include "base/status.h"

/* ---------------------------------------------------------------------------------------------- methods */

/* What a method's data are. */
typedef enum ml_kind {
    ML_RATINGS = 0, /* any finite value is an observation */
    ML_USES = 1,    /* implicit: how often, negative a dislike; what is not stored counts as zero */
    ML_COUNTS = 2   /* words of documents: no negative value */
} ml_kind;

/* One side of predictions: packed, of the model's type. On the host, and `there`, where it is not NULL, the same on the
   model's device; then host.data is NULL on a GPU until ml_operand_fetch(). */
typedef struct ml_operand {
    tamis_dense host;
    const tamis_dense *there; /* the model's factors */
    tamis_owned_dense *own;   /* host's memory where it is the operand's own, else it is the model's or W's */
} ml_operand;

/* Predictions are clamp(offset + scale <A_i, B_j>, least, most), scale > 0. A has a line a row, B a line a column, both
   of the same width. They live as long as the model's factors stay as they are, and W. For ml_operands_free(). */
typedef struct ml_operands {
    ml_operand A, B;
    double offset, scale, least, most;
} ml_operands;

typedef struct ml_method {
    tamis_method id;
    ml_kind kind;
    bool row_factors;  /* the model keeps factors of the rows that it was fitted to */
    bool mini_batches; /* partial_fit and streams work */
    bool groups;       /* fits on groups work: begin() and the like use what is in team.h */

    void (*defaults)(tamis_model_options *options);
    tamis_status (*check)(const tamis_model_options *options); /* the method's own fields; NULL: nothing to check */

    /* Fitting. `data` is on the host, CSR, sorted, without duplicates, of the model's type, values always there,
       offsets int64; it lives until the work is freed. begin() makes what the model has not yet (factors, states: see
       ml_model_factors) and keeps plans and scratch in model->work. iterate() does one pass and loss() follows it: all
       allocation is in begin(), that of time marks too (ml_times_reserve). Methods of mini-batches go on from
       model->batches_done, raise it after each, and call ml_after_batch().
     */
    tamis_status (*begin)(tamis_model *model, const tamis_sparse *data);
    tamis_status (*iterate)(tamis_model *model);
    tamis_status (*loss)(tamis_model *model, double *loss); /* after iterate(); NaN where it is not known */
    /* Between two mini-batches: adds to `parts`, a copy of model->parts, what of them is still on the device. NULL:
       nothing ever is. iterate() leaves nothing there. */
    tamis_status (*pending)(const tamis_model *model, double parts[]);
    void (*free_work)(const tamis_model *model, void *work); /* after a failed begin() too, unless `work` is NULL */

    /* One mini-batch of new rows, data as above; `whole` is an estimate of all rows there are (0: unknown). *loss is of
       this batch: the sum and what it is divided by, so that batches can be added up. NULL without mini_batches. */
    tamis_status (*step)(tamis_model *model, const tamis_sparse *batch, int64_t whole, double *loss, double *weight);

    /* Rows of `data` (as above) in the model's factors: W is data->rows x width on the device. */
    tamis_status (*transform)(tamis_model *model, const tamis_sparse *data, const tamis_dense *W);

    /* The variational bound of ln p(data) per word, NaN without words. NULL: there is none. */
    tamis_status (*bound)(tamis_model *model, const tamis_sparse *data, double *per_word);

    /* W: row factors on the host (as tamis_model_transform gives them, packed), or NULL: the model's own. *operands is
       for ml_operands_free() after an error too. */
    tamis_status (*operands)(tamis_model *model, const tamis_dense *W, ml_operands *operands);
} ml_method;

enum { ML_METHODS = 6 };
extern const ml_method *const ml_methods[ML_METHODS]; /* by tamis_method */

extern const ml_method ml_als, ml_implicit_als, ml_ccd, ml_lda, ml_sfa, ml_gap;

/* ---------------------------------------------------------------------------------------------- the model */

/* Matrices beside the factors that a method keeps between iterations and that a checkpoint holds (ADAGRAD's history,
   biases, a running average): numbered by the method. */
enum { ML_STATES = 4, ML_PARTS = 4 };

/* Conjugate-gradient steps for new rows, from zero: as many as the system has unknowns end it but for rounding. */
static inline int ml_fold_in_steps(int64_t unknowns) { return unknowns + 4 < 200 ? (int)unknowns + 4 : 200; }

/*
 * A weighted lambda is lambda * (n + ML_PRIOR_RATINGS) for a row of n ratings: rows of few ratings need more than
 * lambda n, and lambda alone is too little for rows of many. With it one lambda is near the best of ratings that are
 * dense (Jester), a twentieth of them, and generated ones of 20 to 100 a row (docs/results/quality.md).
 */
enum { ML_PRIOR_RATINGS = 40 };

/* Numbers of a row or column: the bias is the last. */
static inline int64_t ml_width(const tamis_model_options *options) {
    const bool biases = options->method == TAMIS_ALS || options->method == TAMIS_SFA ||
                        (options->method == TAMIS_CCD && !options->nonnegative);
    return options->factors + (biases && options->biases ? 1 : 0);
}

/* Time in sparse calls, by marks in the stream: read when an iteration is over. */
typedef struct ml_times {
    void **marks; /* two a call */
    int8_t *operation;
    int calls, capacity;
    double seconds[3]; /* of marks that were read, by tamis_operation */
} ml_times;

struct tamis_model {
    tamis_device *device;
    tamis_location location; /* of its memory */
    const ml_method *method;
    tamis_model_options options; /* options.checkpoint is the model's own copy */
    int64_t rows, cols, nnz;     /* of the data; cols = 0: never fitted */
    int64_t width;               /* of the factors */
    double mean, least, most;    /* of the data's values */
    double scale;                /* ratings are fitted as (r - mean) / scale; 1 where the model is of an old file */
    double prior_ratings;        /* a weighted lambda counts so many ratings more than a row has; 0 of an old file */
    double lambda;               /* where options.regularization is 0: of the last iteration, see noise.h; else 0 */
    uint64_t data_sum;           /* fingerprint of the data, 0: none (streams) */
    int iterations_done;
    int64_t batches_done;   /* of the iteration that is under way */
    int64_t steps;          /* mini-batches in all */
    double parts[ML_PARTS]; /* sums of an iteration under way (loss and its weight first), saved with the model */
    double loss, metric, total_seconds;

    tamis_dense row_factors, column_factors; /* on the device, packed; data NULL: none */
    tamis_dense states[ML_STATES];           /* the same */
    tamis_dense_workspace *workspace;        /* for tamis/dense.h, of `width` + 2 columns or more */
    tamis_names *row_names, *column_names;   /* NULL: none */

    void *work;           /* the method's, from begin() to ml_end() */
    struct ml_team *team; /* during a fit on a group, see team.h; else NULL: one device has everything */
    ml_times times;
    tamis_iteration report; /* of the iteration under way */
    double iteration_start;
    char algorithms[3][48]; /* by tamis_operation; "": the plan's choice */
    double last_save;       /* of a checkpoint, by the clock */
    char save_failure[512]; /* of the last checkpoint; "": none */
    bool stopped;           /* the callback said so */
    bool converged;         /* the loss falls by less than the tolerance */
};

/* Whether the factors end in a bias. */
static inline bool ml_biased(const tamis_model *model) { return model->width > model->options.factors; }

/* ---------------------------------------------------------------------------------------------- place.c */

/* An owned packed matrix on the device, not initialised. rows or cols 0 is fine (data NULL). */
tamis_status ml_dense_make(const tamis_model *model, int64_t rows, int64_t cols, tamis_dense *dense);
void ml_dense_free(const tamis_model *model, tamis_dense *dense);
/* Between a packed host array of the model's type and the device; they wait. */
tamis_status ml_dense_write(const tamis_model *model, const tamis_dense *dense, const void *host);
tamis_status ml_dense_read(const tamis_model *model, const tamis_dense *dense, void *host);
/* The same with doubles, whatever the model's type; those read are the caller's, by tamis_release. */
tamis_status ml_dense_write_doubles(const tamis_model *model, const tamis_dense *dense, const double *numbers);
tamis_status ml_dense_read_doubles(const tamis_model *model, const tamis_dense *dense, double **numbers);
/* The host's copy as an array, the caller's. */
tamis_status ml_dense_fetch(const tamis_model *model, const tamis_dense *dense, tamis_owned_dense **array);
/* Seeded uniform values in [low, high) into a matrix on the device: `stream` tells matrices of one seed apart. */
tamis_status ml_dense_random(const tamis_model *model, const tamis_dense *dense, uint64_t stream, double low,
                             double high);
/* The same, of a larger matrix the rows from number `first` on. */
tamis_status ml_dense_random_from(const tamis_model *model, const tamis_dense *dense, int64_t first, uint64_t stream,
                                  double low, double high);
/* Elements of the model's type on the device: the values of samples. */
tamis_status ml_values_make(const tamis_model *model, int64_t count, void **values);
/* The same as a count x 1 matrix, for tamis/dense.h. */
tamis_dense ml_values_view(const tamis_model *model, void *values, int64_t count);

/* A sparse matrix on the device: CSR, sorted, duplicates summed, the model's type. */
typedef struct ml_sparse {
    tamis_owned_sparse *host;          /* its arrays on the host */
    tamis_sparse view;                 /* at the device's location */
    void *offsets, *columns, *values;  /* a GPU's, else NULL */
    struct tamis_row_exchange *others; /* with a team (team.h): brings the rows that the columns name; else NULL */
} ml_sparse;
/* Puts `S` (host, any form), or its transpose, onto the device. */
tamis_status ml_sparse_place(const tamis_model *model, const tamis_sparse *S, bool transpose, ml_sparse *placed);
/* The two steps of it: placed->host, with a view of that; and the view's arrays to the device. After an error
   ml_sparse_free is due. */
tamis_status ml_sparse_convert(const tamis_model *model, const tamis_sparse *S, bool transpose, ml_sparse *placed);
tamis_status ml_sparse_send(const tamis_model *model, ml_sparse *placed);
/* Rows first .. first + count - 1 of a CSR matrix with int64 offsets. */
tamis_status ml_sparse_place_rows(const tamis_model *model, const tamis_sparse *S, int64_t first, int64_t count,
                                  bool transpose, ml_sparse *placed);
void ml_sparse_free(const tamis_model *model, ml_sparse *placed);
/* The lambda that ratings are fitted with: the option, or found by their noise. */
static inline double ml_lambda(const tamis_model *model) {
    return model->options.regularization > 0 ? model->options.regularization : model->lambda;
}
static inline bool ml_finds_lambda(const tamis_model *model) { return model->options.regularization == 0; }
/* The lambda of each row, rows x 1 on the device: of ml_lambda, weighted or not. It is never 0, so that rows without
   ratings go to 0. */
tamis_status ml_row_lambdas(const tamis_model *model, const ml_sparse *S, tamis_dense *lambdas);
/* Number of nonzeros of each row as the model's type, rows x 1 on the device. */
tamis_status ml_row_counts(const tamis_model *model, const ml_sparse *S, tamis_dense *counts);

/* ---------------------------------------------------------------------------------------------- calls.c */

/* Passes that a fit is planned for: about what the defaults are. Not options.iterations: a fit that goes on with more
   of them must choose as one that had them from the beginning, for another choice has other roundings. */
enum { ML_PASSES = 16 };

/* A plan that will be executed `calls` times, 1 or more: so much set-up pays. edge and inner are SDDMM's and fused's,
   width is SpMM's and fused's. */
tamis_status ml_plan(const tamis_model *model, const tamis_sparse *S, tamis_operation operation, tamis_edge edge,
                     int64_t inner, int64_t width, int64_t calls, tamis_plan **plan);
/* The same pattern with other values. */
static inline tamis_sparse ml_with_values(const tamis_sparse *S, const void *values) {
    tamis_sparse other = *S;
    other.values = values;
    return other;
}
/* The plan's executions, timed. */
tamis_status ml_sddmm(tamis_model *model, const tamis_plan *plan, const tamis_dense *A, const tamis_dense *B,
                      double alpha, double beta, const tamis_dense *P);
tamis_status ml_spmm(tamis_model *model, const tamis_plan *plan, const tamis_dense *B, double alpha, double beta,
                     const tamis_dense *C);
/* D is B in every model, which ml_plan promises. */
tamis_status ml_fused(tamis_model *model, const tamis_plan *plan, const tamis_dense *A, const tamis_dense *B,
                      double alpha, double beta, const tamis_dense *E);
/* For begin(): room for the marks of that many calls, so that those of an iteration allocate nothing. */
tamis_status ml_times_reserve(tamis_model *model, double calls);
/* Adds what the marks say to times.seconds and frees them for new calls; waits. */
tamis_status ml_times_add(tamis_model *model);
/* Seconds in each operation since the last call, by tamis_operation; waits. */
tamis_status ml_times_take(tamis_model *model, double seconds[3]);
void ml_times_free(tamis_model *model);

/* ---------------------------------------------------------------------------------------------- shared steps */

/* model.c: makes row and column factors of the sizes given that are not there yet (from a checkpoint they are), and the
   workspace. *fresh: they were made now, and hold nothing yet. */
tamis_status ml_model_factors(tamis_model *model, int64_t rows, int64_t cols, bool *fresh);
/* The same for a state. */
tamis_status ml_model_state(tamis_model *model, int number, int64_t rows, int64_t cols, bool *fresh);
/* model.c: makes model->workspace where it is not there yet: a model that was loaded has none. */
tamis_status ml_model_workspace(tamis_model *model);

/* operands.c: A (W, or the model's own) and B where they are the factors as they are; the rest is left. */
void ml_plain_operands(const tamis_model *model, const tamis_dense *W, ml_operands *operands);
/* The same of factors whose last column is the bias where the model has biases. */
tamis_status ml_biased_operands(const tamis_model *model, const tamis_dense *W, ml_operands *operands);
/* `from` with a column more at `place`: of `numbers`, a rows x 1 matrix, or NULL: of ones. */
tamis_status ml_insert_column(const tamis_dense *from, int64_t place, const tamis_dense *numbers,
                              tamis_owned_dense **wide);
/* An operand of an array, which becomes its own. */
void ml_operand_take(ml_operand *operand, tamis_owned_dense *array);
/* Brings it onto the host, where it is not there yet. */
tamis_status ml_operand_fetch(const tamis_model *model, ml_operand *operand);
void ml_operands_free(ml_operands *operands);

/* model.c: frees model->work. */
void ml_end(tamis_model *model);
/* fit.c: after each mini-batch: tells the callback. *go_on is false where it said stop. */
tamis_status ml_after_batch(tamis_model *model, int64_t batch, int64_t batches, bool *go_on);
/* What ratings are less of before they are divided by the scale: with non-negative factors nothing. */
static inline double ml_centre(const tamis_model *model) {
    return model->options.method == TAMIS_CCD && model->options.nonnegative ? 0 : model->mean;
}
/*
 * canonical.c: the fingerprint of data of that form, never 0. It is of whole data whose rows add up to `rows_sum`, each
 * with its number in the whole: `first` of the first one. ml_former_sum is that of files of versions before.
 */
uint64_t ml_rows_sum(const tamis_sparse *data, int64_t first);
uint64_t ml_data_sum(int64_t rows, int64_t cols, int64_t nnz, uint64_t rows_sum);
uint64_t ml_former_sum(const tamis_sparse *data);
/* What the model keeps of data (sizes, mean, range, scale). The scale alone: from the sum of squares of ratings less
   the centre in units of the largest, of so many. */
void ml_describe_data(tamis_model *model, const tamis_sparse *data);
double ml_squares(const tamis_model *model, const tamis_sparse *data);
double ml_scale_of(const tamis_model *model, double squares, int64_t nnz);
/* The same of one more mini-batch. */
void ml_describe_more(tamis_model *model, const tamis_sparse *data);

/* canonical.c: S as methods take their data: a host matrix, CSR, sorted, duplicates summed, values there, int64
   offsets, the model's type; checks the values for the method's kind. `what` names S in messages. */
tamis_status ml_canonical(const tamis_model *model, const tamis_sparse *S, const char *what, tamis_owned_sparse **data);

/* options.c: an empty model of options that were checked; for create and load. */
tamis_status ml_model_make(tamis_device *device, const tamis_model_options *options, tamis_model **model);
/* options.c: options.algorithms, taken apart. */
tamis_status ml_algorithms(const char *text, char algorithms[3][48]);
/* options.c */
tamis_status ml_options_check(const tamis_model_options *options);
/* score.c: the number that a fit's callback gets as metric, and what it is the mean of: held-out entries of ratings,
   rows of uses. */
tamis_status ml_metric(tamis_model *model, const tamis_held_out *held_out, double *metric, double *weight);

#endif
