/*
 * Factorisations and topic models on sparse data: ALS, implicit ALS, CCD++, LDA, SFA and GaP, each built from SDDMM,
 * SpMM and fused calls of <tamis/tamis.h>, so that it runs on every device. Library: libtamis_ml, on top of libtamis.
 *
 *   S is rows x columns: users x items, or documents x words. A model has a vector of `factors` numbers (features or
 *   topics) for each column, and for each row that it was fitted to.
 *
 * One shape for all: options -> tamis_model_create -> tamis_model_fit -> predict, recommend, topics, score, save.
 * Conventions of <tamis/tamis.h> hold: status codes out, the message from tamis_last_error(), nothing printed. Views of
 * data and results are in host memory whatever the device. One model serves one thread at a time.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef TAMIS_ML_H
#define TAMIS_ML_H

#include <tamis/data.h>
#include <tamis/matrix.h>
#include <tamis/tamis.h>

#ifdef __cplusplus
extern "C" {
#endif

/* ---------------------------------------------------------------------------------------------- methods */

/* What can be fitted. */
typedef enum tamis_method {
    TAMIS_ALS = 0,          /* explicit ratings, alternating least squares by conjugate gradients */
    TAMIS_IMPLICIT_ALS = 1, /* counts of what was used: Hu, Koren, Volinsky 2008, by conjugate gradients */
    TAMIS_CCD = 2,          /* explicit ratings, CCD++: one feature at a time (Nisa et al., algorithm 1) */
    TAMIS_LDA = 3,          /* latent Dirichlet allocation, online variational Bayes in mini-batches */
    TAMIS_SFA = 4,          /* sparse factor analysis of ratings: users by CG, items by ADAGRAD, in mini-batches */
    TAMIS_GAP = 5           /* gamma-Poisson factors of counts; shape 1 and no scale: non-negative factors under KL */
} tamis_method;

/* "als", "implicit-als", "ccd", "lda", "sfa", "gap"; "unknown" for other numbers. And the reverse. */
TAMIS_API const char *tamis_method_name(tamis_method method);
TAMIS_API tamis_status tamis_method_from_name(const char *name, tamis_method *method);

/* ---------------------------------------------------------------------------------------------- progress */

/* What fitting has come to after an iteration (a pass over the data), or within one after a mini-batch. NaN where there
   is nothing to say. Shares are of the iteration's time on the device. */
typedef struct tamis_iteration {
    tamis_method method;
    int iteration, iterations; /* which one this is, from 1, and how many there will be */
    int64_t batch, batches;    /* mini-batches done of this iteration; equal: the iteration is over. batches is 0 while
                                  a stream's number is not known */
    double loss;               /* what the method makes small, after this iteration (see each method in the manual) */
    double metric;             /* on held-out entries: RMSE of ratings, perplexity of counts, of implicit data the share
                                  of held-out entries among the first ten (recall) */
    double seconds, total_seconds;               /* this iteration; all since the model was made or loaded */
    double sddmm_share, spmm_share, fused_share; /* of the iteration's time in our sparse operations */
    uint64_t reserved[4];
} tamis_iteration;

/* Called after each iteration and mini-batch, from the thread that fits. false: stop after this. */
typedef bool (*tamis_iteration_callback)(void *context, const tamis_iteration *iteration);

/* ---------------------------------------------------------------------------------------------- options */

/* What is to be fitted. Begin with tamis_model_options_init, which sets the defaults of a method. Fields of other
   methods are not looked at. */
typedef struct tamis_model_options {
    tamis_method method;
    int64_t factors;       /* features or topics, 1 to 1024 (32); 20 topics */
    tamis_type type;       /* TAMIS_F32 (default) or TAMIS_F64 */
    int iterations;        /* passes over the data (als, implicit-als, ccd 15; lda, gap, sfa 20) */
    uint64_t seed;         /* of the factors' first values and of the order of mini-batches (1) */
    double tolerance;      /* stop when the loss falls by less than this share of itself in an iteration; 0 (default):
                              never */
    bool skip_loss;        /* do not compute the loss (nor stop by it): it costs a pass of SDDMM */
    double regularization; /* lambda > 0: als, ccd 0.05; implicit-als 0.01; sfa 0.5 of a user */
    bool weighted;         /* als, ccd: lambda times the number of a row's ratings (default), else plain lambda */
    bool biases;           /* als: a bias for each user and item (false) */
    int cg_steps;          /* conjugate-gradient steps of a half iteration: als 6, implicit-als 3, sfa 5 */
    double confidence;     /* implicit-als: an entry r has weight 1 + confidence * |r|, r < 0 a known dislike (1) */
    int inner_rounds;      /* ccd: rounds of a feature (5); lda, gap: updates of a mini-batch's rows (lda 5, gap 1) */
    bool nonnegative;      /* ccd: factors clamped at 0 (false) */
    double row_prior;      /* lda: alpha of the topics of a document (0.1), 0 means 1 / factors; gap: shape a of a row's
                              factors (1) */
    double column_prior;   /* lda: beta of the words of a topic (0.1), 0 means 1 / factors; gap: scale b of a row's
                              factors; 0 means none (infinite) */
    bool maximum_a_posteriori; /* lda: without exp(digamma): the MAP variant (false) */
    int64_t batch_rows;        /* lda, sfa, gap: rows of a mini-batch; 0 means all (gap), or a default from the data */
    double rate_decay;         /* lda, gap in streams: mini-batch t = 1, 2, ... counts (1 / (t + 1))^rate_decay,
                                  0 <= rate_decay <= 1 (0.5) */
    double rate;               /* sfa: ADAGRAD's rate (0.1) */
    double column_regularization; /* sfa: lambda of the items (0.1) */
    int threads;                  /* of the CPU; 0: the device's */
    const char *algorithms; /* of the sparse calls, to compare with: "naive", or one each for SDDMM, SpMM and fused with
                               commas between; NULL: each plan's own choice. Not saved */
    const char *checkpoint; /* file to which the model is saved while it is fitted; NULL: none */
    double checkpoint_seconds; /* least time between two checkpoints (30); one is always made at the end and when
                                  the callback stops the fitting */
    tamis_iteration_callback callback;
    void *callback_context;
    uint64_t reserved[12];
} tamis_model_options;

/* The defaults of a method. */
TAMIS_API tamis_status tamis_model_options_init(tamis_model_options *options, tamis_method method);

/* ---------------------------------------------------------------------------------------------- models */

typedef struct tamis_model tamis_model; /* a model on a device */

/* Makes an empty model on a device, which must outlive it. Options are checked and copied (strings too). *model is the
   caller's, for tamis_model_free. TAMIS_ERROR_ARGUMENT names the option and its value. */
TAMIS_API tamis_status tamis_model_create(tamis_device *device, const tamis_model_options *options,
                                          tamis_model **model);

/* Frees a model; NULL is allowed. */
TAMIS_API void tamis_model_free(tamis_model *model);

/* Entries kept back from fitting, on which each iteration's metric is computed; NULL: no metric. Of documents (lda,
   gap) `entries` are the held-out words and `observed` the words of the same documents that their topics are found
   from; of ratings `entries` belong to the rows that are fitted and `observed` is not looked at; of implicit-als
   `observed` are entries not to be recommended. */
typedef struct tamis_held_out {
    const tamis_sparse *entries, *observed;
    uint64_t reserved[4];
} tamis_held_out;

/*
 * Fits the model to S (host; CSR or COO, any types; duplicates are summed) until options.iterations have been done in
 * all. A new model begins with seeded factors; one that was cancelled or loaded from a checkpoint goes on where it was
 * and gives the result of an uninterrupted run, bit for bit on the same device; S must be the same then
 * (TAMIS_ERROR_ARGUMENT says that it differs). The same data, options, device and number of threads give the same
 * model. TAMIS_ERROR_CANCELLED: the callback stopped it; the model is whole, as after its last mini-batch or iteration.
 * TAMIS_ERROR_ARGUMENT: S does not suit the method, the first bad entry is named (a negative count, NaN).
 */
TAMIS_API tamis_status tamis_model_fit(tamis_model *model, const tamis_sparse *S, const tamis_held_out *held_out);

/* One more step with a mini-batch of new rows (lda, gap, sfa): TAMIS_ERROR_UNSUPPORTED for methods that need all data
   at once. The number of columns is that of the first batch. */
TAMIS_API tamis_status tamis_model_partial_fit(tamis_model *model, const tamis_sparse *batch);

/* Mini-batches that come one after another: *batch = NULL at the end of a pass, after which the next call begins again.
   What *batch points to must stay valid until the next call. */
typedef tamis_status (*tamis_batch_source)(void *context, const tamis_sparse **batch);

/* Fits in passes over a stream larger than memory: lda, gap, sfa. `cols` is the number of columns. Otherwise as
   tamis_model_fit; a checkpoint is made after each pass alone, and
   what is stopped within one goes on from there when it is loaded; the model in memory has learnt from part of the
   pass. */
TAMIS_API tamis_status tamis_model_fit_stream(tamis_model *model, tamis_batch_source source, void *context,
                                              int64_t cols, const tamis_held_out *held_out);

/* ---------------------------------------------------------------------------------------------- using a model */

/* The rows of S (any rows, not those of the fit; S.cols = the model's columns) in the model's factors: new users folded
   in, documents' topics. W: S.rows x width, host, row-major, of the model's type, where width is what
   tamis_model_describe says. */
TAMIS_API tamis_status tamis_model_transform(tamis_model *model, const tamis_sparse *S, const tamis_dense *W);

/* What the model expects at the places of S, of which the values are not looked at: predictions[t], nnz doubles in the
   order of S's entries. W: the rows' factors from tamis_model_transform; NULL: S's rows are those of the fit.
   Ratings are clamped to the range of the ratings that were fitted; lda gives the probability of the word. */
TAMIS_API tamis_status tamis_model_predict(tamis_model *model, const tamis_dense *W, const tamis_sparse *S,
                                           double *predictions);

/* For each of `count` rows (indices into W, or the fit's rows where W is NULL; rows = NULL: 0 .. count - 1) the n
   columns with the largest predictions, best first, leaving out the columns in that row of `seen` (NULL: none). columns
   and scores have count * n entries; where fewer columns are left the rest is -1 and NaN. Scores are what
   tamis_model_predict gives; columns are ranked before clamping, so that those beyond the range of ratings keep their
   order. Equal ones: the lower column first. */
TAMIS_API tamis_status tamis_model_recommend(tamis_model *model, const tamis_dense *W, const int64_t *rows,
                                             int64_t count, const tamis_sparse *seen, int n, int64_t *columns,
                                             double *scores);

/* The n columns with the largest weight in each factor, heaviest first, and their weights (of topics: probabilities, of
   others: values): factors * n entries each, rest as in recommend. */
TAMIS_API tamis_status tamis_model_topics(tamis_model *model, int n, int64_t *columns, double *weights);

/* How well held-out entries are foreseen. NaN where a number has no meaning for the method. */
typedef struct tamis_score {
    int64_t entries;                /* held-out entries that were looked at */
    int64_t rows;                   /* rows that have any */
    double rmse, mae;               /* of ratings: root of the mean squared error, mean absolute error */
    double log_likelihood;          /* of counts: mean natural logarithm of a held-out word's probability, which counts
                                       as 1e-12 at least */
    double perplexity;              /* exp(-log_likelihood) */
    double precision, recall, ndcg; /* of the first `top` recommendations, the mean over rows; held-out entries are the
                                       relevant ones, those of `observed` are left out */
    double coherence; /* of topics: mean NPMI of the first `top` words of a topic over documents in `observed`; of words
                         that never meet -1, and words in no document are left out */
    uint64_t reserved[8];
} tamis_score;

/* Scores a model. held_out as in tamis_model_fit; fold_in: the rows are new ones, whose factors are found from
   `observed` (documents always are). top: how many recommendations or words, 10 if 0. */
TAMIS_API tamis_status tamis_model_score(tamis_model *model, const tamis_held_out *held_out, bool fold_in, int top,
                                         tamis_score *score);

/* ---------------------------------------------------------------------------------------------- looking inside */

/* What a model is, and where it stands. */
typedef struct tamis_model_description {
    tamis_model_options options; /* strings and the callback are NULL */
    int64_t rows, cols, nnz;     /* of the data; rows is 0 where no row factors are kept (lda, sfa, streams) */
    int64_t width;               /* numbers a row or column: factors, one more with biases */
    int iterations_done;
    double loss, metric;      /* of the last iteration; NaN where there is none */
    double mean, least, most; /* of the values fitted */
    uint64_t reserved[8];
} tamis_model_description;

/* Describes a model. */
TAMIS_API tamis_status tamis_model_describe(const tamis_model *model, tamis_model_description *description);

/* Copies of the factors, rows x width or cols x width, of the model's type; the caller's, for tamis_owned_dense_free.
   With biases the last column is the bias. lda: the words' weights, column sums over words are the topics' masses. */
TAMIS_API tamis_status tamis_model_row_factors(tamis_model *model, tamis_owned_dense **factors);
TAMIS_API tamis_status tamis_model_column_factors(tamis_model *model, tamis_owned_dense **factors);

/* More iterations than the model was made with (fewer than are done: none), and another callback, checkpoint file or
   tolerance: the fields of `options` that do not change what the numbers are. For a model that was loaded. */
TAMIS_API tamis_status tamis_model_continue_with(tamis_model *model, const tamis_model_options *options);

/* Names of rows and columns (users, items, words), kept and saved with the model; NULL: none. Copies are made. */
TAMIS_API tamis_status tamis_model_set_names(tamis_model *model, const tamis_names *rows, const tamis_names *columns);

/* The model's own, or NULL. */
TAMIS_API const tamis_names *tamis_model_row_names(const tamis_model *model);
TAMIS_API const tamis_names *tamis_model_column_names(const tamis_model *model);

/* ---------------------------------------------------------------------------------------------- files */

/* Writes everything that predicting and going on need, with a version and a checksum, beside the file and then renamed:
   a full disk leaves an old file as it was. */
TAMIS_API tamis_status tamis_model_save(const tamis_model *model, const char *path);

/* Reads a model onto a device. TAMIS_ERROR_FORMAT: damaged (the message says what), or of a later version (it says
   which). *model is the caller's. */
TAMIS_API tamis_status tamis_model_load(tamis_device *device, const char *path, tamis_model **model);

#ifdef __cplusplus
}
#endif

#endif
