/*
 * The best columns of one row on the CPU, for services: one pass over all columns' factors, at the speed of memory.
 * Each thread has a range of columns and its own heap; the heaps are merged at the end. (A product for a block of rows,
 * as in recommend.c, would use only one number of each of its vectors.)
 *
 * A dot product is computed as LANES sums, the same ones for any number of threads, so that a score does not depend on
 * that number.
 */
#include "ml/scan.h"

#include <math.h>

#include "base/threads.h"
#include "ml/best.h"
#include "ml/model.h"
#include "ml/numbers.h"
#include "ml/place.h"
#include "ml/predict.h"
#include "sparse/index.h"

enum { LANES = 8, PARTS_MOST = 64, BEST_MOST = 1024 };

typedef struct scan {
    const tamis_dense *B;
    const void *row;
    int64_t length; /* of the row: what is behind it in a line is left out */
    bool cosine;
    const int64_t *seen; /* sorted columns that are left out */
    int64_t seen_count;
    const bool *allowed; /* columns, or NULL: all */
    int n, parts;
    int64_t *columns; /* n of each part */
    double *scores;
    int kept[PARTS_MOST];
} scan;

/* Vectors of any alignment; gcc and clang make them of those that the processor has. */
typedef float singles __attribute__((vector_size(LANES * sizeof(float)), aligned(sizeof(float)), may_alias));
typedef double doubles __attribute__((vector_size(LANES * sizeof(double)), aligned(sizeof(double)), may_alias));

#define SUM_OF(lanes)                                                                                                  \
    ((((lanes)[0] + (lanes)[4]) + ((lanes)[1] + (lanes)[5])) + (((lanes)[2] + (lanes)[6]) + ((lanes)[3] + (lanes)[7])))

/* Returns <a, b>, and *square = <b, b> if it is requested: in line, so that it costs nothing if it is not. */
#define DOT(name, number, vector)                                                                                      \
    static inline __attribute__((always_inline)) double name(const number *a, const number *b, int64_t n,              \
                                                             double *square) {                                         \
        vector sums = {0}, squares = {0};                                                                              \
        number rest = 0, rest_squares = 0;                                                                             \
        int64_t k = 0;                                                                                                 \
        for (; k + LANES <= n; k += LANES) {                                                                           \
            const vector y = *(const vector *)(b + k);                                                                 \
            sums += *(const vector *)(a + k) * y;                                                                      \
            if (square) squares += y * y;                                                                              \
        }                                                                                                              \
        for (; k < n; k++) {                                                                                           \
            rest += a[k] * b[k];                                                                                       \
            rest_squares += b[k] * b[k];                                                                               \
        }                                                                                                              \
        if (square) *square = (double)(rest_squares + SUM_OF(squares));                                                \
        return (double)(rest + SUM_OF(sums));                                                                          \
    }
DOT(dot_single, float, singles)
DOT(dot_double, double, doubles)

static inline __attribute__((always_inline)) double dot_at(const scan *s, int64_t j, double *square) {
    const int64_t at = j * s->B->cols;
    if (s->B->type == TAMIS_F64) return dot_double(s->row, (const double *)s->B->data + at, s->length, square);
    return dot_single(s->row, (const float *)s->B->data + at, s->length, square);
}

/* Returns the cosine times its size, which has the same order and takes no root; for zeros what no heap keeps. */
static double direction_at(const scan *s, int64_t j) {
    double square;
    const double dot = dot_at(s, j, &square);
    return square > 0 ? dot * fabs(dot) / square : (double)NAN;
}

static void scan_part(scan *s, int part) {
    const int64_t begin = s->B->rows * part / s->parts, end = s->B->rows * (part + 1) / s->parts;
    ml_best best = {
        .columns = s->columns + (int64_t)part * s->n, .scores = s->scores + (int64_t)part * s->n, .n = s->n};
    int64_t skip = tamis_index_first(s->seen, TAMIS_I64, 0, s->seen_count, begin);
    for (int64_t j = begin; j < end; j++) {
        if (skip < s->seen_count && s->seen[skip] == j) {
            while (skip < s->seen_count && s->seen[skip] == j) skip++;
            continue;
        }
        if (s->allowed && !s->allowed[j]) continue;
        const double score = s->cosine ? direction_at(s, j) : dot_at(s, j, NULL);
        if (best.kept < best.n || score > best.scores[0]) ml_best_offer(&best, j, score);
    }
    s->kept[part] = best.kept;
}

static void body_scan(void *context, int thread, int threads) {
    scan *const s = context;
    for (int part = thread; part < s->parts; part += threads) scan_part(s, part);
}

/* Merges all parts in rising order of columns, as a heap needs them: each part is sorted, and parts follow one another.
 */
static void merge(const scan *s, ml_best *best) {
    for (int part = 0; part < s->parts; part++) {
        int64_t *const columns = s->columns + (int64_t)part * s->n;
        double *const scores = s->scores + (int64_t)part * s->n;
        ml_best own = {.columns = columns, .scores = scores, .n = s->n, .kept = s->kept[part]};
        for (int i = 1; i < own.kept; i++)
            for (int j = i; j > 0 && columns[j - 1] > columns[j]; j--) ml_best_swap(&own, j - 1, j);
        for (int i = 0; i < own.kept; i++) ml_best_offer(best, columns[i], scores[i]);
    }
}

/* `best` is empty. Of many best ones there is one part: sorting them costs more than threads bring. */
static tamis_status run(scan *s, int threads, ml_best *best) {
    s->n = best->n;
    s->parts = threads < 1 || best->n > BEST_MOST ? 1 : threads > PARTS_MOST ? PARTS_MOST : threads;
    if (s->B->rows * s->B->cols < 1 << 15) s->parts = 1; /* sooner done than shared out */
    s->columns = best->columns;
    s->scores = best->scores;
    if (s->parts == 1) {
        scan_part(s, 0);
        best->kept = s->kept[0];
        return TAMIS_OK;
    }
    tamis_status status;
    s->scores = NULL;
    TRY(tamis_allocate((int64_t)s->parts * s->n, sizeof *s->columns, "the best columns", (void **)&s->columns));
    TRY_GOTO(done,
             tamis_allocate((int64_t)s->parts * s->n, sizeof *s->scores, "the best columns", (void **)&s->scores));
    tamis_threads_run(s->parts, body_scan, s);
    merge(s, best);
done:
    tamis_release(s->columns);
    tamis_release(s->scores);
    return status;
}

tamis_status ml_scan(const void *row, const tamis_dense *B, const int64_t *seen, int64_t seen_count,
                     const bool *allowed, int threads, ml_best *best) {
    scan s = {.B = B, .row = row, .length = B->cols, .seen = seen, .seen_count = seen_count, .allowed = allowed};
    return run(&s, threads, best);
}

/* ------------------------------------------------------------------------------------------ what is alike */

/* Sets unit to X_at, without what is behind its features, over its length. Returns false if that is 0. */
static bool find_direction(const tamis_dense *X, int64_t at, int64_t length, void *unit) {
    double square = 0;
    for (int64_t k = 0; k < length; k++) square += ml_element(X, at, k) * ml_element(X, at, k);
    for (int64_t k = 0; k < length; k++) ml_put_number(unit, X->type, k, ml_element(X, at, k) / sqrt(square));
    return square > 0;
}

static void list_similar(const tamis_model *model, const tamis_dense *X, const int64_t *which, int64_t count, int n,
                         int64_t *similar, double *weights) {
    for (int64_t i = 0; i < count; i++) {
        ml_best best = {.columns = similar + i * n, .scores = weights + i * n, .n = n};
        model->method->similar(X, which ? which[i] : i, &best);
        for (int k = best.kept; k < n; k++) best.columns[k] = -1, best.scores[k] = NAN;
    }
}

static tamis_status find_similar(const tamis_model *model, const tamis_dense *X, const int64_t *which, int64_t count,
                                 int n, int64_t *similar, double *cosines) {
    const int64_t length = model->options.factors;
    tamis_device_description description;
    TRY(tamis_device_describe(model->device, &description));
    const int threads = model->options.threads > 0      ? model->options.threads
                        : model->location == TAMIS_HOST ? description.threads
                                                        : 0;
    void *unit;
    TRY(tamis_allocate(length, tamis_type_size(X->type), "a direction", &unit));
    tamis_status status = TAMIS_OK;
    for (int64_t i = 0; i < count && status == TAMIS_OK; i++) {
        const int64_t at = which ? which[i] : i;
        ml_best best = {.columns = similar + i * n, .scores = cosines + i * n, .n = n};
        scan s = {.B = X, .row = unit, .length = length, .cosine = true, .seen = &at, .seen_count = 1};
        if (find_direction(X, at, length, unit)) status = run(&s, threads, &best);
        ml_best_finish(&best);
        for (int k = 0; k < best.kept; k++) best.scores[k] = copysign(sqrt(fabs(best.scores[k])), best.scores[k]);
    }
    tamis_release(unit);
    return status;
}

tamis_status tamis_model_similar(tamis_model *model, bool rows, const int64_t *which, int64_t count, int n,
                                 int64_t *similar, double *cosines) {
    tamis_clear_error();
    TRY(ml_check_fitted(model));
    const tamis_dense *X = rows ? &model->row_factors : &model->column_factors;
    if (X->cols == 0 || (rows && X->rows != model->rows))
        return tamis_fail(TAMIS_ERROR_UNSUPPORTED, "%s stores no row factors", model->method->about.name);
    if (count < 0 || n < 0)
        return tamis_fail(TAMIS_ERROR_ARGUMENT, "%s = %lld is negative", count < 0 ? "count" : "n",
                          count < 0 ? (long long)count : n);
    for (int64_t i = 0; i < count; i++)
        if ((which ? which[i] : i) < 0 || (which ? which[i] : i) >= X->rows)
            return tamis_fail(TAMIS_ERROR_ARGUMENT, "which[%lld] = %lld, the model has %lld %s", (long long)i,
                              (long long)(which ? which[i] : i), (long long)X->rows, rows ? "rows" : "columns");
    if (count == 0 || n == 0) return TAMIS_OK;
    if (!similar || !cosines) return tamis_fail(TAMIS_ERROR_ARGUMENT, "%s is NULL", similar ? "cosines" : "similar");
    tamis_owned_dense *fetched = NULL;
    if (X->location != TAMIS_HOST) TRY(ml_dense_fetch(model, X, &fetched));
    const tamis_dense *const here = fetched ? tamis_owned_dense_view(fetched) : X;
    tamis_status status = TAMIS_OK;
    if (model->method->similar)
        list_similar(model, here, which, count, n, similar, cosines);
    else
        status = find_similar(model, here, which, count, n, similar, cosines);
    tamis_owned_dense_free(fetched);
    return status;
}
