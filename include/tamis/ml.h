/*
 * Factorisations and topic models of sparse data: ALS, implicit ALS, CCD++, LDA, SFA, GaP, NMF and BPR, and models of
 * pairs of items: nearest neighbours and EASE. Each is built from the SDDMM, SpMM and fused calls of <tamis/tamis.h>,
 * so it runs on every device. Library: libtamis_ml, on top of libtamis.
 *
 *   S is rows x columns: users x items, or documents x words. A model has a vector of `factors` numbers (features or
 *   topics) for each column, and for each row that it was fitted to.
 *
 * All methods are used alike: options -> tamis_model_create -> tamis_model_fit -> predict, recommend, topics, score,
 * save. The conventions of <tamis/tamis.h> apply: functions return a status, tamis_last_error() has the message,
 * nothing is printed. Views of data and results are in host memory for every device. Any number of threads may use a
 * model at the same time (describe, transform, predict, recommend, similar, topics, score) as long as none changes it,
 * on a GPU one at a time.
 */
#ifndef TAMIS_ML_H
#define TAMIS_ML_H

#include <tamis/data.h>
#include <tamis/group.h>
#include <tamis/matrix.h>
#include <tamis/tamis.h>

#ifdef __cplusplus
extern "C" {
#endif

/* ---------------------------------------------------------------------------------------------- methods */

/* The methods. */
typedef enum tamis_method {
    TAMIS_ALS = 0,          /* explicit ratings, alternating least squares by conjugate gradients */
    TAMIS_IMPLICIT_ALS = 1, /* usage counts: Hu, Koren, Volinsky 2008, by conjugate gradients */
    TAMIS_CCD = 2,          /* explicit ratings, CCD++: one feature at a time (Nisa et al., algorithm 1) */
    TAMIS_LDA = 3,          /* latent Dirichlet allocation, online variational Bayes in mini-batches */
    TAMIS_SFA = 4,          /* sparse factor analysis of ratings: users by CG, items by ADAGRAD, in mini-batches */
    TAMIS_GAP = 5,      /* gamma-Poisson factors of counts; with shape 1 and no scale: non-negative KL factorisation */
    TAMIS_ITEM_KNN = 6, /* usage counts: nearest neighbours of items by cosine, BM25 or RP3beta */
    TAMIS_EASE = 7,     /* usage counts: a weight for each pair of items (Steck 2019) */
    TAMIS_BPR = 8,      /* uses: ranks what a row has above what it does not have (Rendle et al. 2009) */
    TAMIS_TRANSITIONS = 9, /* uses in time: what follows soon after what a row had last */
    TAMIS_NMF = 10,        /* weighted counts: non-negative factors by least squares, HALS (Cichocki and Phan 2009) */
    TAMIS_LDA_GIBBS = 11,  /* latent Dirichlet allocation, collapsed Gibbs sampling on the host */
    TAMIS_RATING_KNN = 12  /* explicit ratings: biases and nearest neighbours of items (Koren 2010) */
} tamis_method;

/* "als", "implicit-als", "ccd", "lda", "sfa", "gap", "item-knn", "ease", "bpr", "transitions", "nmf",
   "lda-gibbs", "rating-knn"; "unknown" for other numbers. And the reverse. */
TAMIS_API const char *tamis_method_name(tamis_method method);
TAMIS_API tamis_status tamis_method_from_name(const char *name, tamis_method *method);

/* Kinds of data. */
typedef enum tamis_method_data {
    TAMIS_DATA_RATINGS = 0, /* ratings of items by users: any finite values; the last of repeated entries counts */
    TAMIS_DATA_USES = 1,    /* how often users used items, negative for a dislike; absent entries are zero */
    TAMIS_DATA_COUNTS = 2   /* counts of words in documents, not negative */
} tamis_method_data;

/* An option that only some methods have. */
typedef struct tamis_method_option {
    const char *name; /* a field of tamis_model_options */
    const char *help; /* what it means for the method, one line; NULL: what it means for most methods */
} tamis_method_option;

/* Describes a method. */
typedef struct tamis_method_description {
    tamis_method method;
    tamis_method_data data;
    const char *name;
    const char *summary;                /* one line */
    const tamis_method_option *options; /* the method's options, terminated by a NULL name */
    bool row_factors;                   /* the model keeps factors of the rows that it was fitted to */
    bool mini_batches;                  /* tamis_model_partial_fit and tamis_model_fit_stream work */
    bool groups;                        /* tamis_model_fit_group works */
    bool pairs;   /* the model has weights of pairs of columns and no factors; a row's "factors" are its scores of all
                     columns (width is the number of columns) */
    bool sampled; /* the loss is estimated from samples, so it may rise a little */
    bool ordered; /* values of data are the entries' times or positions, as tamis_ratings_options.positions makes them:
                     only their order within a row counts, equal ones by columns. The last of repeated entries counts */
    bool no_perplexity; /* of counts: predictions are no probabilities of words, so that there is no metric */
    bool seeds;         /* tamis_model_set_seeds works */
    uint64_t reserved[8];
} tamis_method_description;

/* Describes the methods, by index 0 .. count - 1; TAMIS_ERROR_ARGUMENT past the end. */
TAMIS_API int tamis_method_count(void);
TAMIS_API tamis_status tamis_method_at(int index, tamis_method_description *description);

/* Reads a file of data for a method as `tamis train` does: ratings and lists of uses with any ids, whose names become
   *row_names and *column_names, texts for models of documents (tamis_is_texts), with the defaults of
   tamis_text_options, or any other format of tamis_read_sparse, for which the names become NULL. Repeated entries: the
   last counts for methods of ratings, their sum for others. columns and times: as in tamis_ratings_options, or NULL.
   The caller must free all results. */
TAMIS_API tamis_status tamis_read_data(tamis_method method, const char *path, const char *columns,
                                       tamis_owned_sparse **data, tamis_names **row_names, tamis_names **column_names,
                                       tamis_owned_sparse **times);

/* The same. Also writes to `found` (TAMIS_FOUND_BYTES bytes; NULL: not wanted) one line that describes the columns of a
   list and what was skipped, as in tamis_ratings_options; "" for other files. */
TAMIS_API tamis_status tamis_read_data_found(tamis_method method, const char *path, const char *columns, char *found,
                                             tamis_owned_sparse **data, tamis_names **row_names,
                                             tamis_names **column_names, tamis_owned_sparse **times);

/* ---------------------------------------------------------------------------------------------- progress */

/* The state of a fit after an iteration (a pass over the data), or within one after a mini-batch. NaN where a number is
   not available. Shares are relative to the iteration's time on the device. */
typedef struct tamis_iteration {
    tamis_method method;
    int iteration, iterations; /* the number of this iteration, from 1, and the total; 0: before the first one, while
                                  options are chosen by the data, or after the last, while features give factors:
                                  `batch` steps are done, batches is 0, and the model cannot be used */
    int64_t batch, batches;    /* mini-batches done in this iteration; if equal, the iteration is complete. batches is 0
                                  while the number of a stream's batches is not known */
    double loss;               /* the objective after this iteration (see the manual's page of models) */
    double metric;             /* on held-out entries: RMSE of ratings, perplexity of counts; for implicit data the
                                  share of held-out entries among the first ten (recall) */
    double seconds, total_seconds;               /* time of this iteration; since the model was made or loaded */
    double sddmm_share, spmm_share, fused_share; /* of the iteration's time in our sparse operations */
    const char *checkpoint_failure;              /* why the last checkpoint could not be written; NULL: it could */
    double elbo; /* lda with options.elbo: the evidence lower bound per word, estimated by the mini-batches */
    uint64_t reserved[2];
} tamis_iteration;

/* Called after each iteration and mini-batch, on the thread that fits. Return false to stop. It must not throw or
   longjmp (<tamis/types.h>). */
typedef bool (*tamis_iteration_callback)(void *context, const tamis_iteration *iteration);

/* ---------------------------------------------------------------------------------------------- options */

/* The weight of a use or count r; it gets the sign of r. */
typedef enum tamis_use_weights {
    TAMIS_WEIGHTS_LINEAR = 0, /* |r| */
    TAMIS_WEIGHTS_LOG = 1,    /* log2(1 + |r|), so that one stays one */
    TAMIS_WEIGHTS_BM25 = 2,   /* less in long rows and for frequent columns: Okapi BM25 with K1 = 100, B = 0.8 */
    TAMIS_WEIGHTS_ONES = 3,   /* 1 */
    TAMIS_WEIGHTS_AUTO =
        4, /* by an inner split of the data: implicit-als log or bm25; item-knn bm25, ones or rp3beta */
    TAMIS_WEIGHTS_RP3BETA = 5, /* item-knn: steps of a random walk over uses, see tamis_model_options.beta */
    TAMIS_WEIGHTS_TFIDF = 6    /* nmf: r (1 + ln((1 + n) / (1 + m))) if m of n rows have the column; each row divided by
                                  its Euclidean norm */
} tamis_use_weights;

#define TAMIS_NEIGHBOURS_AUTO (-1) /* a value of tamis_model_options.neighbours, of ease */

/* Options of a model. Initialise with tamis_model_options_init, which sets the defaults of a method. Fields of other
   methods are ignored. */
typedef struct tamis_model_options {
    tamis_method method;
    int64_t factors;       /* features or topics, 1 to 1024; als, implicit-als, ccd, sfa: 0 (default) chooses their
                              number by an inner split of the data; bpr 32; 20 topics */
    tamis_type type;       /* TAMIS_F32 (default) or TAMIS_F64 */
    int iterations;        /* passes over the data (als, implicit-als, ccd 15; lda, sfa 20; bpr 30; gap, nmf 50;
                              lda-gibbs 100) */
    uint64_t seed;         /* for the initial factors and the order of mini-batches (1) */
    double tolerance;      /* stop if the loss decreases by less than this share of itself in an iteration; 0
                              (default): never */
    bool skip_loss;        /* do not compute the loss (nor stop by it), which costs an SDDMM per iteration */
    double regularization; /* lambda, for ratings divided by their deviation. als, ccd, implicit-als, bpr: 0 (default)
                              finds it from the noise of the data, see tamis_model_description; sfa: 0 (default)
                              chooses. ccd and sfa then are biases alone where no factors predict better. nmf: lambda of
                              the squares of all factors, 0 (default): none */
    bool weighted; /* als, ccd, sfa: lambda times (40 + the number of a row's ratings) (default), else lambda itself;
                      for an item of sfa, times the number of users */
    bool biases;   /* als, ccd, sfa: a bias for each user and item (true), not with non-negative factors; bpr: for each
                      item (true) */
    int cg_steps;  /* conjugate-gradient steps per half iteration, 1 to 1000: als 6, implicit-als 3, sfa 5 */
    double confidence; /* implicit-als: an entry r has weight 1 + confidence * |r|, with r as `weights` makes it; r < 0
                          is a known dislike; NaN (default) chooses it by an inner split (1 for small data) */
    int inner_rounds;  /* 1 to 1000. ccd: rounds per feature (5); lda, gap: updates of a batch's rows (lda 5, gap 1);
                          nmf: sweeps over the topics in half an iteration (3) */
    bool nonnegative;  /* ccd: factors clamped at 0 (false) */
    double row_prior;  /* lda, lda-gibbs: alpha of a document's topics, 0 means 1 / factors; lda-gibbs 0.1; lda: NaN
                          (default) chooses it by an inner  split of the data (0.1 in mini-batches); gap: shape a of a
                          row's factors, 1 or more (1.1),  above 1 with a scale alone */
    double column_prior; /* lda, lda-gibbs: beta of a topic's words, the same; gap: scale b of a row's factors (1); 0
                            means none (infinite) */
    bool maximum_a_posteriori; /* lda: the MAP variant, without exp(digamma) (false); lda-gibbs: of new documents (true)
                                */
    int64_t batch_rows;        /* lda, sfa, gap: rows per mini-batch; 0 means all (gap), or a default from the data */
    double rate_decay;         /* lda, gap in streams: mini-batch t = 1, 2, ... has weight
                                  (1 / (t + rate_offset))^rate_decay, 0 <= rate_decay <= 1 (0.5) */
    double rate;               /* ADAGRAD's rate: sfa (0.1), bpr (0.05) */
    double column_regularization; /* sfa: lambda of the items; 0 (default): regularization, as given or chosen */
    int threads;                  /* CPU threads; 0: the device's setting */
    const char *algorithms; /* algorithms of the sparse calls, for comparisons: "naive", or one each for SDDMM, SpMM and
                               fused, separated by commas; NULL: each plan chooses. Not saved */
    const char *checkpoint; /* file to which the model is saved during the fit; NULL: none */
    double
        checkpoint_seconds; /* minimum time between two checkpoints (30); the last one is written at the end, or when
                               the callback stops the fit. If the last one cannot be written, the fit returns the error,
                               and the model in memory is unaffected; after other failures the fit continues */
    tamis_iteration_callback callback;
    void *callback_context;
    double rate_offset;        /* lda, gap in streams: see rate_decay; 0 means 1. Hoffman's tau_0 less 1 (1) */
    bool learn_row_prior;      /* lda, lda-gibbs: learn an alpha for each topic, starting from row_prior (false) */
    bool elbo;                 /* lda: also compute the evidence lower bound, which takes time (false) */
    bool by_prediction;        /* als, ccd, rating-knn: tamis_model_recommend goes by predictions alone (false) */
    bool warp;                 /* bpr: WARP's loss, weighted by estimated ranks (Weston et al. 2011) (false) */
    bool reserved_flags[4];    /* false */
    tamis_use_weights weights; /* implicit-als, item-knn (TAMIS_WEIGHTS_AUTO), ease (TAMIS_WEIGHTS_ONES), nmf
                                  (TAMIS_WEIGHTS_TFIDF) */
    int neighbours;            /* columns to keep for each column: item-knn and rating-knn the nearest (20, 200),
                                  transitions those that follow it most (100), ease those from which it takes weights: 0
                                  all, so that the model has a weight for each pair of up to 32,768 columns;
                                  TAMIS_NEIGHBOURS_AUTO (default) 0, or 128 with more than 16,384 columns */
    double beta; /* item-knn with TAMIS_WEIGHTS_RP3BETA (Paudel et al. 2017): the chance that three random steps, from a
                    row to one of its columns, to a row and to a column, end there is divided by this power of the
                    column's number of uses: 0 to 2 (0.4) */
    uint64_t reserved[8];
} tamis_model_options;

/* Sets the defaults of a method. */
TAMIS_API tamis_status tamis_model_options_init(tamis_model_options *options, tamis_method method);

/* ---------------------------------------------------------------------------------------------- models */

typedef struct tamis_model tamis_model; /* a model on a device */

/* Makes an empty model on a device, which must outlive it. Options are checked and copied, including strings. The
   caller must free *model. TAMIS_ERROR_ARGUMENT names the option and its value. */
TAMIS_API tamis_status tamis_model_create(tamis_device *device, const tamis_model_options *options,
                                          tamis_model **model);

/* Copies a fitted model, on the same device; the caller must free *copy. A server that learns while it answers updates
   a copy, replaces the first model by it, and frees the first when its last user has ended. Other threads may use
   `model` meanwhile. TAMIS_ERROR_ARGUMENT: the model is not fitted, or is being fitted. */
TAMIS_API tamis_status tamis_model_copy(const tamis_model *model, tamis_model **copy);

/* Frees a model; NULL is allowed. */
TAMIS_API void tamis_model_free(tamis_model *model);

/* Held-out entries, on which each iteration's metric is computed; NULL: no metric. For documents, `entries`
   are the held-out words, and `observed` are the words of the same documents from which topics are computed. For
   ratings, `entries` belong to the fitted rows, and `observed` is ignored. For implicit-als, `observed` are entries not
   to recommend. */
typedef struct tamis_held_out {
    const tamis_sparse *entries, *observed;
    double relevant;        /* if `threshold`: held-out entries of at least this value are relevant, for the scores of
                               recommendations */
    bool threshold;         /* false: all ratings and all counts above 0 are relevant */
    bool reserved_flags[7]; /* false */
    uint64_t reserved[2];
} tamis_held_out;

/*
 * Fits the model to S (host; CSR or COO, any types; duplicates are summed) until options.iterations are done in total.
 * A new model starts from seeded factors. A model that was cancelled or loaded from a checkpoint continues where it
 * stopped, and gives the result of an uninterrupted run, bit for bit on the same device. S must then be the same
 * (TAMIS_ERROR_ARGUMENT says if it differs). The same data, options, device and number of threads give the same model.
 * TAMIS_ERROR_CANCELLED: the callback stopped the fit; the model is consistent, as after its last mini-batch or
 * iteration. TAMIS_ERROR_ARGUMENT: S is invalid for the method; the message names the first bad entry (a negative
 * count, NaN).
 */
TAMIS_API tamis_status tamis_model_fit(tamis_model *model, const tamis_sparse *S, const tamis_held_out *held_out);

/* Gives the next tamis_model_fit features of the columns (of the rows, if `rows`): als and implicit-als. features.rows
   must then be S.cols (S.rows); it is host, CSR or COO, any types and finite values, and is copied. NULL: none. After
   its last iteration the fit finds out by the columns that have entries how factors and biases go with features, and
   gives factors and biases to columns without entries that have features. If features tell nothing of the factors,
   these columns keep factors of zeros, as without features. Other factors are the same to the bit.
   tamis_model_description tells which. The fit forgets the features when it ends, also if it fails, and they are not
   saved: give them again to continue it. TAMIS_ERROR_UNSUPPORTED: other methods; fits on groups. */
TAMIS_API tamis_status tamis_model_set_features(tamis_model *model, bool rows, const tamis_sparse *features);

/*
 * Fits a model on several devices or processes: als and implicit-als; TAMIS_ERROR_UNSUPPORTED for the other methods. It
 * is collective (see <tamis/group.h>): each rank calls it from its own thread, with its end of the group, its own model
 * on that end's device, and its rows of S with the columns of the whole matrix. The whole S is the concatenation of the
 * ranks' rows in the order of ranks; a rank may have none. held_out has this rank's rows; it is given on all ranks or
 * on none. Ranks must agree on the method and on all options that affect the result.
 *
 * During the fit a rank has the factors of its own rows and of some columns, whose ratings it then also holds. When the
 * call returns TAMIS_OK or TAMIS_ERROR_CANCELLED, each rank has the whole model, with the same bits; it equals the
 * model of one device up to rounding. Until then callbacks must not use the model. Each rank's callback is called, with
 * the loss and metric of the whole data; if one returns false, all ranks stop. Only rank 0 writes checkpoints, to its
 * options.checkpoint, with the whole model: to continue, one device or each rank of a group of any size loads it. A
 * checkpoint of a version without this function continues on one device only.
 *
 * Argument errors are returned on all ranks, with the rank's number in front of the message, and change nothing. Other
 * errors break the group and leave empty models on all ranks, as tamis_model_create makes them; the last checkpoint
 * remains.
 */
TAMIS_API tamis_status tamis_model_fit_group(tamis_model *model, tamis_group *group, const tamis_sparse *S,
                                             const tamis_held_out *held_out);

/* Updates the model with a mini-batch of new rows (lda, gap, sfa). TAMIS_ERROR_UNSUPPORTED for methods that need all
   data at once. The first batch determines the number of columns. */
TAMIS_API tamis_status tamis_model_partial_fit(tamis_model *model, const tamis_sparse *batch);

/* Prepares a fitted model for a fit to other data, a "warm start" (als, implicit-als, ccd, bpr, nmf): the next
   tamis_model_fit does options.iterations more with an S that has at least the model's rows and columns, in the same
   order. It starts from the model's factors, and from small random factors for new rows and columns. Statistics of the
   data, such as lambda of uses, are computed anew; the mean and the scale stay. item-knn, ease and lda-gibbs are fitted
   from the beginning. TAMIS_ERROR_UNSUPPORTED: lda, gap and sfa, which learn from more rows by tamis_model_partial_fit.
 */
TAMIS_API tamis_status tamis_model_renew(tamis_model *model);

/* Puts rows into a fitted model, without changing its columns (als, implicit-als, ccd, bpr, nmf). Row i of S becomes
   row rows[i] of the model: it replaces that row's factors, or is appended if rows[i] is the number of rows so far;
   rows = NULL: all are appended. Their factors are computed as by tamis_model_transform. To fit such a model further,
   call tamis_model_renew first. */
TAMIS_API tamis_status tamis_model_put_rows(tamis_model *model, const tamis_sparse *S, const int64_t *rows);

/* A source of mini-batches. It sets *batch to NULL at the end of a pass; the next call starts again. *batch must stay
   valid until the next call. A status other than TAMIS_OK ends the fit with it. It must not throw or longjmp
   (<tamis/types.h>). */
typedef tamis_status (*tamis_batch_source)(void *context, const tamis_sparse **batch);

/* Fits in passes over a stream, which may be larger than memory: lda, gap, sfa. `cols` is the number of columns. It
   works like tamis_model_fit, but checkpoints are written only after a pass. A fit that is stopped within a pass
   continues from that checkpoint when it is loaded; the model in memory has learnt from part of the pass. */
TAMIS_API tamis_status tamis_model_fit_stream(tamis_model *model, tamis_batch_source source, void *context,
                                              int64_t cols, const tamis_held_out *held_out);

/* ---------------------------------------------------------------------------------------------- using a model */

/* Computes factors of arbitrary rows S, which need not be in the fit: it folds in new users, or infers the topics of
   documents. S.cols must be the model's columns. W is S.rows x width, host, row-major, of the model's type;
   tamis_model_describe returns the width. */
TAMIS_API tamis_status tamis_model_transform(tamis_model *model, const tamis_sparse *S, const tamis_dense *W);

/* Normalises the factors W of documents to shares of topics, which add up to 1; a row of zeros stays as it
   is. W is as from tamis_model_transform. */
TAMIS_API tamis_status tamis_model_shares(tamis_model *model, const tamis_dense *W);

/* Computes the model's predictions at the places of S's entries: nnz doubles in the order of the entries. S's values
   are ignored. W has the rows' factors from tamis_model_transform; NULL: S's rows are the rows of the fit. Ratings are
   clamped to the range of the fitted ratings. For lda the prediction is the probability of the word. */
TAMIS_API tamis_status tamis_model_predict(tamis_model *model, const tamis_dense *W, const tamis_sparse *S,
                                           double *predictions);

/* As tamis_model_predict, for rows whose known entries `observed` has (S.rows x S.cols, host): their factors are
   found from it as by tamis_model_transform, for some rows at a time, so that memory does not grow with rows x columns
   in models of pairs of columns, except where S is COO. */
TAMIS_API tamis_status tamis_model_predict_rows(tamis_model *model, const tamis_sparse *observed, const tamis_sparse *S,
                                                double *predictions);

/* For each of `count` rows (indices into W, or into the fit's rows if W is NULL; rows = NULL: 0 .. count - 1), finds
   the n best columns, best first, which for most methods have the largest predictions, without the columns in that row
   of `seen` (NULL: none). columns and scores have count * n entries; if fewer columns are left, the rest are -1 and
   NaN. Scores are tamis_model_predict's, to rounding. als, ccd and rating-knn rank by prediction and chance of being
   seen, which goes with a column's number of ratings in the fit, unless options.by_prediction; models of older files by
   prediction. Columns are ranked before clamping, so that scores beyond the range of ratings keep their order. Equal
   scores are in order of columns; but if a model of uses knows nothing of columns for the row (scores of 0), the most
   used columns of the fit come first. Models of pairs of columns keep no rows: with W = NULL, `rows` are rows of
   `seen`, which has the rows' uses with their values. */
TAMIS_API tamis_status tamis_model_recommend(tamis_model *model, const tamis_dense *W, const int64_t *rows,
                                             int64_t count, const tamis_sparse *seen, int n, int64_t *columns,
                                             double *scores);

/* The same among candidates: columns with candidates[j] = false are not recommended, like the columns in `seen`.
   candidates has an element for each of the model's columns; NULL: all columns are candidates. */
TAMIS_API tamis_status tamis_model_recommend_among(tamis_model *model, const tamis_dense *W, const int64_t *rows,
                                                   int64_t count, const tamis_sparse *seen, const bool *candidates,
                                                   int n, int64_t *columns, double *scores);

/* The other way: for each of `count` columns (columns = NULL: 0 .. count - 1), finds the n rows of the fit with the
   largest predictions, without those that have the column in `seen` (NULL: none; seen.rows are the fit's). rows and
   scores have count * n entries, missing ones as in recommend. TAMIS_ERROR_UNSUPPORTED: the model stores no row
   factors. */
TAMIS_API tamis_status tamis_model_recommend_rows(tamis_model *model, const int64_t *columns, int64_t count,
                                                  const tamis_sparse *seen, int n, int64_t *rows, double *scores);

/* Tells why a column is recommended to a row: which of the row's entries make its score. known: one row, as for
   tamis_model_transform. The score of `column` is a sum over the entries, of als also over the mean and the column's
   bias; writes the columns of the n largest parts, in falling order, and the parts, missing ones as in recommend. For
   als and implicit-als the row has the factors that transform finds (Hu, Koren, Volinsky 2008, section
   5); for models of uses by pairs, the entries' weights. TAMIS_ERROR_UNSUPPORTED: the method has no such sum. */
TAMIS_API tamis_status tamis_model_explain(tamis_model *model, const tamis_sparse *known, int64_t column, int n,
                                           int64_t *columns, double *parts);

/* For each of `count` columns (of the fit's rows, if `rows`; indices in `which`, NULL: 0 .. count - 1), finds the n
   others with the largest cosines of factors, without biases, in falling order. Writes their indices and cosines: count
   * n entries each, missing ones as in recommend. Factors that are all zeros are similar to nothing. Equal cosines are
   in order of indices. For models of pairs of columns, finds the columns with the largest nonzero weights for a row
   that has only this column, and writes the weights. TAMIS_ERROR_UNSUPPORTED: the model stores no row factors. */
TAMIS_API tamis_status tamis_model_similar(tamis_model *model, bool rows, const int64_t *which, int64_t count, int n,
                                           int64_t *similar, double *cosines);

/* Finds the n columns with the largest weights in each factor, in falling order, and the weights (probabilities for
   topics, else values): factors * n entries each, missing ones as in recommend. A topic does not list words of weight
   0. */
TAMIS_API tamis_status tamis_model_topics(tamis_model *model, int n, int64_t *columns, double *weights);

/* Prediction quality on held-out entries. NaN where a number has no meaning for the method. */
typedef struct tamis_score {
    int64_t entries;       /* number of held-out entries used */
    int64_t rows;          /* number of rows with held-out entries */
    double rmse, mae;      /* ratings: root of the mean squared error, mean absolute error */
    double log_likelihood; /* counts: mean natural logarithm of a held-out word's probability, or of 1e-12 if that is
                              larger */
    double perplexity;     /* exp(-log_likelihood) */
    double precision, recall, ndcg; /* of the first `top` recommendations, mean over rows; held-out entries are relevant
                                       (see tamis_held_out.relevant); entries of `observed` are left out */
    double coherence; /* topics: mean NPMI of the first `top` words of a topic over the documents in `observed`; -1 for
                         words that never occur together; words in no document are left out */
    double bound_perplexity;   /* lda: exp(-b / words), b the variational lower bound of ln p(the documents' words,
                                  observed and held out), topics as distributions; scikit-learn's perplexity() */
    double unigram_perplexity; /* counts: that of the held-out words by the frequencies of words in the fit, each
                                  counted once more than it occurs; NaN for files of older versions */
    uint64_t reserved[6];
} tamis_score;

/* Scores a model. held_out is as in tamis_model_fit. fold_in: the rows are new, and their factors are computed from
   `observed` (for documents always). top: the number of recommendations or words, 10 if 0. */
TAMIS_API tamis_status tamis_model_score(tamis_model *model, const tamis_held_out *held_out, bool fold_in, int top,
                                         tamis_score *score);

/* The metric that a useful model must beat: for ratings the RMSE of the mean with biases of rows and columns alone,
   each damped as if it had ten more entries at the mean; for implicit-als the recall of the ten most popular columns
   that a row does not have; for documents the perplexity by the frequencies of words, each counted once more than it
   occurs. NaN if there are no entries. trained and held_out are valid host matrices of the same size (for documents
   with the same columns), with fp32 or fp64 values, or without values, which then are ones. */
TAMIS_API tamis_status tamis_baseline(tamis_method method, const tamis_sparse *trained, const tamis_sparse *held_out,
                                      double *metric);

/* Returns the name of that baseline: "means and biases", "the most popular", or "frequencies of words". */
TAMIS_API const char *tamis_baseline_name(tamis_method method);

/* ---------------------------------------------------------------------------------------------- looking inside */

/* Describes a model and its progress. */
typedef struct tamis_model_description {
    tamis_model_options options; /* strings and the callback are NULL */
    int64_t rows, cols, nnz;     /* of the data; rows is 0 if no row factors are kept (lda, sfa, streams) */
    int64_t width; /* numbers per row or column: factors, plus one with biases; for models of pairs of columns: the
                      number of columns, per row */
    int iterations_done;
    double loss, metric;      /* of the last iteration; NaN if there is none */
    double mean, least, most; /* of the fitted values */
    double scale; /* als, ccd, sfa predict mean + scale * (product of factors, and biases): the ratings' deviation */
    double regularization; /* lambda of the last iteration: the option, or estimated from the noise */
    double choice_seconds; /* time of choosing options by an inner split; not saved. The choices are in `options` */
    bool biases_alone; /* ccd, sfa: the inner split found no factors that predict better than biases, so they are 0 */
    bool reserved_flags[7];
    int64_t featured_rows, featured_columns; /* without entries, to which the last fit gave factors from their features;
                                                -1: it had features, which tell nothing. Not saved */
    uint64_t reserved[2];
} tamis_model_description;

/* Describes a model. */
TAMIS_API tamis_status tamis_model_describe(const tamis_model *model, tamis_model_description *description);

/* Copies the factors, rows x width or cols x width, in the model's type. The caller must free them. With biases the
   last column is the bias: a rating is mean + scale * (product of the other columns + both biases), see the
   description. For lda they are the words' weights; the column sums over words are the topics' masses. */
TAMIS_API tamis_status tamis_model_row_factors(tamis_model *model, tamis_owned_dense **factors);
TAMIS_API tamis_status tamis_model_column_factors(tamis_model *model, tamis_owned_dense **factors);

/* For a loaded model: takes the fields of `options` that do not change what is fitted: iterations (if no more than are
   done, a fit does nothing), tolerance, skip_loss, elbo, threads, algorithms, checkpoint, checkpoint_seconds and the
   callback. */
TAMIS_API tamis_status tamis_model_continue_with(tamis_model *model, const tamis_model_options *options);

/* Sets names of rows and columns (users, items, words), which are copied and saved with the model; NULL: none. After
   tamis_model_renew they must name the new data's rows and columns. */
TAMIS_API tamis_status tamis_model_set_names(tamis_model *model, const tamis_names *rows, const tamis_names *columns);

/* Gives topics words to begin with (lda-gibbs), before the first fit: column j is a seed of topic topics[j], or of none
   for -1. `count` is the number of columns, which the fit compares; the array is copied. NULL: no seeds.
   TAMIS_ERROR_UNSUPPORTED: other methods. */
TAMIS_API tamis_status tamis_model_set_seeds(tamis_model *model, const int64_t *topics, int64_t count);

/* Return the names that the model owns, or NULL. */
TAMIS_API const tamis_names *tamis_model_row_names(const tamis_model *model);
TAMIS_API const tamis_names *tamis_model_column_names(const tamis_model *model);

/* ---------------------------------------------------------------------------------------------- files */

/* Writes everything that prediction and further training need, with a version and a checksum. It writes a temporary
   file and renames it, so a full disk leaves an existing file unchanged. */
TAMIS_API tamis_status tamis_model_save(const tamis_model *model, const char *path);

/* Reads a model onto a device. TAMIS_ERROR_FORMAT: the file is damaged (the message says how), or of a later version
   (it says which). The caller must free *model. */
TAMIS_API tamis_status tamis_model_load(tamis_device *device, const char *path, tamis_model **model);

#ifdef __cplusplus
}
#endif

#endif
