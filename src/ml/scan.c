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

#include "base/memory.h"
#include "base/status.h"
#include "base/threads.h"
#include "ml/best.h"
#include "ml/numbers.h"
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

/* Once for each generation of processors, chosen when the library is loaded; sanitizers begin after that. */
#if defined(__x86_64__) && defined(__ELF__) && !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__) &&      \
    !defined(__clang__)
#define FOR_EACH_PROCESSOR __attribute__((target_clones("arch=skylake-avx512", "arch=haswell", "default")))
#else
#define FOR_EACH_PROCESSOR
#endif

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

FOR_EACH_PROCESSOR static void scan_part(scan *s, int part) {
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

tamis_status ml_scan_directions(const void *unit, const tamis_dense *B, int64_t length, int64_t left_out, int threads,
                                ml_best *best) {
    scan s = {.B = B, .row = unit, .length = length, .cosine = true, .seen = &left_out, .seen_count = 1};
    return run(&s, threads, best);
}
