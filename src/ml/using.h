/* What the files that use a fitted model share: checks, and the steps behind the public calls. None of these functions
 * clears the thread's message. */
#ifndef TAMIS_ML_USING_H
#define TAMIS_ML_USING_H

#include "ml/model.h"

/* predict.c: model is there and was fitted. */
tamis_status ml_check_fitted(const tamis_model *model);
/* predict.c: W as tamis_model_transform gives it, on the host, or NULL: the model's own rows. *rows: how many. */
tamis_status ml_check_rows(const tamis_model *model, const tamis_dense *W, int64_t *rows);
/* predict.c: those lines of W, or of the model's own factors where W is NULL, packed and in that order; rows = NULL:
   the first `count`. Both have been checked. */
tamis_status ml_gather_rows(const tamis_model *model, const tamis_dense *W, const int64_t *rows, int64_t count,
                            tamis_owned_dense **gathered);
/* predict.c: the same number of columns as the model; `what` names the matrix. */
tamis_status ml_check_cols(const tamis_model *model, const char *what, int64_t cols);

/* predict.c: tamis_model_transform into a packed array of its own, the caller's. */
tamis_status ml_transform(tamis_model *model, const tamis_sparse *S, const char *what, tamis_owned_dense **W);
/* predict.c: predictions at the places of a valid S on the host, of which A has a line each row. */
tamis_status ml_predict(tamis_model *model, const ml_operands *operands, const tamis_sparse *S, double *predictions);
/* clamp(offset + scale dot, least, most); NaN stays NaN. */
static inline double ml_expectation(const ml_operands *operands, double dot) {
    const double value = operands->offset + operands->scale * dot;
    return value < operands->least ? operands->least : value > operands->most ? operands->most : value;
}

/* recommend.c: the n best columns of each line of A, which is on the host, and of which line i is row rows[i] of `seen`
   (NULL: row i). Arguments have been checked, but not the arrays of `seen`. */
tamis_status ml_recommend(tamis_model *model, const ml_operands *operands, const int64_t *rows,
                          const tamis_sparse *seen, int n, int64_t *columns, double *scores);
/* scan.c: `best` (empty) of the products of one packed row with the packed lines of B, all on the host, without the
   columns in `seen`, which are sorted. `best` is a heap then. */
struct ml_best;
tamis_status ml_scan(const void *row, const tamis_dense *B, const int64_t *seen, int64_t seen_count, int threads,
                     struct ml_best *best);
/* seen.c: the columns of those rows of `seen`, sorted, as CSR of `count` rows with int64 offsets and columns. `seen` is
   checked as far as it is read. */
tamis_status ml_seen(const tamis_sparse *seen, const int64_t *rows, int64_t count, tamis_owned_sparse **sorted);

/* topics.c: as tamis_model_topics. */
tamis_status ml_topics(tamis_model *model, int n, int64_t *columns, double *weights);
/* coherence.c: the mean over topics of the mean NPMI of pairs of their words, `words` of `top` columns a topic, -1 for
   none, over the rows of a canonical `documents`. NaN where no pair can be judged. */
tamis_status ml_coherence(const tamis_sparse *documents, const int64_t *words, int64_t topics, int top,
                          double *coherence);

#endif
