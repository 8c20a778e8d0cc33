/*
 * Prediction quality on held-out entries.
 *
 * Errors of ratings use clamped predictions. The probability of a word is its prediction divided by the sum of the
 * row's predictions (which is 1 for lda, and turns the rates of gap into probabilities), and at least 1e-12: a word
 * that the model considers impossible costs 27.6 nats, not infinitely many. The relevant columns of a row are its
 * held-out ratings or, if values are counts, its held-out entries above zero; with held_out.relevant, in either case
 * only entries of at least that value. Rows without relevant columns are left out. Precision divides by `top`, recall
 * by the number of relevant columns, ndcg by the best value that this number of relevant columns can reach.
 *
 * lda has a second perplexity, of whole documents by the variational bound, which other libraries print. The perplexity
 * of held-out words is smaller, since a bound also counts the entropy of documents and topics.
 */
#include "ml/fit/score.h"

#include <math.h>
#include <string.h>

#include "base/scope.h"
#include "base/sizes.h"
#include "ml/data/canonical.h"
#include "ml/data/rows.h"
#include "ml/factors.h"
#include "ml/methods/method.h"
#include "ml/model.h"
#include "ml/numbers.h"
#include "ml/serve/chance.h"
#include "ml/serve/operands.h"
#include "ml/serve/predict.h"
#include "ml/serve/rank.h"
#include "ml/serve/topics.h"
#include "ml/serve/unigram.h"

static const double least_probability = 1e-12;
enum { TOP = 10 };

/* State of scoring: the model, its input and temporaries. */
typedef struct scoring {
    tamis_model *model;
    const tamis_sparse *entries, *observed; /* canonical; observed may be NULL */
    double relevant;                        /* entries of at least this value are relevant; -infinity: all */
    tamis_sparse own_entries, own_observed;
    tamis_dense W;
    int64_t ranked;       /* rows with relevant entries, found by score_ranking */
    ml_operands operands; /* A has a line for each row of the entries */
} scoring;

/* ------------------------------------------------------------------------------------------ making ready */

static tamis_status check(const tamis_model *model, const tamis_held_out *held_out, bool fold_in) {
    if (!held_out) return tamis_fail(TAMIS_ERROR_ARGUMENT, "held_out is NULL");
    if (!held_out->entries) return tamis_fail(TAMIS_ERROR_ARGUMENT, "held_out.entries is NULL");
    if (held_out->threshold && model->method->about.ordered)
        return tamis_fail(TAMIS_ERROR_ARGUMENT,
                          "held_out.threshold: values of %s are positions, and all held-out entries are relevant",
                          model->method->about.name);
    if (held_out->threshold && isnan(held_out->relevant))
        return tamis_fail(TAMIS_ERROR_ARGUMENT, "held_out.relevant = nan, expected a number");
    TRY(ml_check_cols(model, "held_out.entries", held_out->entries->cols));
    if (held_out->observed) TRY(ml_check_cols(model, "held_out.observed", held_out->observed->cols));
    if (fold_in && !held_out->observed)
        return tamis_fail(TAMIS_ERROR_ARGUMENT,
                          "held_out.observed is NULL, but the rows' factors (%s) are computed from it",
                          model->method->about.name);
    if (held_out->observed && held_out->observed->rows != held_out->entries->rows)
        return tamis_fail(TAMIS_ERROR_ARGUMENT, "held_out.observed.rows = %lld, but held_out.entries.rows = %lld",
                          (long long)held_out->observed->rows, (long long)held_out->entries->rows);
    if (!fold_in && held_out->entries->rows != model->row_factors.rows)
        return tamis_fail(TAMIS_ERROR_ARGUMENT, "held_out.entries.rows = %lld, but the model has %lld rows",
                          (long long)held_out->entries->rows, (long long)model->row_factors.rows);
    return TAMIS_OK;
}

/* Returns true if rows are folded in: as asked, for all documents, and for models that keep no row factors. */
static bool folds_in(const tamis_model *model, bool asked) {
    return asked || model->method->about.data == TAMIS_DATA_COUNTS || model->row_factors.cols == 0;
}

static tamis_status make(scoring *s, const tamis_held_out *held_out, bool fold_in, bool need_observed) {
    tamis_model *const model = s->model;
    TRY(check(model, held_out, fold_in));
    s->relevant = held_out->threshold ? held_out->relevant : -INFINITY;
    TRY(ml_canonical(model, held_out->entries, "held_out.entries", &s->own_entries));
    s->entries = &s->own_entries;
    if (held_out->observed && (fold_in || need_observed)) {
        TRY(ml_canonical(model, held_out->observed, "held_out.observed", &s->own_observed));
        s->observed = &s->own_observed;
    }
    if (model->method->about.pairs) return TAMIS_OK; /* all scores of all rows may not fit in memory */
    if (fold_in) TRY(ml_transform(model, s->observed, "held_out.observed", &s->W));
    return model->method->operands(model, fold_in ? &s->W : NULL, &s->operands);
}

/* ------------------------------------------------------------------------------------------ entries */

static tamis_status predict(const scoring *s, double *predictions) {
    if (s->model->method->about.pairs) return ml_predict_rows(s->model, s->observed, s->entries, predictions);
    return ml_predict(s->model, &s->operands, s->entries, predictions);
}

static void score_ratings(const tamis_sparse *S, const double *predictions, tamis_score *score) {
    double squares = 0, sizes = 0;
    for (int64_t t = 0; t < S->nnz; t++) {
        const double error = predictions[t] - ml_value(S, t);
        squares += error * error;
        sizes += fabs(error);
    }
    score->rmse = sqrt(squares / (double)S->nnz);
    score->mae = sizes / (double)S->nnz;
}

static tamis_status score_counts(const scoring *s, const double *predictions, tamis_score *score) {
    const tamis_sparse *const S = s->entries;
    const tamis_dense *const A = &s->operands.A.host, *const B = &s->operands.B.host; /* of counts they are there */
    const int64_t *const offsets = S->offsets;
    const double everywhere = s->operands.offset * (double)S->cols;
    double *total, sum = 0, weights = 0;
    TAMIS_SCOPE;
    TRY(tamis_allocate_array(B->cols, "sums of columns", total));
    ml_column_sums(B, total); /* a row's product with them is the sum over all columns */
    for (int64_t i = 0; i < S->rows; i++) {
        double all = everywhere;
        for (int64_t k = 0; k < A->cols; k++) all += ml_element(A, i, k) * total[k];
        for (int64_t t = offsets[i]; t < offsets[i + 1]; t++) {
            const double probability = all == 0 ? 0 : predictions[t] / all, count = ml_value(S, t);
            if (count == 0) continue;
            sum += count * log(probability < least_probability ? least_probability : probability);
            weights += count;
        }
    }
    score->log_likelihood = weights > 0 ? sum / weights : NAN;
    score->perplexity = exp(-score->log_likelihood);
    return TAMIS_OK;
}

static tamis_status score_entries(const scoring *s, tamis_score *score) {
    const tamis_method_data kind = s->model->method->about.data;
    if (kind == TAMIS_DATA_USES || s->model->method->about.no_perplexity || s->entries->nnz == 0) return TAMIS_OK;
    double *predictions;
    TAMIS_SCOPE;
    TRY(tamis_allocate_array(s->entries->nnz, "predictions", predictions));
    TRY(predict(s, predictions));
    if (kind == TAMIS_DATA_RATINGS) score_ratings(s->entries, predictions, score);
    return kind == TAMIS_DATA_COUNTS ? score_counts(s, predictions, score) : TAMIS_OK;
}

/* ------------------------------------------------------------------------------------------ recommendations */

static bool is_relevant(const scoring *s, int64_t t) {
    const double value = ml_value(s->entries, t);
    return value >= s->relevant && (s->model->method->about.data == TAMIS_DATA_RATINGS || value > 0);
}

static int64_t relevant_in(const scoring *s, int64_t row) {
    const int64_t *const offsets = s->entries->offsets;
    int64_t relevant = 0;
    for (int64_t t = offsets[row]; t < offsets[row + 1]; t++) relevant += is_relevant(s, t);
    return relevant;
}

static void add_row(const scoring *s, int64_t row, int64_t relevant, int top, const int64_t *columns,
                    tamis_score *score) {
    int64_t hits = 0;
    double gain = 0, best = 0;
    for (int i = 0; i < top; i++) {
        const double worth = 1 / log2((double)i + 2);
        if (i < relevant) best += worth;
        const int64_t at = columns[i] < 0 ? -1 : ml_entry_at(s->entries, row, columns[i]);
        if (at < 0 || !is_relevant(s, at)) continue;
        hits++;
        gain += worth;
    }
    score->precision += (double)hits / top;
    score->recall += (double)hits / (double)relevant;
    score->ndcg += gain / best;
}

static tamis_status score_rows(const scoring *s, const int64_t *rows, int64_t count, int top, tamis_score *score) {
    int64_t entries, *columns;
    double *scores;
    ml_operands part = s->operands;
    TAMIS_SCOPE;
    if (__builtin_mul_overflow(count, (int64_t)top, &entries))
        return tamis_fail(TAMIS_ERROR_OVERFLOW, "top = %d recommendations of %lld rows are too many", top,
                          (long long)count);
    TRY(tamis_allocate_array(entries, "recommendations", columns));
    TRY(tamis_allocate_array(entries, "recommendations", scores));
    if (s->model->method->about.pairs) {
        TRY(tamis_model_recommend(s->model, NULL, rows, count, s->observed, top, columns, scores));
    } else {
        part.A = (ml_operand){0};
        TRY(ml_chance_terms(s->model, &part));
        TRY(ml_gather_rows(s->model, &s->operands.A.host, rows, count, &part.A.host));
        TRY(ml_rank(s->model, &part, rows, s->observed, NULL, top, columns, scores));
    }
    score->precision = score->recall = score->ndcg = 0;
    for (int64_t i = 0; i < count; i++) add_row(s, rows[i], relevant_in(s, rows[i]), top, columns + i * top, score);
    score->precision /= (double)count;
    score->recall /= (double)count;
    score->ndcg /= (double)count;
    return TAMIS_OK;
}

static tamis_status score_ranking(scoring *s, int top, tamis_score *score) {
    int64_t *rows, count = 0;
    if (!s->model->method->about.pairs) TRY(ml_operand_fetch(s->model, &s->operands.A));
    TAMIS_SCOPE;
    TRY(tamis_allocate_array(s->entries->rows, "rows with held-out entries", rows));
    for (int64_t i = 0; i < s->entries->rows; i++)
        if (relevant_in(s, i) > 0) rows[count++] = i;
    s->ranked = count;
    return count > 0 ? score_rows(s, rows, count, top, score) : TAMIS_OK;
}

/* ------------------------------------------------------------------------------------------ topics */

static tamis_status score_topics(const scoring *s, int top, tamis_score *score) {
    if (s->model->method->about.data != TAMIS_DATA_COUNTS) return TAMIS_OK;
    const int64_t topics = s->model->options.factors;
    int64_t *columns;
    double *weights;
    TAMIS_SCOPE;
    TRY(tamis_allocate_array(tamis_times(topics, top), "words of topics", columns));
    TRY(tamis_allocate_array(tamis_times(topics, top), "words of topics", weights));
    TRY(ml_topics(s->model, top, columns, weights));
    return ml_coherence(s->observed, columns, topics, top, &score->coherence);
}

/* Scores the documents' words, observed and held out, as one COO matrix; the model sums duplicates. */
static tamis_status score_bound(const scoring *s, tamis_score *score) {
    const tamis_sparse *const parts[] = {s->entries, s->observed};
    const ml_method *const method = s->model->method;
    if (!method->bound || s->model->options.maximum_a_posteriori || !s->observed) return TAMIS_OK;
    const int64_t nnz = s->entries->nnz + s->observed->nnz;
    tamis_sparse whole;
    int64_t *rows, *columns, at = 0;
    double *values, per_word;
    tamis_model use;
    TAMIS_SCOPE;
    TRY(ml_use_begin(s->model, &use));
    TRY(tamis_allocate_array(nnz, "words of documents", rows));
    TRY(tamis_allocate_array(nnz, "words of documents", columns));
    TRY(tamis_allocate_array(nnz, "words of documents", values));
    for (int p = 0; p < 2; p++)
        for (int64_t i = 0; i < parts[p]->rows; i++)
            for (int64_t t = ml_offset(parts[p], i); t < ml_offset(parts[p], i + 1); t++, at++) {
                rows[at] = i;
                columns[at] = ml_column(parts[p], t);
                values[at] = ml_value(parts[p], t);
            }
    const tamis_sparse S = {.format = TAMIS_COO,
                            .rows = s->entries->rows,
                            .cols = s->entries->cols,
                            .nnz = nnz,
                            .index_type = TAMIS_I64,
                            .value_type = TAMIS_F64,
                            .row_indices = rows,
                            .columns = columns,
                            .values = values};
    TRY(ml_model_workspace(&use));
    TRY(ml_canonical(s->model, &S, "held_out", &whole));
    TRY(method->bound(&use, &whole, &per_word));
    score->bound_perplexity = exp(-per_word);
    return TAMIS_OK;
}

/* ------------------------------------------------------------------------------------------ the calls */

static int64_t rows_with_entries(const tamis_sparse *S) {
    const int64_t *const offsets = S->offsets;
    int64_t rows = 0;
    for (int64_t i = 0; i < S->rows; i++) rows += offsets[i + 1] > offsets[i];
    return rows;
}

static tamis_score nothing(void) {
    return (tamis_score){.rmse = NAN,
                         .mae = NAN,
                         .log_likelihood = NAN,
                         .perplexity = NAN,
                         .precision = NAN,
                         .recall = NAN,
                         .ndcg = NAN,
                         .coherence = NAN,
                         .bound_perplexity = NAN,
                         .unigram_perplexity = NAN};
}

tamis_status tamis_model_score(tamis_model *model, const tamis_held_out *held_out, bool fold_in, int top,
                               tamis_score *score) {
    tamis_clear_error();
    TRY(ml_check_fitted(model));
    if (!score) return tamis_fail(TAMIS_ERROR_ARGUMENT, "score is NULL");
    if (top < 0) return tamis_fail(TAMIS_ERROR_ARGUMENT, "top = %d is negative", top);
    if (top == 0) top = TOP;
    if (model->cols > 0 && top > model->cols) top = (int)model->cols;
    scoring s = {.model = model};
    tamis_score made = nothing();
    TAMIS_SCOPE;
    TRY(make(&s, held_out, folds_in(model, fold_in), true));
    made.entries = s.entries->nnz;
    made.rows = rows_with_entries(s.entries);
    TRY(score_entries(&s, &made));
    TRY(score_ranking(&s, top, &made));
    TRY(score_topics(&s, top, &made));
    TRY(score_bound(&s, &made));
    TRY(ml_unigram_score(model, s.entries, &made.unigram_perplexity));
    *score = made;
    return TAMIS_OK;
}

tamis_status ml_metric(tamis_model *model, const tamis_held_out *held_out, double *metric, double *weight) {
    const tamis_method_data kind = model->method->about.data;
    scoring s = {.model = model};
    tamis_score made = nothing();
    TAMIS_SCOPE;
    TRY(make(&s, held_out, folds_in(model, false), kind == TAMIS_DATA_USES));
    TRY(kind == TAMIS_DATA_USES ? score_ranking(&s, TOP, &made) : score_entries(&s, &made));
    *metric = kind == TAMIS_DATA_RATINGS ? made.rmse : kind == TAMIS_DATA_COUNTS ? made.perplexity : made.recall;
    *weight = kind == TAMIS_DATA_USES ? (double)s.ranked : (double)s.entries->nnz;
    return TAMIS_OK;
}

tamis_status ml_square_errors(tamis_model *model, const tamis_held_out *held_out, double *squares) {
    scoring s = {.model = model};
    TAMIS_SCOPE;
    TRY(make(&s, held_out, folds_in(model, false), false));
    TRY(predict(&s, squares));
    for (int64_t t = 0; t < s.entries->nnz; t++) squares[t] = pow(squares[t] - ml_value(s.entries, t), 2);
    return TAMIS_OK;
}
