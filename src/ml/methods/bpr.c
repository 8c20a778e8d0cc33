/*
 * Bayesian personalised ranking (Rendle et al. 2009): for each use (u, i) and an item j that u has not used, item i
 * should score above j. It maximises the sum over such triples of ln sigma(x_u . (y_i - y_j) + b_i - b_j) minus lambda
 * / 2 times the squares of the triple's factors, without biases, by one ADAGRAD step per triple. A sum of squares for
 * each row and column scales its rate (with one constant rate, recall after 30 passes was 6 % less on visits and 8 %
 * less on words). Counts do not matter: every value above 0 is a use.
 *
 * With `warp` it is WARP (Weston, Bengio, Usunier 2011): negatives are drawn until one scores above the used item less
 * a margin of 1. The step is then that of the hinge, times ln of the rank that the number of draws suggests, as a share
 * of the largest, so that the same lambda suits. A use whose negatives all score lower makes no step. It works for the
 * top of the list.
 *
 * A pass visits each use once, each with a random negative item. Steps that share a row or column must run in a fixed
 * order, so that the model does not depend on the number of threads. So users are cut into blocks, and items, in a
 * random order for each pass, into as many blocks. Round r of a pass has one task for each block of users a: its uses
 * of items in block a + r, in a random order, with j from the same block. Tasks of a round share neither users nor
 * items, and each has its own stream of random numbers.
 *
 * A step is a few hundred operations on three rows, which suits a CPU: steps run on the host's threads on every device,
 * and a GPU gets the factors after each pass.
 *
 * States: 1 the popularity of columns, 2 and 3 the sums of squares of rows and columns.
 *
 * Memory in addition to data and factors: 12 bytes a use, and of a GPU the factors once more on the host.
 */
#include <math.h>
#include <string.h>

#include "base/random.h"
#include "base/scope.h"
#include "base/sizes.h"
#include "base/threads.h"
#include "ml/factors.h"
#include "ml/fit/place.h"
#include "ml/methods/biases.h"
#include "ml/methods/method.h"
#include "ml/methods/noise.h"
#include "ml/model.h"
#include "ml/numbers.h"
#include "ml/serve/operands.h"
#include "ml/serve/popular.h"

/* BLOCK_COLUMNS: the fewest columns of a block, from which the negative item j is drawn. */
enum { BLOCKS_MOST = 32, BLOCK_COLUMNS = 16, DRAWS = 16, TRIES = 10, LANES = 8 };
enum { OF_ROWS = 2, OF_COLUMNS = 3 };                                 /* states */
enum { FIRST_ROWS = 1, FIRST_COLUMNS = 2, PASSES = 3, NEW_ROWS = 4 }; /* streams of random numbers */
enum { COLUMN_ORDER = 1, TASKS = 2 };                                 /* and of a pass */

/* SGD steps for a new row: per entry, and at least. */
enum { NEW_ROW_STEPS = 30, NEW_ROW_LEAST = 400 };

static const double LITTLE = 1e-6;     /* prevents a division by zero */
static const double LAMBDA = 1.0 / 30; /* lambda is this times a share that choose.c finds */

/* The columns with values above 0 of each row, sorted: CSR. */
typedef struct uses {
    int64_t *offsets;
    int32_t *columns;
} uses;

typedef struct use {
    int32_t row, column;
} use;

/* Factors and sums of squares on the host, in the model's type. */
typedef struct sides {
    void *x, *y, *of_rows, *of_columns;
} sides;

typedef struct bpr {
    uses uses;
    sides at;
    void *own[4]; /* own copies, if the model is on a GPU */
    int64_t rows, cols;
    int blocks;
    int64_t row_begin[BLOCKS_MOST + 1], column_begin[BLOCKS_MOST + 1]; /* of blocks; columns in their order */
    int32_t *order;                                                    /* of columns */
    use *sorted; /* by block of users, then by block of columns: */
    int64_t task_begin[BLOCKS_MOST][BLOCKS_MOST + 1];
    uint8_t *block_of; /* each column */
    double losses[BLOCKS_MOST];
    int64_t steps[BLOCKS_MOST];

    const tamis_model *model;
    uint64_t pass_seed;
    int round, threads;
} bpr;

/* ------------------------------------------------------------------------------------------ options */

static void defaults(tamis_model_options *options) {
    options->iterations = 30;
    options->regularization = 0; /* chosen */
    options->rate = 0.05;
    options->biases = true;
}

static tamis_status check(const tamis_model_options *options) {
    TRY(ml_check_lambda(options));
    return ml_check_number("rate", options->rate, options->rate > 0, "a positive number");
}

static tamis_status prepare(tamis_model *model, tamis_sparse *data, bool fit) {
    return fit && ml_learns_data(model) ? ml_popular_learn(model, data) : TAMIS_OK;
}

/* ------------------------------------------------------------------------------------------ uses */

static tamis_status uses_make(const tamis_sparse *data, uses *made) {
    if (data->rows > INT32_MAX || data->cols > INT32_MAX)
        return tamis_fail(TAMIS_ERROR_UNSUPPORTED, "S is %lld x %lld: bpr has at most %d rows and columns",
                          (long long)data->rows, (long long)data->cols, INT32_MAX);
    TRY(tamis_allocate_array(data->rows + 1, "uses", made->offsets));
    TRY(tamis_allocate_array(data->nnz, "uses", made->columns));
    int64_t count = 0;
    made->offsets[0] = 0;
    for (int64_t i = 0; i < data->rows; i++) {
        for (int64_t t = ml_offset(data, i); t < ml_offset(data, i + 1); t++)
            if (ml_value(data, t) > 0) made->columns[count++] = (int32_t)ml_column(data, t);
        made->offsets[i + 1] = count;
    }
    return TAMIS_OK;
}

static bool has(const uses *of, int64_t row, int32_t column) {
    const int64_t end = of->offsets[row + 1];
    const int64_t at = tamis_index_first(of->columns, TAMIS_I32, of->offsets[row], end, column);
    return at < end && of->columns[at] == column;
}

/* ------------------------------------------------------------------------------------------ a step */

/* The vectors of a step: x of the row, y of the used column, z of the other one; biases are their last numbers. */
typedef struct triple {
    int64_t row, column, other;
    bool fixed;   /* columns are not updated */
    double slope; /* of the loss; 0: BPR's, by the score */
} triple;

/* Unaligned SIMD vectors; gcc and clang map them to the processor's vectors. */
typedef float singles __attribute__((vector_size(LANES * sizeof(float)), aligned(sizeof(float)), may_alias));
typedef double doubles __attribute__((vector_size(LANES * sizeof(double)), aligned(sizeof(double)), may_alias));

#define SUM_OF(lanes)                                                                                                  \
    ((((lanes)[0] + (lanes)[4]) + ((lanes)[1] + (lanes)[5])) + (((lanes)[2] + (lanes)[6]) + ((lanes)[3] + (lanes)[7])))

/* Returns the score of a triple: that of the used column less that of the other one. */
#define SCORE(name, number, vector)                                                                                    \
    static double name(const tamis_model *model, const sides *at, const triple *t) {                                   \
        const int64_t width = model->width, n = model->options.factors;                                                \
        const number *const x = (const number *)at->x + t->row * width,                                                \
                            *const y = (const number *)at->y + t->column * width,                                      \
                            *const z = (const number *)at->y + t->other * width;                                       \
        vector dots = {0};                                                                                             \
        number dot = 0;                                                                                                \
        int64_t k = 0;                                                                                                 \
        for (; k + LANES <= n; k += LANES)                                                                             \
            dots += *(const vector *)(x + k) * (*(const vector *)(y + k) - *(const vector *)(z + k));                  \
        for (; k < n; k++) dot += x[k] * (y[k] - z[k]);                                                                \
        return (double)(dot + SUM_OF(dots) + (width > n ? y[n] - z[n] : 0));                                           \
    }
SCORE(score_single, float, singles)
SCORE(score_double, double, doubles)

static double score(const tamis_model *model, const sides *at, const triple *t) {
    return model->options.type == TAMIS_F64 ? score_double(model, at, t) : score_single(model, at, t);
}

/* Does the step and returns the triple's score. */
#define STEP(name, number, vector, root, power)                                                                        \
    static double name(const tamis_model *model, const sides *at, const triple *t) {                                   \
        const int64_t width = model->width, n = model->options.factors;                                                \
        number *const x = (number *)at->x + t->row * width, *const y = (number *)at->y + t->column * width,            \
                      *const z = (number *)at->y + t->other * width, *const of_x = (number *)at->of_rows + t->row;     \
        const number rate = (number)model->options.rate, lambda = (number)ml_lambda(model);                            \
        vector dots = {0}, differences = {0}, squares = {0};                                                           \
        number dot = 0, difference = 0, square = 1;                                                                    \
        int64_t k = 0;                                                                                                 \
        for (; k + LANES <= n; k += LANES) {                                                                           \
            const vector a = *(const vector *)(x + k), d = *(const vector *)(y + k) - *(const vector *)(z + k);        \
            dots += a * d;                                                                                             \
            differences += d * d;                                                                                      \
            squares += a * a;                                                                                          \
        }                                                                                                              \
        for (; k < n; k++) {                                                                                           \
            const number d = y[k] - z[k];                                                                              \
            dot += x[k] * d;                                                                                           \
            difference += d * d;                                                                                       \
            square += x[k] * x[k];                                                                                     \
        }                                                                                                              \
        dot += SUM_OF(dots) + (width > n ? y[n] - z[n] : 0);                                                           \
        difference += SUM_OF(differences);                                                                             \
        square += SUM_OF(squares);                                                                                     \
        const number slope = t->slope > 0 ? (number)t->slope : 1 / (1 + power(dot)), slopes = slope * slope;           \
        *of_x += slopes * difference / (number)n;                                                                      \
        const number rate_x = rate / root(*of_x + (number)LITTLE);                                                     \
        if (t->fixed) {                                                                                                \
            for (k = 0; k < n; k++) x[k] += rate_x * (slope * (y[k] - z[k]) - lambda * x[k]);                          \
            return (double)dot;                                                                                        \
        }                                                                                                              \
        number *const of_y = (number *)at->of_columns + t->column, *const of_z = (number *)at->of_columns + t->other;  \
        *of_y += slopes * square / (number)(n + 1);                                                                    \
        *of_z += slopes * square / (number)(n + 1);                                                                    \
        const number rate_y = rate / root(*of_y + (number)LITTLE), rate_z = rate / root(*of_z + (number)LITTLE);       \
        for (k = 0; k + LANES <= n; k += LANES) {                                                                      \
            const vector a = *(const vector *)(x + k), b = *(const vector *)(y + k), c = *(const vector *)(z + k);     \
            *(vector *)(x + k) = a + rate_x * (slope * (b - c) - lambda * a);                                          \
            *(vector *)(y + k) = b + rate_y * (slope * a - lambda * b);                                                \
            *(vector *)(z + k) = c - rate_z * (slope * a + lambda * c);                                                \
        }                                                                                                              \
        for (; k < n; k++) {                                                                                           \
            const number a = x[k], b = y[k], c = z[k];                                                                 \
            x[k] = a + rate_x * (slope * (b - c) - lambda * a);                                                        \
            y[k] = b + rate_y * (slope * a - lambda * b);                                                              \
            z[k] = c - rate_z * (slope * a + lambda * c);                                                              \
        }                                                                                                              \
        if (width > n) {                                                                                               \
            y[n] += rate_y * slope;                                                                                    \
            z[n] -= rate_z * slope;                                                                                    \
        }                                                                                                              \
        return (double)dot;                                                                                            \
    }
STEP(step_single, float, singles, sqrtf, expf)
STEP(step_double, double, doubles, sqrt, exp)

static double step(const tamis_model *model, const sides *at, const triple *t) {
    return model->options.type == TAMIS_F64 ? step_double(model, at, t) : step_single(model, at, t);
}

/* Returns -ln sigma(score). */
static double loss_of(double score) { return score > 0 ? log1p(exp(-score)) : log1p(exp(score)) - score; }

/* ------------------------------------------------------------------------------------------ a pass */

static void order_columns(bpr *work) {
    ml_shuffle(work->pass_seed, COLUMN_ORDER, TAMIS_I32, work->cols, work->order);
    for (int b = 0; b < work->blocks; b++)
        for (int64_t p = work->column_begin[b]; p < work->column_begin[b + 1]; p++)
            work->block_of[work->order[p]] = (uint8_t)b;
}

/* Sorts the uses of a block of users by blocks of columns. */
static void sort_block(bpr *work, int a) {
    const uses *const of = &work->uses;
    int64_t *const begin = work->task_begin[a], at[BLOCKS_MOST] = {0};
    const int64_t first = of->offsets[work->row_begin[a]], end = of->offsets[work->row_begin[a + 1]];
    for (int64_t t = first; t < end; t++) at[work->block_of[of->columns[t]]]++;
    begin[0] = first;
    for (int b = 0; b < work->blocks; b++) {
        begin[b + 1] = begin[b] + at[b];
        at[b] = begin[b];
    }
    for (int64_t i = work->row_begin[a]; i < work->row_begin[a + 1]; i++)
        for (int64_t t = of->offsets[i]; t < of->offsets[i + 1]; t++)
            work->sorted[at[work->block_of[of->columns[t]]]++] = (use){(int32_t)i, of->columns[t]};
}

static void body_sort(void *context, int thread, int threads) {
    bpr *const work = context;
    for (int a = thread; a < work->blocks; a += threads) sort_block(work, a);
}

/* Draws one of `count` columns that the row has not used; false if none was found. */
static bool draw_other(const uses *of, const int32_t *columns, int64_t count, tamis_random *random, triple *t) {
    for (int i = 0; i < DRAWS; i++) {
        const int64_t drawn = tamis_random_below(random, count);
        t->other = columns ? columns[drawn] : drawn;
        if (!has(of, t->row, (int32_t)t->other)) return true;
    }
    return false;
}

/* Draws columns until one scores above the used one less the margin, and sets the slope by the number of draws. Returns
   false if none did. `cols`: of all. */
static bool draw_violating(const tamis_model *model, const sides *at, const uses *of, const int32_t *columns,
                           int64_t count, int64_t cols, tamis_random *random, triple *t) {
    for (int tries = 1; tries <= TRIES; tries++) {
        if (!draw_other(of, columns, count, random, t)) return false;
        if (score(model, at, t) >= 1) continue;
        const double rank = floor((double)(cols - 1) / tries);
        t->slope = log(rank < 2 ? 2 : rank) / log(cols < 3 ? 2 : (double)(cols - 1)); /* 1 at most, as BPR's */
        return true;
    }
    return false;
}

/* Draws the other column of a triple, and does its step. Returns its loss, 0 if it needs no step; *stepped: a column
   was found. */
static double learn(const tamis_model *model, const sides *at, const uses *of, const int32_t *columns, int64_t count,
                    int64_t cols, tamis_random *random, triple *t, bool *stepped) {
    *stepped = model->options.warp ? draw_violating(model, at, of, columns, count, cols, random, t)
                                   : draw_other(of, columns, count, random, t);
    if (!*stepped) return 0;
    const double found = step(model, at, t);
    return model->options.warp ? t->slope * (1 - found) : loss_of(found);
}

static void do_task(bpr *work, int a) {
    const int b = (a + work->round) % work->blocks;
    use *const list = work->sorted + work->task_begin[a][b];
    const int64_t count = work->task_begin[a][b + 1] - work->task_begin[a][b];
    const int64_t first = work->column_begin[b], columns = work->column_begin[b + 1] - first;
    const uint64_t seed = tamis_random_at(work->pass_seed, TASKS, (uint64_t)a * BLOCKS_MOST + (uint64_t)b);
    tamis_random random = tamis_random_start(seed, 0);
    for (int64_t i = 0; i < count; i++) {
        const int64_t other = i + tamis_random_below(&random, count - i);
        const use drawn = list[other];
        list[other] = list[i];
        list[i] = drawn;
        triple t = {.row = drawn.row, .column = drawn.column};
        bool stepped;
        work->losses[a] +=
            learn(work->model, &work->at, &work->uses, work->order + first, columns, work->cols, &random, &t, &stepped);
        work->steps[a] += stepped || work->model->options.warp; /* WARP's loss is of all uses */
    }
}

static void body_round(void *context, int thread, int threads) {
    bpr *const work = context;
    for (int a = thread; a < work->blocks; a += threads) do_task(work, a);
}

/* ------------------------------------------------------------------------------------------ fitting */

static tamis_dense *kept(tamis_model *model, int i) {
    tamis_dense *const all[] = {&model->row_factors, &model->column_factors, &model->states[OF_ROWS],
                                &model->states[OF_COLUMNS]};
    return all[i];
}

/* Sets pointers to the numbers on the host: the model's own memory, or copies. */
static tamis_status place_numbers(tamis_model *model, bpr *work) {
    void **const places[] = {&work->at.x, &work->at.y, &work->at.of_rows, &work->at.of_columns};
    for (int i = 0; i < 4; i++) {
        const tamis_dense *const numbers = kept(model, i);
        if (model->location == TAMIS_HOST) {
            *places[i] = numbers->data;
            continue;
        }
        TRY(tamis_scope_allocate(tamis_times(numbers->rows, numbers->cols), tamis_type_size(numbers->type), "factors",
                                 &work->own[i]));
        TRY(ml_dense_read(model, numbers, work->own[i]));
        *places[i] = work->own[i];
    }
    return TAMIS_OK;
}

/* Starts with small random factors and no biases. */
static tamis_status make_first(tamis_model *model) {
    const double size = 0.1 / sqrt((double)model->options.factors);
    const int streams[] = {FIRST_ROWS, FIRST_COLUMNS};
    for (int i = 0; i < 2; i++) {
        tamis_dense *const numbers = kept(model, i);
        TRY(ml_dense_random(model, numbers, (uint64_t)streams[i], -size, size));
        if (!ml_biased(model)) continue;
        double *zeros;
        TAMIS_SCOPE;
        TRY(tamis_allocate_zeros(numbers->rows, "biases", zeros));
        TRY(ml_last_write(model, numbers, zeros));
    }
    TRY(tamis_dense_fill(model->device, NULL, &model->states[OF_ROWS], 0));
    TRY(tamis_dense_fill(model->device, NULL, &model->states[OF_COLUMNS], 0));
    return tamis_stream_synchronize(model->device, NULL);
}

/* Cuts users into blocks with about equal uses, and columns into blocks of equal size. */
static void cut(bpr *work) {
    const int64_t fits = work->cols / BLOCK_COLUMNS, *const offsets = work->uses.offsets;
    work->blocks = fits < 1 ? 1 : fits > BLOCKS_MOST ? BLOCKS_MOST : (int)fits;
    int64_t row = 0;
    for (int b = 0; b <= work->blocks; b++) {
        while (row < work->rows && offsets[row] < offsets[work->rows] * b / work->blocks) row++;
        work->row_begin[b] = b == work->blocks ? work->rows : row;
        work->column_begin[b] = work->cols * b / work->blocks;
    }
}

static tamis_status begin(tamis_model *model, const tamis_sparse *data) {
    bool fresh;
    bpr *work;
    TRY(ml_model_factors(model, data->rows, data->cols, &fresh));
    TRY(ml_model_state(model, OF_ROWS, &fresh));
    TRY(ml_model_state(model, OF_COLUMNS, &fresh));
    TRY(tamis_allocate_zeros(1, "the work of bpr", work));
    model->work = work;
    work->model = model;
    work->rows = data->rows;
    work->cols = data->cols;
    TRY(ml_host_threads(model, &work->threads));
    TRY(uses_make(data, &work->uses));
    TRY(tamis_allocate_array(data->cols, "the order of columns", work->order));
    TRY(tamis_allocate_array(data->cols, "blocks of columns", work->block_of));
    TRY(tamis_allocate_array(work->uses.offsets[data->rows], "uses", work->sorted));
    cut(work);
    if (model->iterations_done == 0) {
        if (ml_finds_lambda(model)) model->lambda = LAMBDA * model->share;
        TRY(make_first(model));
    }
    return place_numbers(model, work);
}

static tamis_status iterate(tamis_model *model) {
    bpr *const work = model->work;
    work->pass_seed = tamis_random_at(model->options.seed, PASSES, (uint64_t)model->iterations_done);
    memset(work->losses, 0, sizeof work->losses);
    memset(work->steps, 0, sizeof work->steps);
    order_columns(work);
    tamis_threads_run(work->threads, body_sort, work);
    for (work->round = 0; work->round < work->blocks; work->round++) tamis_threads_run(work->threads, body_round, work);
    for (int i = 0; i < 4; i++)
        if (work->own[i]) TRY(ml_dense_write(model, kept(model, i), work->own[i]));
    return TAMIS_OK;
}

/* The mean of -ln sigma, or WARP's loss, over the pass's triples, each before its step. */
static tamis_status loss(tamis_model *model, double *result) {
    const bpr *const work = model->work;
    double sum = 0, steps = 0;
    for (int a = 0; a < work->blocks; a++) sum += work->losses[a], steps += (double)work->steps[a];
    *result = steps > 0 ? sum / steps : (double)NAN;
    return TAMIS_OK;
}

/* ------------------------------------------------------------------------------------------ new rows */

typedef struct folding {
    const tamis_model *model;
    uses uses;
    int64_t rows, cols;
    sides at;
} folding;

/* Computes the factors of a row with the columns' factors fixed. All rows use the same draws, so that a row's factors
   do not depend on other rows. */
static void fold_in(const folding *f, int64_t row) {
    const int64_t first = f->uses.offsets[row], count = f->uses.offsets[row + 1] - first;
    const int64_t least = count > 0 ? NEW_ROW_LEAST : 0, steps = count * NEW_ROW_STEPS;
    tamis_random random = tamis_random_start(f->model->options.seed, NEW_ROWS);
    for (int64_t s = 0; s < (steps > least ? steps : least); s++) {
        triple t = {.row = row, .column = f->uses.columns[first + s % count], .fixed = true};
        bool stepped;
        (void)learn(f->model, &f->at, &f->uses, NULL, f->cols, f->cols, &random, &t, &stepped);
    }
}

static void body_fold_in(void *context, int thread, int threads) {
    const folding *const f = context;
    for (int64_t row = thread; row < f->rows; row += threads) fold_in(f, row);
}

static tamis_status transform(tamis_model *model, const tamis_sparse *data, const tamis_dense *W) {
    folding f = {.model = model, .rows = data->rows, .cols = data->cols};
    const size_t size = tamis_type_size(model->options.type);
    tamis_dense columns;
    int threads;
    TRY(ml_host_threads(model, &threads));
    TRY(uses_make(data, &f.uses));
    TRY(ml_dense_here(model, &model->column_factors, &columns));
    f.at.y = columns.data;
    TRY(tamis_scope_allocate_zeroed(tamis_times(data->rows, model->width), size, "factors of rows", &f.at.x));
    TRY(tamis_scope_allocate_zeroed(data->rows, size, "factors of rows", &f.at.of_rows));
    tamis_threads_run(threads, body_fold_in, &f);
    return ml_dense_write(model, W, f.at.x);
}

/* ------------------------------------------------------------------------------------------ prediction */

static tamis_status operands(tamis_model *model, const tamis_dense *W, ml_operands *made) {
    *made = (ml_operands){.scale = 1, .least = -INFINITY, .most = INFINITY};
    return ml_biased_operands(model, W, made);
}

static const tamis_method_option own_options[] = {
    {"regularization", "lambda of the factors; 0: chosen by an inner split"},
    {"biases", NULL},
    {"rate", NULL},
    {"warp", NULL},
    {NULL, NULL}};

const ml_method ml_bpr = {
    .about = {.method = TAMIS_BPR,
              .data = TAMIS_DATA_USES,
              .name = "bpr",
              .summary = "uses: ranks what a user has above what the user does not have",
              .options = own_options,
              .row_factors = true,
              .sampled = true},
    .biases = true,
    .noise = true,
    .states = {[ML_POPULARITY] = ML_POPULARITY_STATE,
               [OF_ROWS] = {.rows = {ML_ROWS, 0}, .cols = {ML_NONE, 1}, .range = ML_SQUARES},
               [OF_COLUMNS] = {.rows = {ML_COLUMNS, 0}, .cols = {ML_NONE, 1}, .range = ML_SQUARES}},
    .defaults = defaults,
    .check = check,
    .prepare = prepare,
    .begin = begin,
    .iterate = iterate,
    .loss = loss,
    .transform = transform,
    .operands = operands,
};
