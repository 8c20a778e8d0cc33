/*
 * The interface of a method: a table of functions and properties, defined at the end of the method's file. Shared work
 * is done once around it: checks, the loop over iterations, timing, checkpoints, prediction.
 */
#ifndef TAMIS_ML_METHOD_H
#define TAMIS_ML_METHOD_H

#include <tamis/dense.h>
#include <tamis/ml.h>

struct ml_best;
struct ml_fold;
struct ml_operands;

/* The most states (matrices beside the factors that persist between iterations and in checkpoints) and the most partial
   sums (within an iteration) of a method. */
enum { ML_STATES = 4, ML_PARTS = 4 };

/* Length of a side of a matrix: one of the model's sizes plus a constant. ML_ANY, of rows: as the data make it. */
typedef enum ml_count { ML_NONE = 0, ML_ROWS, ML_COLUMNS, ML_FACTORS, ML_ANY } ml_count;
typedef struct ml_length {
    ml_count of;
    int more;
} ml_length;

/* Permitted values of a matrix. ML_SQUARES: sums of squares, which may overflow to infinity but are never NaN. */
typedef enum ml_range { ML_FINITE = 0, ML_NOT_NEGATIVE, ML_SQUARES, ML_POSITIVE } ml_range;

/* A state: a matrix that a model keeps beside its factors, between iterations and in its file. Making, writing and
   reading all follow this description, so a file has no other states and no other sizes. */
typedef struct ml_state {
    ml_length rows, cols; /* no columns: there is no such state */
    ml_range range;
    bool optional; /* may be absent: from a file of an older version, or because it was not needed yet */
    bool (*kept)(const tamis_model_options *options); /* true if a model with these options has it; NULL: always */
} ml_state;

/* Lists of columns with weights: those to which a column gives a weight, or from which it takes one. */
typedef enum ml_lists_kind { ML_LISTS_NONE = 0, ML_LISTS_GIVEN, ML_LISTS_TAKEN } ml_lists_kind;

typedef struct ml_method {
    tamis_method_description about;
    bool biases;      /* with options.biases the factors end in a bias */
    bool nonnegative; /* with options.nonnegative there are no biases, and ratings are not centred */
    bool noise;       /* options.regularization = 0 estimates lambda from the noise of the data */
    double lambda; /* options.regularization = 0 means this times a factor chosen by an inner split; 0: not supported */
    bool as_als;   /* als minimises the same objective faster, so inner splits fit als */
    bool sizes;    /* options.factors = 0 chooses their number by an inner split */
    bool over_biases; /* biases are found before the factors, so that a fit that predicts worse than they do alone can
                         be left at them (choose.h) */
    bool features;    /* features give factors to rows and columns without entries (features.h) */
    bool chance;      /* recommendations go with the chance of being seen (chance.h) */
    bool weighs;      /* options.weights may be TAMIS_WEIGHTS_AUTO, which chooses them by an inner split */
    tamis_use_weights usual; /* those that it begins with, and takes where there is nothing to choose by */
    bool confident;          /* a NaN for options.confidence chooses it by an inner split */
    bool priors;             /* a NaN for options.row_prior or column_prior chooses it by an inner split */
    int64_t choice_columns;  /* an inner split takes as many columns at most; 0: no limit */
    int (*neighbours_for)(int asked, int64_t cols); /* for TAMIS_NEIGHBOURS_AUTO as for numbers. NULL: as asked */
    int64_t choice_entries;                         /* and rows with as many entries; 0: ML_CHOICE_ENTRIES */
    ml_state states[ML_STATES];                     /* see factors.h */
    bool masses; /* a topic's weights add up to the topic's share of the words, not to 1 */

    void (*defaults)(tamis_model_options *options);
    /* Check the method's own options. check_new() adds rules for new models that files of older versions may break.
       NULL: nothing to check. */
    tamis_status (*check)(const tamis_model_options *options);
    tamis_status (*check_new)(const tamis_model_options *options);
    /* Checks a file's column data, on the host, for methods that keep other numbers than factors there. The message
       begins with the file's name. NULL: any numbers are valid. */
    tamis_status (*check_kept)(const char *path, const struct tamis_model *model, const tamis_dense *kept);

    /* Fails if there are too many columns for the method, before a fit begins. NULL: any number is allowed. */
    tamis_status (*admits)(const tamis_model *model, int64_t cols);

    /* Returns how many numbers the model keeps per column. NULL: the factors and perhaps a bias. */
    int64_t (*column_width)(const tamis_model_options *options, int64_t cols);

    /* Transforms the values of data before anything else uses them. fit: the data are a fit's, else new rows.
       Fingerprints are of the data before the transformation. NULL: values stay. */
    tamis_status (*prepare)(tamis_model *model, tamis_sparse *data, bool fit);

    /* Fitting. `data` is on the host, CSR, sorted, without duplicates, of the model's type, values always present,
       offsets int64; it lives as long as the work. begin() makes missing factors and states (see factors.h) and
       keeps plans and scratch, which belong to the scope, in model->work. iterate() does one pass and loss() follows
       it: begin() does all allocation, also of events (ml_times_reserve). Methods with mini-batches continue from
       model->batches_done, increase it after each, and call ml_after_batch(). Fits on groups use the functions in
       group.h. */
    tamis_status (*begin)(tamis_model *model, const tamis_sparse *data);
    tamis_status (*iterate)(tamis_model *model);
    tamis_status (*loss)(tamis_model *model, double *loss); /* after iterate(); NULL: not known */
    /* Between two mini-batches: adds the sums that are still on the device to `parts`, a copy of model->parts. NULL:
       there never are any. iterate() leaves none there. */
    tamis_status (*pending)(const tamis_model *model, double parts[]);

    /* Learns from one mini-batch of new rows, data as above. whole: an estimate of the total number of rows (0:
       unknown). *loss: this batch's sum and its divisor, so that batches can be added. NULL without mini-batches. */
    tamis_status (*step)(tamis_model *model, const tamis_sparse *batch, int64_t whole, double *loss, double *weight);

    /* Computes the factors W (data->rows x width, on the device) of the rows of `data` (as above). */
    tamis_status (*transform)(tamis_model *model, const tamis_sparse *data, const tamis_dense *W);

    /* Makes the system that a new row's factors solve (serve/fold.h), where it is one; its G is the Gram matrix of the
       columns' factors (kept.h) if `gram`. NULL: they are found otherwise. */
    void (*system)(struct ml_fold *fold);
    bool gram;

    /* The variational bound of ln p(data) per word, NaN without words. NULL: there is none. */
    tamis_status (*bound)(tamis_model *model, const tamis_sparse *data, double *per_word);

    /* For models of item pairs: the lists that the column data are (serve/lists.h). NULL: there never are any. */
    ml_lists_kind (*lists)(const tamis_model_options *options);

    /* Offers the columns similar to `column` to `best`, with their weights, where there are no lists. kept: the model's
       column_factors on the host. NULL: similarity is the cosine of factors. */
    void (*similar)(const tamis_dense *kept, int64_t column, struct ml_best *best);

    /* W: row factors on the host (as tamis_model_transform gives them, packed), or NULL: the model's own. */
    tamis_status (*operands)(tamis_model *model, const tamis_dense *W, struct ml_operands *operands);
} ml_method;

static inline bool ml_is_nonnegative(const ml_method *method, const tamis_model_options *options) {
    return method->nonnegative && options->nonnegative;
}

/* Returns true if no factor is negative. */
static inline bool ml_has_whole_factors(const ml_method *method, const tamis_model_options *options) {
    return method->about.data == TAMIS_DATA_COUNTS || ml_is_nonnegative(method, options);
}

/* Returns the numbers per row or column; the last is the bias. */
static inline int64_t ml_width(const ml_method *method, const tamis_model_options *options) {
    return options->factors + (method->biases && options->biases && !ml_is_nonnegative(method, options) ? 1 : 0);
}

/* Returns true if lambda is estimated from the noise of the data (noise.h). */
static inline bool ml_by_noise(const ml_method *method, const tamis_model_options *options) {
    return method->noise && options->regularization == 0;
}

/* Returns true if the fit chooses lambda as a multiple of the method's own. */
static inline bool ml_chooses_lambda(const ml_method *method, double regularization) {
    return method->lambda > 0 && regularization == 0;
}

#endif
