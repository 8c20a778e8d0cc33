/*
 * The best columns of many rows.
 *
 * All dot products of a block of rows with a tile of columns are one tamis_dense_multiply on the model's device,
 * columns x rows: B is used as it is, and only the block of A is transposed. That product uses the widest vectors of
 * the machine, its threads, and a GPU if the model is on one; a loop here would be compiled for the oldest processor.
 * The products of a tile are then scanned while they are in cache (a GPU's come over the bus). For each column, the
 * scores of all rows are next to each other and are compared with the rows' thresholds, the worst score that each row
 * keeps; nearly all fail together. The heaps are the caller's arrays.
 *
 * For a few rows on the CPU see scan.c.
 *
 * With 100,000 rows x 50,000 columns x 64 factors the products take about three quarters of the time. Rows are ranked
 * before scores are clamped to the range of ratings, because all scores beyond its end would be equal. Nothing is
 * allocated for each row.
 */
#include "ml/serve/rank.h"

#include <math.h>
#include <string.h>

#include "base/scope.h"
#include "base/sizes.h"
#include "base/threads.h"
#include "ml/fit/place.h"
#include "ml/model.h"
#include "ml/numbers.h"
#include "ml/serve/best.h"
#include "ml/serve/operands.h"
#include "ml/serve/popular.h"
#include "ml/serve/predict.h"
#include "ml/serve/scan.h"
#include "ml/serve/seen.h"
#include "sparse/index.h"

/* A block has enough rows to give each thread its own and to fill vectors. A tile on the CPU fits a core's L2 together
   with the block; a GPU's tiles are large, because each is a transfer. */
enum {
    LINE = 16, /* rows that are compared at once */
    ROWS_LEAST = 128,
    ROWS_MOST = 1024,
    ROWS_A_THREAD = 16,
    TILE_HOST = 1 << 17,
    TILE_DEVICE = 1 << 22
};

typedef struct scorer {
    tamis_model *model;
    const tamis_dense *A, *B; /* on the host; B only as a size if ... */
    const tamis_dense *there; /* ... this is not NULL: B on the device */
    tamis_type type;
    size_t size; /* of an element */
    bool on_host;
    int threads;
    int64_t block, tile; /* rows and columns of a product, at most */
    tamis_dense *tiles;  /* tiles of B on the device */
    int64_t tile_count;
    tamis_dense turned, scores; /* on the device: width x rows, columns x rows */
    void *host_turned, *host_scores;
    const ml_seen *seen; /* a row for each of A's, or NULL */
    const bool *allowed; /* columns, or NULL: all */
    const void *scales;  /* of columns, or NULL */
    const void *terms;   /* the same */

    /* of the block under way */
    int64_t first, rows, column, columns;
    ml_best *heaps;
    void *thresholds; /* of the scores' type */
    int64_t *cursors; /* into seen->columns */
} scorer;

/* ------------------------------------------------------------------------------------------ selection */

/* Offers a score. Once n are kept, the next one must beat the worst of them. */
static void offer(scorer *s, int64_t row, int64_t column, double score) {
    ml_best *const heap = &s->heaps[row];
    ml_best_offer(heap, column, score);
    if (heap->kept == heap->n) ml_put_number(s->thresholds, s->type, row, heap->scores[0]);
}

/* Returns true if a score of a line is above its row's threshold. */
static bool look_at(const scorer *s, int64_t at, int64_t row) {
    int any = 0;
    if (s->type == TAMIS_F64) {
        const double *const scores = (const double *)s->host_scores + at, *const least = (double *)s->thresholds + row;
        for (int i = 0; i < LINE; i++) any |= scores[i] > least[i];
    } else {
        const float *const scores = (const float *)s->host_scores + at, *const least = (float *)s->thresholds + row;
        for (int i = 0; i < LINE; i++) any |= scores[i] > least[i];
    }
    return any;
}

/* Sets the scores of seen columns in the tile to NaN, which excludes them. */
static void leave_out_seen(scorer *s, int64_t row) {
    const int64_t *const columns = s->seen->columns, end = s->seen->offsets[s->first + row + 1];
    int64_t t = s->cursors[row];
    for (; t < end && columns[t] < s->column + s->columns; t++)
        ml_put_number(s->host_scores, s->type, (columns[t] - s->column) * s->rows + row, NAN);
    s->cursors[row] = t;
}

/* Selects the best columns of the tile for rows from .. to - 1 of the block. */
static void select_rows(scorer *s, int64_t from, int64_t to) {
    if (s->seen)
        for (int64_t row = from; row < to; row++) leave_out_seen(s, row);
    for (int64_t j = 0; j < s->columns; j++) {
        if (s->allowed && !s->allowed[s->column + j]) continue;
        const int64_t line = j * s->rows;
        for (int64_t row = from; row < to; row += LINE) {
            const int64_t end = to - row < LINE ? to : row + LINE;
            if (end - row == LINE && !look_at(s, line + row, row)) continue;
            for (int64_t r = row; r < end; r++)
                offer(s, r, s->column + j, ml_number(s->host_scores, s->type, line + r));
        }
    }
}

/* Gives each thread whole cache lines, so that threads never write to the same line. */
static void body_select(void *context, int thread, int threads) {
    scorer *const s = context;
    const int64_t lines = (s->rows + LINE - 1) / LINE;
    const int64_t from = lines * thread / threads * LINE, to = lines * (thread + 1) / threads * LINE;
    if (from < to) select_rows(s, from, to < s->rows ? to : s->rows);
}

/* ------------------------------------------------------------------------------------------ products */

static const char *line_of(const tamis_dense *X, int64_t row) {
    return (const char *)X->data + (size_t)row * (size_t)X->cols * tamis_type_size(X->type);
}

/* Copies the transposed, packed block of A to the beginning of a buffer. */
static tamis_status turn_block(scorer *s, tamis_dense *G) {
    const int64_t width = s->A->cols;
    const size_t at = (size_t)s->first * (size_t)width;
    for (int64_t i = 0; i < s->rows; i++)
        for (int64_t k = 0; k < width; k++) {
            const int64_t to = k * s->rows + i;
            const size_t from = at + (size_t)(i * width + k);
            if (s->size == 8)
                ((double *)s->host_turned)[to] = ((const double *)s->A->data)[from];
            else
                ((float *)s->host_turned)[to] = ((const float *)s->A->data)[from];
        }
    *G = s->turned;
    G->rows = width;
    G->cols = G->stride = s->rows;
    if (s->on_host) return TAMIS_OK;
    return tamis_device_upload(s->model->device, NULL, G->data, 0, s->host_turned, (size_t)(width * s->rows) * s->size);
}

/* Adds the columns' terms. */
static void add_terms(scorer *s) {
    for (int64_t j = 0; j < s->columns; j++) {
        const int64_t line = j * s->rows, column = s->column + j;
        for (int64_t i = 0; i < s->rows; i++)
            if (s->size == 8)
                ((double *)s->host_scores)[line + i] += ((const double *)s->terms)[column];
            else
                ((float *)s->host_scores)[line + i] += ((const float *)s->terms)[column];
    }
}

static void scale_tile(scorer *s) {
    for (int64_t j = 0; j < s->columns; j++) {
        const int64_t line = j * s->rows, column = s->column + j;
        for (int64_t i = 0; i < s->rows; i++)
            if (s->size == 8)
                ((double *)s->host_scores)[line + i] *= ((const double *)s->scales)[column];
            else
                ((float *)s->host_scores)[line + i] *= ((const float *)s->scales)[column];
    }
}

static tamis_status score_tile(scorer *s, const tamis_dense *G, int64_t number) {
    tamis_dense X, Y = s->scores;
    s->column = number * s->tile;
    s->columns = s->B->rows - s->column < s->tile ? s->B->rows - s->column : s->tile;
    if (s->on_host) {
        X = *s->B;
        X.data = (void *)(uintptr_t)line_of(s->B, s->column);
        X.rows = s->columns;
    } else {
        X = s->tiles[number];
    }
    Y.rows = s->columns;
    Y.cols = Y.stride = s->rows;
    TRY(tamis_dense_multiply(s->model->device, NULL, 1, &X, G, 0, &Y));
    if (!s->on_host)
        TRY(tamis_device_download(s->model->device, NULL, s->host_scores, Y.data, 0,
                                  (size_t)(s->columns * s->rows) * s->size));
    if (s->scales) scale_tile(s);
    if (s->terms) add_terms(s);
    return TAMIS_OK;
}

/* Replaces the scores of a list by predictions. */
static void expect(const scorer *s, const ml_operands *operands, ml_best *list) {
    for (int i = 0; i < list->kept; i++) {
        const double term = s->terms ? ml_number(s->terms, s->type, list->columns[i]) : 0;
        list->scores[i] = ml_expectation(operands, list->scores[i] - term);
    }
}

static tamis_status threads_of(const scorer *s, int *threads) {
    *threads = s->model->options.threads;
    return s->on_host ? ml_host_threads(s->model, threads) : TAMIS_OK;
}

static tamis_status score_block(scorer *s, const ml_operands *operands, int n, int64_t *columns, double *scores) {
    tamis_dense G;
    TRY(turn_block(s, &G));
    for (int64_t row = 0; row < s->rows; row++) {
        const int64_t at = (s->first + row) * n;
        s->heaps[row] = (ml_best){.columns = columns + at, .scores = scores + at, .n = n};
        ml_put_number(s->thresholds, s->type, row, -INFINITY);
        if (s->seen) s->cursors[row] = s->seen->offsets[s->first + row];
    }
    for (int64_t tile = 0; tile < s->tile_count; tile++) {
        TRY(score_tile(s, &G, tile));
        tamis_threads_run(s->columns * s->rows < 1 << 15 ? 1 : s->threads, body_select, s);
    }
    for (int64_t row = 0; row < s->rows; row++) {
        ml_best *const heap = &s->heaps[row];
        ml_best_finish(heap);
        expect(s, operands, heap);
    }
    return TAMIS_OK;
}

/* Scans few rows, one after the other. */
static tamis_status scan_rows(const scorer *s, const ml_operands *operands, int n, int64_t *columns, double *scores) {
    ml_scan scan = {
        .device = s->model->device, .B = s->B, .scales = s->scales, .terms = s->terms, .allowed = s->allowed};
    const int64_t *const offsets = s->seen ? s->seen->offsets : NULL;
    TRY(threads_of(s, &scan.threads));
    for (int64_t row = 0; row < s->A->rows; row++) {
        ml_best best = {.columns = columns + row * n, .scores = scores + row * n, .n = n};
        scan.row = line_of(s->A, row);
        scan.seen = offsets ? s->seen->columns + offsets[row] : NULL;
        scan.seen_count = offsets ? offsets[row + 1] - offsets[row] : 0;
        TRY(ml_scan_row(&scan, &best));
        expect(s, operands, &best);
    }
    return TAMIS_OK;
}

/* Selects the best of scores that are already computed. */
static void pick_rows(const scorer *s, const ml_operands *operands, int n, int64_t *columns, double *scores) {
    const int64_t *const offsets = s->seen ? s->seen->offsets : NULL;
    const int64_t *const seen = s->seen ? s->seen->columns : NULL;
    for (int64_t row = 0; row < s->A->rows; row++) {
        ml_best best = {.columns = columns + row * n, .scores = scores + row * n, .n = n};
        int64_t t = offsets ? offsets[row] : 0;
        const int64_t end = offsets ? offsets[row + 1] : 0;
        for (int64_t j = 0; j < s->A->cols; j++) {
            while (t < end && seen[t] < j) t++;
            if ((t < end && seen[t] == j) || (s->allowed && !s->allowed[j])) continue;
            ml_best_offer(&best, j, ml_element(s->A, row, j) + (s->terms ? ml_number(s->terms, s->type, j) : 0));
        }
        ml_best_finish(&best);
        expect(s, operands, &best);
    }
}

/* ------------------------------------------------------------------------------------------ making ready */

static void choose_sizes(scorer *s) {
    const int64_t requested = s->threads > 0 ? (int64_t)s->threads * ROWS_A_THREAD : ROWS_MOST; /* 0: all there are */
    s->block = requested < ROWS_LEAST ? ROWS_LEAST : requested > ROWS_MOST ? ROWS_MOST : requested;
    if (s->block > s->A->rows) s->block = s->A->rows;
    s->tile = (s->on_host ? TILE_HOST : TILE_DEVICE) / s->block;
    if (s->tile > s->B->rows) s->tile = s->B->rows;
    s->tile_count = (s->B->rows + s->tile - 1) / s->tile;
}

static tamis_status place_tiles(scorer *s) {
    TRY(tamis_allocate_zeros(s->tile_count, "tiles of columns", s->tiles));
    for (int64_t i = 0; i < s->tile_count; i++) {
        const int64_t first = i * s->tile, left = s->B->rows - first;
        TRY(ml_scratch(s->model, left < s->tile ? left : s->tile, s->B->cols, &s->tiles[i]));
        const size_t line = (size_t)s->B->cols * s->size;
        if (s->there)
            TRY(tamis_device_copy(s->model->device, NULL, s->tiles[i].data, 0, s->there->data, (size_t)first * line,
                                  (size_t)s->tiles[i].rows * line));
        else
            TRY(ml_dense_write(s->model, &s->tiles[i], line_of(s->B, first)));
    }
    TRY(ml_scratch(s->model, s->A->cols, s->block, &s->turned));
    return ml_scratch(s->model, s->tile, s->block, &s->scores);
}

static tamis_status scorer_make(scorer *s) {
    TRY(threads_of(s, &s->threads));
    choose_sizes(s);
    TRY(tamis_allocate_array(s->block, "the best columns", s->heaps));
    TRY(tamis_scope_allocate(s->block, s->size, "the best columns", &s->thresholds));
    TRY(tamis_allocate_array(s->block, "the best columns", s->cursors));
    TRY(tamis_scope_allocate(tamis_times(s->block, s->A->cols), s->size, "a block of rows", &s->host_turned));
    TRY(tamis_scope_allocate(tamis_times(s->block, s->tile), s->size, "scores", &s->host_scores));
    if (!s->on_host) return place_tiles(s);
    s->turned = (tamis_dense){.data = s->host_turned, .type = s->A->type};
    s->scores = (tamis_dense){.data = s->host_scores, .type = s->A->type};
    return TAMIS_OK;
}

static tamis_status score_blocks(scorer *s, const ml_operands *operands, int n, int64_t *columns, double *scores) {
    TRY(scorer_make(s));
    for (s->first = 0; s->first < s->A->rows; s->first += s->block) {
        s->rows = s->A->rows - s->first < s->block ? s->A->rows - s->first : s->block;
        TRY(score_block(s, operands, n, columns, scores));
    }
    return TAMIS_OK;
}

tamis_status ml_rank(tamis_model *model, const ml_operands *operands, const int64_t *rows, const tamis_sparse *seen,
                     const bool *allowed, int n, int64_t *columns, double *scores) {
    scorer s = {.model = model,
                .allowed = allowed,
                .scales = operands->scales,
                .terms = operands->terms,
                .A = &operands->A.host,
                .B = &operands->B.host,
                .there = operands->B.there,
                .on_host = model->location == TAMIS_HOST};
    s.type = s.A->type;
    s.size = tamis_type_size(s.type);
    if (s.A->rows == 0 || n == 0) return TAMIS_OK;
    ml_seen sorted;
    TAMIS_SCOPE;
    if (seen) TRY(ml_seen_make(seen, rows, s.A->rows, &sorted));
    s.seen = seen ? &sorted : NULL;
    if (operands->direct)
        pick_rows(&s, operands, n, columns, scores);
    else if (s.on_host && s.A->rows <= ML_RANK_ALONE)
        TRY(scan_rows(&s, operands, n, columns, scores));
    else
        TRY(score_blocks(&s, operands, n, columns, scores));
    return ml_popular_fill(model, operands, s.seen, allowed, n, columns, scores);
}
