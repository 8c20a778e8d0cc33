/*
 * The best columns of one row on the CPU, for services: one pass over all columns' factors, at the speed of memory.
 * Each thread has a range of columns and its own heap; the heaps are merged at the end. A range is cut into tiles,
 * whose products stay in L1 until they are scanned. A product does not depend on where tiles and ranges begin.
 */
#include "ml/serve/scan.h"

#include <math.h>

#include "base/scope.h"
#include "base/sizes.h"
#include "base/status.h"
#include "base/threads.h"
#include "ml/numbers.h"

enum {
    PARTS_MOST = 64,
    BEST_MOST = 1024,
    TILE_MOST = 1024,     /* columns */
    TILE_WORTH = 1 << 17, /* multiply-adds of a tile: few enough that the product is not split over threads again */
    LINE = 16             /* scores compared at once */
};

typedef struct parts {
    const ml_scan *scan;
    int n, count;
    int64_t *columns; /* n of each part */
    double *scores;
    int kept[PARTS_MOST];
    tamis_status status[PARTS_MOST];
} parts;

static bool any_above(const float *scores, float threshold) {
    int any = 0;
    for (int i = 0; i < LINE; i++) any |= scores[i] > threshold;
    return any;
}

static bool any_above_double(const double *scores, double threshold) {
    int any = 0;
    for (int i = 0; i < LINE; i++) any |= scores[i] > threshold;
    return any;
}

/* Computes the scores of columns first to first + Y->rows - 1; NaN for excluded columns. skip: position in `seen`. */
static tamis_status score_tile(const ml_scan *scan, int64_t first, const tamis_dense *Y, int64_t *skip) {
    const int64_t count = Y->rows;
    tamis_dense X = *scan->B;
    X.data = (char *)X.data + (size_t)ml_place_of(&X, first, 0) * tamis_type_size(X.type);
    X.rows = count;
    const tamis_dense G = {
        .data = (void *)(uintptr_t)scan->row, .rows = X.cols, .cols = 1, .stride = 1, .type = X.type};
    TRY(tamis_dense_multiply(scan->device, NULL, 1, &X, &G, 0, Y));
    if (scan->scales && X.type == TAMIS_F64)
        for (int64_t j = 0; j < count; j++) ((double *)Y->data)[j] *= ((const double *)scan->scales)[first + j];
    else if (scan->scales)
        for (int64_t j = 0; j < count; j++) ((float *)Y->data)[j] *= ((const float *)scan->scales)[first + j];
    if (scan->terms && X.type == TAMIS_F64)
        for (int64_t j = 0; j < count; j++) ((double *)Y->data)[j] += ((const double *)scan->terms)[first + j];
    else if (scan->terms)
        for (int64_t j = 0; j < count; j++) ((float *)Y->data)[j] += ((const float *)scan->terms)[first + j];
    for (; *skip < scan->seen_count && scan->seen[*skip] < first + count; ++*skip)
        ml_put_element(Y, scan->seen[*skip] - first, 0, NAN);
    return TAMIS_OK;
}

static void offer(const ml_scan *scan, const tamis_dense *Y, int64_t first, int64_t begin, int64_t end, ml_best *best) {
    for (int64_t j = begin; j < end; j++)
        if (!scan->allowed || scan->allowed[first + j]) ml_best_offer(best, first + j, ml_element(Y, j, 0));
}

/* Offers the scores of a tile. Once n are kept, a score must exceed their minimum; a vector comparison skips whole
   lines without one. */
static void select_tile(const ml_scan *scan, const tamis_dense *Y, int64_t first, ml_best *best) {
    int64_t j = 0;
    for (; j + LINE <= Y->rows; j += LINE) {
        const bool look = best->kept < best->n   ? true
                          : Y->type == TAMIS_F64 ? any_above_double((const double *)Y->data + j, best->scores[0])
                                                 : any_above((const float *)Y->data + j, (float)best->scores[0]);
        if (look) offer(scan, Y, first, j, j + LINE, best);
    }
    offer(scan, Y, first, j, Y->rows, best);
}

static tamis_status scan_part(const parts *p, int part, ml_best *best) {
    const ml_scan *const scan = p->scan;
    const tamis_dense *const B = scan->B;
    double scores[TILE_MOST];
    const int64_t begin = B->rows * part / p->count, end = B->rows * (part + 1) / p->count;
    const int64_t fits = TILE_WORTH / B->cols, tile = fits < 1 ? 1 : fits < TILE_MOST ? fits : TILE_MOST;
    int64_t skip = scan->seen_count == 0 ? 0 : tamis_index_first(scan->seen, TAMIS_I64, 0, scan->seen_count, begin);
    for (int64_t first = begin; first < end; first += tile) {
        const int64_t rows = end - first < tile ? end - first : tile;
        const tamis_dense Y = {.data = scores, .rows = rows, .cols = 1, .stride = 1, .type = B->type};
        TRY(score_tile(scan, first, &Y, &skip));
        select_tile(scan, &Y, first, best);
    }
    return TAMIS_OK;
}

static void body_scan(void *context, int thread, int threads) {
    parts *const p = context;
    for (int part = thread; part < p->count; part += threads) {
        ml_best best = {
            .columns = p->columns + (int64_t)part * p->n, .scores = p->scores + (int64_t)part * p->n, .n = p->n};
        p->status[part] = scan_part(p, part, &best);
        p->kept[part] = best.kept;
    }
}

/* Merges all parts in rising order of columns, as ml_best_offer requires: each part is sorted, and so are the parts. */
static void merge(const parts *p, ml_best *best) {
    for (int part = 0; part < p->count; part++) {
        int64_t *const columns = p->columns + (int64_t)part * p->n;
        double *const scores = p->scores + (int64_t)part * p->n;
        ml_best own = {.columns = columns, .scores = scores, .n = p->n, .kept = p->kept[part]};
        for (int i = 1; i < own.kept; i++)
            for (int j = i; j > 0 && columns[j - 1] > columns[j]; j--) ml_best_swap(&own, j - 1, j);
        for (int i = 0; i < own.kept; i++) ml_best_offer(best, columns[i], scores[i]);
    }
}

/* Returns the number of parts. A large n takes one part: sorting costs more than threads gain. */
static int count_parts(const ml_scan *scan, const ml_best *best) {
    if (scan->B->rows * scan->B->cols < 1 << 15) return 1; /* too little work to share */
    return scan->threads < 1 || best->n > BEST_MOST ? 1 : scan->threads > PARTS_MOST ? PARTS_MOST : scan->threads;
}

tamis_status ml_scan_row(const ml_scan *scan, ml_best *best) {
    parts p = {.scan = scan, .n = best->n, .count = count_parts(scan, best)};
    if (p.count == 1) {
        TRY(scan_part(&p, 0, best));
        ml_best_finish(best);
        return TAMIS_OK;
    }
    const int64_t entries = tamis_times(p.count, p.n);
    TAMIS_SCOPE;
    TRY(tamis_allocate_array(entries, "the best columns", p.columns));
    TRY(tamis_allocate_array(entries, "the best columns", p.scores));
    tamis_threads_run(p.count, body_scan, &p);
    for (int part = 0; part < p.count; part++) {
        ml_best again = {.columns = p.columns, .scores = p.scores, .n = p.n};
        if (p.status[part] != TAMIS_OK) TRY(scan_part(&p, part, &again)); /* the message is this thread's */
    }
    merge(&p, best);
    ml_best_finish(best);
    return TAMIS_OK;
}
