/*
 * Models as services use them: calls for one row or column, which have ways of their own, beside those for all; in
 * several threads at once; and what is kept between calls, which must go when the factors change.
 */
#include "support/test.h"

#include <float.h>
#include <pthread.h>
#include <stdatomic.h>

#include "eliminate.h"
#include "model_rows.h"

#include "cpu_device.h"

enum { ROWS = MODEL_ROWS, COLS = MODEL_COLS, FACTORS = MODEL_FACTORS, N = MODEL_BEST, THREADS = 4 };

/* Every method but those of counts, which are for documents. */
static tamis_method methods[16];
static int method_count;

static tamis_model_options options_of(tamis_method method, tamis_type type) {
    tamis_model_options options = model_case_of(method).options;
    options.type = type;
    options.neighbours = 12;
    options.threads = 2;
    if (method != TAMIS_ITEM_KNN) options.regularization = method == TAMIS_EASE ? 5 : 0.1;
    return options;
}

static int find_methods(void **state) {
    tamis_method_description about;
    method_count = 0;
    for (int i = 0; i < tamis_method_count(); i++) {
        works(tamis_method_at(i, &about));
        if (about.data != TAMIS_DATA_COUNTS) methods[method_count++] = about.method;
    }
    return set_up(state);
}

/* ------------------------------------------------------------------------------------------ beside batches */

static double squares_of(const tamis_model *model, const tamis_dense *X, int64_t row) {
    double sum = 0;
    for (int64_t k = 0; k < model->width; k++) sum += number(X, row, k) * number(X, row, k);
    return sum;
}

/*
 * How far the factors of a row may differ. Conjugate gradients in the type leave a residual of some roundings of what
 * they multiply, so that x is off by the condition times that: at most (lambda + sum of all |y|^2 and of the row's
 * weights times |y|^2) / lambda. ccd repeats its passes until they change all rows by a share of 1e-5 (fp64: 1e-9),
 * and passes that go on would add up to more, of how much more the rate of convergence, below 0.99, decides. sfa steps
 * as als. bpr does the same steps in both; pairs are sums of a row's entries.
 */
static double share_of(tamis_model *model, const data *d) {
    const double u = model->options.type == TAMIS_F64 ? DBL_EPSILON : FLT_EPSILON;
    const tamis_method method = model->options.method;
    double squares = 0, most = 0;
    if (method == TAMIS_BPR) return 0;
    if (model->method->about.pairs) return COLS * u;
    if (method == TAMIS_CCD) return model->options.type == TAMIS_F64 ? 1e-7 : 1e-3;
    for (int64_t t = 0; t < d->view.nnz; t++) most = fmax(most, d->values[t]);
    for (int64_t j = 0; j < COLS; j++) squares += squares_of(model, &model->column_factors, j) + 1;
    return (FACTORS + 8) * u * (1 + squares * (1 + most) / model->options.regularization);
}

static void expect_lists(const char *what, const int64_t *columns, const double *scores, const int64_t *others,
                         const double *other_scores, int64_t count, const double *bounds) {
    for (int64_t t = 0; t < count * N; t++) {
        if ((columns[t] < 0) != (others[t] < 0))
            fail_msg("%s: place %lld: %lld and %lld", what, (long long)t, (long long)columns[t], (long long)others[t]);
        if (columns[t] >= 0 && !(fabs(scores[t] - other_scores[t]) <= bounds[t / N]))
            fail_msg("%s: place %lld: %.9g and %.9g, bound %g", what, (long long)t, scores[t], other_scores[t],
                     bounds[t / N]);
    }
}

/* The k-th best score is no further off than any score. */
TEST(single_calls_agree_with_batches) {
    OWN(data) d = data_make(ROWS, COLS, 9, 21);
    OWN(answers) *const one = malloc(sizeof *one), *const all = malloc(sizeof *all);
    for (int m = 0; m < method_count; m++)
        for (int type = 0; type < 2; type++) {
            const tamis_model_options options = options_of(methods[m], (tamis_type)type);
            OWN(tamis_model) *const model = model_fitted(device, &options, &d.view);
            const double u = type == TAMIS_F64 ? DBL_EPSILON : FLT_EPSILON, share = share_of(model, &d);
            const tamis_dense W = model_lines(model, one, 0, ROWS), V = model_lines(model, all, 0, ROWS);
            double bounds[ROWS], own[ROWS], roundings[ROWS], longest = 0;
            works(model_ask(model, &d, 1, one));
            works(model_ask(model, &d, ROWS, all));
            for (int64_t j = 0; j < COLS && !model->method->about.pairs; j++)
                longest = fmax(longest, sqrt(squares_of(model, &model->column_factors, j) + 1));
            for (int64_t i = 0; i < ROWS; i++) {
                const double length = sqrt(squares_of(model, &V, i));
                for (int64_t k = 0; k < model->width; k++)
                    if (!(fabs(number(&W, i, k) - number(&V, i, k)) <= share * length))
                        fail_msg("%s, type %d: row %lld: %.9g and %.9g, bound %g", model->method->about.name, type,
                                 (long long)i, number(&W, i, k), number(&V, i, k), share * length);
                const double rounding = (FACTORS + 8) * u * longest;
                bounds[i] = model->method->about.pairs ? share * length
                                                       : model->scale * (share * longest + rounding) * (length + 1);
                bounds[i] += u * fabs(model->mean);
                own[i] = model->row_factors.rows
                             ? model->scale * rounding * (sqrt(squares_of(model, &model->row_factors, i)) + 1) +
                                   u * fabs(model->mean)
                             : 0;
                roundings[i] = (FACTORS + 12) * u;
            }
            expect_lists("recommend", one->columns, one->scores, all->columns, all->scores, ROWS, bounds);
            expect_lists("recommend of the fit", one->own_columns, one->own_scores, all->own_columns, all->own_scores,
                         model->row_factors.rows, own);
            expect_lists("similar", one->similar, one->cosines, all->similar, all->cosines, COLS, roundings);
            expect_lists("similar rows", one->similar_rows, one->row_cosines, all->similar_rows, all->row_cosines,
                         model->row_factors.rows, roundings);
        }
}

/* (G + sum of the row's (c - 1) y y^T) x = sum of c p y, by elimination. */
static void solve_row(const tamis_model *model, const data *d, int64_t row, double *x) {
    double G[FACTORS * FACTORS] = {0};
    memset(x, 0, FACTORS * sizeof *x);
    const tamis_dense *const Y = &model->column_factors;
    for (int64_t j = 0; j < COLS; j++) {
        double weight = 0, liked = 0;
        for (int64_t t = d->offsets[row]; t < d->offsets[row + 1]; t++)
            if (d->columns[t] == j) {
                weight = model->options.confidence * log2(1 + fabs(d->values[t]));
                liked = d->values[t] > 0 ? 1 + weight : 0;
            }
        for (int a = 0; a < FACTORS; a++) {
            for (int b = 0; b < FACTORS; b++) G[a * FACTORS + b] += (1 + weight) * number(Y, j, a) * number(Y, j, b);
            x[a] += liked * number(Y, j, a);
        }
    }
    for (int a = 0; a < FACTORS; a++) G[a * (FACTORS + 1)] += model->options.regularization;
    eliminate(FACTORS, G, x);
}

/* Dislikes too, and a row without entries. */
TEST(one_row_is_solved) {
    OWN(data) d = data_make(ROWS, COLS, 9, 22);
    for (int64_t t = 0; t < d.view.nnz; t += 5) d.values[t] = -d.values[t];
    for (int type = 0; type < 2; type++) {
        const tamis_model_options options = options_of(TAMIS_IMPLICIT_ALS, (tamis_type)type);
        OWN(tamis_model) *const model = model_fitted(device, &options, &d.view);
        const double share = share_of(model, &d);
        int empty = 0;
        for (int64_t i = 0; i < ROWS; i++) {
            int64_t offsets[2];
            double found[FACTORS + 1], x[FACTORS], length = 0;
            const tamis_sparse S = model_row_of(&d, i, offsets);
            const tamis_dense W = {.data = found, .rows = 1, .cols = FACTORS, .type = options.type};
            memset(found, 0x7b, sizeof found);
            works(tamis_model_transform(model, &S, &W));
            solve_row(model, &d, i, x);
            for (int k = 0; k < FACTORS; k++) length += x[k] * x[k];
            for (int k = 0; k < FACTORS; k++) assert_true(fabs(number(&W, 0, k) - x[k]) <= share * sqrt(length));
            empty += S.nnz == 0;
        }
        assert_true(empty > 0);
    }
}

/* ------------------------------------------------------------------------------------------ threads */

typedef struct worker {
    tamis_model *model;
    const data *d;
    const answers *one, *all;
    const tamis_score *score;
    const char *wrong;
} worker;

static void *work(void *context) {
    worker *const w = context;
    OWN(answers) *const found = malloc(sizeof *found);
    for (int round = test_rounds(2, 1); round > 0 && !w->wrong; round--)
        for (int64_t at_once = 1; at_once <= ROWS && !w->wrong; at_once += ROWS - 1) {
            if (model_ask(w->model, w->d, at_once, found) != TAMIS_OK)
                w->wrong = "a call failed";
            else if (memcmp(found, at_once == 1 ? w->one : w->all, sizeof *found) != 0)
                w->wrong = "another answer than that of one thread";
        }
    return NULL;
}

/* Scores a model of topics, whose bound executes calls that are timed in a fit. */
static void *score(void *context) {
    worker *const w = context;
    const tamis_held_out held_out = {.entries = &w->d->view, .observed = &w->d->view};
    tamis_score found = {0};
    if (tamis_model_score(w->model, &held_out, true, 5, &found) != TAMIS_OK)
        w->wrong = "a call failed";
    else if (memcmp(&found, w->score, sizeof found) != 0)
        w->wrong = "another score than that of one thread";
    return NULL;
}

typedef struct team {
    pthread_t threads[THREADS];
    worker workers[THREADS];
} team;

static void team_begins(team *all, void *(*body)(void *), const worker *like) {
    for (int i = 0; i < THREADS; i++) {
        all->workers[i] = *like;
        assert_int_equal(pthread_create(&all->threads[i], NULL, body, &all->workers[i]), 0);
    }
}

static void team_ends(team *all) {
    for (int i = 0; i < THREADS; i++) pthread_join(all->threads[i], NULL);
    for (int i = 0; i < THREADS; i++)
        if (all->workers[i].wrong) fail_msg("%s: %s", all->workers[i].model->method->about.name, all->workers[i].wrong);
}

static void run_threads(void *(*body)(void *), const worker *like) {
    team all;
    team_begins(&all, body, like);
    team_ends(&all);
}

TEST_TAG(threads_score_topics, "several") {
    OWN(data) d = data_make(ROWS, COLS, 9, 23);
    tamis_score score_alone = {0};
    const tamis_held_out held_out = {.entries = &d.view, .observed = &d.view};
    const tamis_model_options options = sized_options(TAMIS_LDA, TAMIS_F32, FACTORS, 2);
    OWN(tamis_model) *const model = model_fitted(device, &options, &d.view);
    works(tamis_model_score(model, &held_out, true, 5, &score_alone));
    run_threads(score, &(worker){.model = model, .d = &d, .score = &score_alone});
}

/* One thread puts rows into copies, each of which takes the place of the one before; others ask what is there. */
enum { COPIES = 6 };

static _Atomic(tamis_model *) served;

static void *ask_served(void *context) {
    worker *const w = context;
    OWN(answers) *const found = malloc(sizeof *found);
    for (int round = 0; round < 4 && !w->wrong; round++)
        if (model_ask(served, w->d, ROWS, found) != TAMIS_OK) w->wrong = "a call failed beside one that learns";
    return NULL;
}

TEST_TAG(copies_learn_beside_use, "several") {
    OWN(data) d = data_make(ROWS, COLS, 9, 23);
    for (int m = 0; m < method_count; m++) {
        const tamis_model_options options = options_of(methods[m], TAMIS_F32);
        tamis_model *models[COPIES + 1] = {model_fitted(device, &options, &d.view)};
        if (models[0]->row_factors.rows > 0) {
            team users;
            served = models[0];
            team_begins(&users, ask_served, &(worker){.model = models[0], .d = &d});
            for (int i = 0; i < COPIES; i++) {
                works(tamis_model_copy(models[i], &models[i + 1]));
                works(tamis_model_put_rows(models[i + 1], &d.view, NULL));
                served = models[i + 1];
            }
            team_ends(&users);
        }
        for (int i = 0; i <= COPIES; i++) tamis_model_free(models[i]);
    }
}

/* All begin with a model that has kept nothing yet. */
TEST_TAG(threads_share_a_model, "several") {
    OWN(data) d = data_make(ROWS, COLS, 9, 23);
    OWN(answers) *const one = malloc(sizeof *one), *const all = malloc(sizeof *all);
    for (int m = 0; m < method_count; m++) {
        const tamis_model_options options = options_of(methods[m], TAMIS_F32);
        OWN(tamis_model) *const alone = model_fitted(device, &options, &d.view);
        OWN(tamis_model) *const shared = model_fitted(device, &options, &d.view);
        works(model_ask(alone, &d, 1, one));
        works(model_ask(alone, &d, ROWS, all));
        run_threads(work, &(worker){.model = shared, .d = &d, .one = one, .all = all});
    }
}

/* ------------------------------------------------------------------------------------------ what is kept */

/* It says what one does that was just loaded. */
static void expect_nothing_old(const char *after, tamis_model *model, const data *d) {
    OWN(tamis_model) *const loaded = model_reloaded(device, model);
    model_expect_answers(after, model, loaded, d);
}

typedef struct asking {
    tamis_model *model;
    const data *d;
    answers answers;
} asking;
OWN_POINTER(asking, free)

/* It asks the model that is being fitted. */
static bool asks(void *context, const tamis_iteration *iteration) {
    asking *const a = context;
    return model_ask(a->model, a->d, 1, &a->answers) == TAMIS_OK;
}

TEST(nothing_old_is_kept) {
    OWN(data) d = data_make(ROWS, COLS, 9, 24), other = data_make(ROWS, COLS, 7, 25);
    OWN(asking) *const a = malloc(sizeof *a);
    for (int m = 0; m < method_count; m++) {
        tamis_model_options options = options_of(methods[m], m % 2 ? TAMIS_F64 : TAMIS_F32);
        options.batch_rows = 25; /* sfa's callback comes between mini-batches too */
        options.callback = asks;
        options.callback_context = a;
        works(tamis_model_create(device, &options, &a->model));
        OWN(tamis_model) *const model = a->model;
        a->d = &d;
        works(tamis_model_fit(model, &d.view, NULL));
        expect_nothing_old("a fit", model, &d);
        if (methods[m] == TAMIS_SFA) {
            works(tamis_model_partial_fit(model, &other.view));
            expect_nothing_old("partial_fit", model, &d);
        } else {
            if (!model->method->about.pairs) {
                const int64_t rows[] = {5, ROWS, 0};
                tamis_sparse three = other.view;
                three.rows = 3;
                three.nnz = other.offsets[3];
                works(tamis_model_put_rows(model, &three, rows));
                expect_nothing_old("put_rows", model, &d);
            }
            OWN(data) more = data_make(ROWS + 1, COLS, 8, 26);
            works(tamis_model_renew(model));
            works(tamis_model_fit(model, &more.view, NULL));
            expect_nothing_old("a warm start", model, &d);
        }
    }
}

/* Under ThreadSanitizer only what several threads call: what one thread calls in the others is called there too. */
#ifdef __SANITIZE_THREAD__
enum { THREADS_ALONE = 1 };
#else
enum { THREADS_ALONE = 0 };
#endif

TEST_RUN() {
    if (THREADS_ALONE) return test_run(NULL, "several", find_methods, tear_down);
    return test_run(NULL, NULL, find_methods, tear_down);
}
