/*
 * Fits on groups: the model of one device but for rounding, the same bits on all ranks, however rows are cut; losses
 * and metrics of the whole; stops, checkpoints, and going on with other numbers of ranks; what ranks disagree on;
 * memory that is short, and ranks that do not come. test_ml_group [DEVICE...]
 */
#include "test_ml_recommenders.h"

#include "group_threads.h"
#include "named_device.h"

#include <tamis/structure.h>
#include <time.h>
#include <unistd.h>

enum { DEVICES = 8, ITERATIONS = 4 };

static const char *names[DEVICES] = {"cpu"};
static int name_count = 1;
static tamis_device *devices[GROUP_RANKS];
static int64_t live;

/* ------------------------------------------------------------------------------------------ fits */

typedef enum cut { CUT_EVEN, CUT_LAST, CUT_SOME, CUTS } cut;

/* Where the rows of each rank begin: equal numbers, all on the last, or wherever, with ranks that have none. */
static void cut_rows(cut how, int64_t rows, int ranks, int64_t *starts) {
    for (int r = 0; r <= ranks; r++) {
        starts[r] = how == CUT_EVEN ? rows * r / ranks : 0;
        if (how == CUT_SOME && r > 0) starts[r] = starts[r - 1] + (r % 3 == 1 ? (rows - starts[r - 1]) / 2 : 0);
    }
    starts[ranks] = rows;
}

/* What one fit is, and what came of it on each rank. */
typedef struct job {
    tamis_model_options options;
    const table *t;
    const tamis_sparse *held;
    int64_t starts[GROUP_RANKS + 1];
    const char *resume, *checkpoint; /* files; the checkpoint of rank 0 */
    int stop_rank, stop_after;       /* that rank says stop after so many iterations; 0: none does */
    tamis_model *models[GROUP_RANKS];
    tamis_status statuses[GROUP_RANKS];
    char messages[GROUP_RANKS][300];
    tamis_iteration last[GROUP_RANKS];
    int told[GROUP_RANKS];
} job;

typedef struct listener {
    job *j;
    int rank;
} listener;

static bool listen(void *context, const tamis_iteration *iteration) {
    const listener *const l = context;
    l->j->last[l->rank] = *iteration;
    l->j->told[l->rank]++;
    return !(l->j->stop_after > 0 && l->rank == l->j->stop_rank && iteration->iteration >= l->j->stop_after);
}

static tamis_sparse rows_of(const tamis_sparse *S, const int64_t *starts, int rank) {
    tamis_sparse slice;
    works(tamis_slice(S, starts[rank], starts[rank + 1] - starts[rank], 0, 0, &slice));
    return slice;
}

static void fit_rank(group_rank *self) {
    job *const j = self->context;
    listener l = {j, self->rank};
    tamis_model_options options = j->options;
    tamis_model *model = NULL;
    options.callback = listen;
    options.callback_context = &l;
    options.checkpoint = self->rank == 0 ? j->checkpoint : NULL;
    const tamis_sparse S = rows_of(&j->t->S, j->starts, self->rank);
    tamis_held_out held = {0};
    tamis_sparse entries;
    if (j->held) {
        entries = rows_of(j->held, j->starts, self->rank);
        held.entries = &entries;
    }
    tamis_status status = j->resume ? tamis_model_load(devices[self->rank], j->resume, &model)
                                    : tamis_model_create(devices[self->rank], &options, &model);
    if (status == TAMIS_OK && j->resume) status = tamis_model_continue_with(model, &options);
    snprintf(j->messages[self->rank], sizeof j->messages[0], "%s", tamis_last_error());
    if (status != TAMIS_OK) { /* the others are told, too */
        tamis_model_free(model);
        model = NULL;
    }
    const tamis_status fitted = tamis_model_fit_group(model, self->group, &S, j->held ? &held : NULL);
    if (status == TAMIS_OK) snprintf(j->messages[self->rank], sizeof j->messages[0], "%s", tamis_last_error());
    if (status == TAMIS_OK) status = fitted;
    j->statuses[self->rank] = status;
    j->models[self->rank] = model;
}

/* The body's context begins with the job. */
static void run_on(int ranks, cut how, double time_limit, void (*body)(group_rank *), job *j) {
    tamis_group *groups[GROUP_RANKS];
    groups_open(devices, GROUP_RANKS, ranks, time_limit, groups);
    cut_rows(how, j->t->rows, ranks, j->starts);
    group_run(ranks, groups, body, j);
    groups_close(groups, ranks);
}

static void fit_on(int ranks, cut how, job *j) { run_on(ranks, how, 600, fit_rank, j); }

static void free_models(job *j) {
    for (int r = 0; r < GROUP_RANKS; r++) {
        tamis_model_free(j->models[r]);
        j->models[r] = NULL;
    }
}
OWN_VALUE(job, free_models)

static void expect_all(const job *j, int ranks, tamis_status status) {
    for (int r = 0; r < ranks; r++)
        if (j->statuses[r] != status)
            fail_msg("rank %d of %d: %s, %s", r, ranks, tamis_status_name(j->statuses[r]), j->messages[r]);
}

/* ------------------------------------------------------------------------------------------ comparing */

/* Both factors, rows first. */
typedef struct numbers {
    int64_t count;
    double *at;
    double loss, metric;
} numbers;

static void numbers_free(numbers *n) { free(n->at); }
OWN_VALUE(numbers, numbers_free)

static numbers numbers_of(tamis_model *model) {
    const tamis_model_description d = model_about(model);
    int64_t width;
    OWN(double) *const rows = factors_of(model, false, &width), *const columns = factors_of(model, true, &width);
    const int64_t of_rows = d.rows * width, of_columns = d.cols * width;
    numbers n = {.count = of_rows + of_columns, .loss = d.loss, .metric = d.metric};
    n.at = malloc((size_t)n.count * sizeof *n.at + 1);
    assert_non_null(n.at);
    memcpy(n.at, rows, (size_t)of_rows * sizeof *rows);
    memcpy(n.at + of_rows, columns, (size_t)of_columns * sizeof *columns);
    return n;
}

static double apart(const numbers *x, const numbers *y) {
    double most = 0;
    assert_int_equal(x->count, y->count);
    for (int64_t i = 0; i < x->count; i++) most = fmax(most, fabs(x->at[i] - y->at[i]));
    return most;
}

static void expect_same_numbers(tamis_model *model, tamis_model *expected) {
    OWN(numbers) x = numbers_of(model), y = numbers_of(expected);
    assert_int_equal(x.count, y.count);
    assert_memory_equal(x.at, y.at, (size_t)x.count * sizeof *x.at);
}

/* One device's fit; with the held-out entries. */
static numbers alone(const job *j, tamis_type type) {
    tamis_model_options options = j->options;
    const tamis_held_out held = {.entries = j->held};
    options.type = type;
    OWN(tamis_model) *const model = model_made(device, &options);
    works(tamis_model_fit(model, &j->t->S, j->held ? &held : NULL));
    return numbers_of(model);
}

static double largest(const numbers *n) {
    double most = 0;
    for (int64_t i = 0; i < n->count; i++) most = fmax(most, fabs(n->at[i]));
    return most;
}

/*
 * How far the loss is off where the factors are by `off`. An error or preference s - x.y is off by 2 width |largest|
 * off, and there are n of these, of weights up to w, whose squares sum up to less than the loss; the other terms are
 * lambda (times the ratings and 40) times squares of the factors.
 */
static double loss_off(const job *j, const numbers *exact, double off) {
    const bool uses = j->options.method == TAMIS_IMPLICIT_ALS;
    const double width = (double)j->options.factors + 1, pairs = (double)(uses ? j->t->rows * j->t->cols : j->t->nnz);
    const double weight = uses ? 10 : 1, most = (double)(j->t->rows + j->t->cols) + 40;
    const double found = uses ? 30 : 0.3; /* by the noise: more than it is for these tables */
    const double given = j->options.regularization > 0 ? j->options.regularization : found;
    const double lambda = given * (j->options.weighted ? most : 1);
    const double terms = 2 * sqrt(weight * pairs * exact->loss) * 2 * width * largest(exact) * off;
    return terms + 2 * lambda * (double)exact->count * largest(exact) * off + 32 * 0x1p-53 * exact->loss;
}

/* The same table with each value off by about one rounding, up or down. */
static table nudged(const table *t, tamis_type type, uint64_t seed) {
    const double unit = type == TAMIS_F64 ? 0x1p-52 : 0x1p-23;
    table other = table_of_rank(t->rows, t->cols, 1, 0, 1);
    for (int64_t i = 0; i < t->rows * t->cols; i++)
        other.at[i] = t->at[i] * (1 + (tamis_random_at(seed, 1, (uint64_t)i) % 2 ? unit : -unit));
    table_arrange(&other);
    return other;
}

/*
 * What rounding does to this fit: how far it goes when each rating is rounded otherwise, in three draws. Another order
 * of sums has rounding errors of the same size in other places, at each step: eight times the most that was seen; and a
 * few roundings of the largest number where a tiny fit happens to round nothing.
 */
typedef struct rounding {
    numbers exact, rough;
    double factors[2], loss[2]; /* by type */
} rounding;

static double moved(const job *j, tamis_type type, const numbers *still) {
    double most = 0;
    for (uint64_t seed = 1; seed < 4; seed++) {
        OWN(table) other = nudged(j->t, type, seed);
        job moving = *j;
        moving.t = &other;
        OWN(numbers) n = alone(&moving, type);
        most = fmax(most, apart(&n, still));
    }
    return 8 * most + 32 * (type == TAMIS_F64 ? 0x1p-53 : 0x1p-24) * largest(still);
}

static rounding rounding_of(const job *j) {
    rounding r = {.exact = alone(j, TAMIS_F64), .rough = alone(j, TAMIS_F32)};
    r.factors[TAMIS_F32] = moved(j, TAMIS_F32, &r.rough);
    r.factors[TAMIS_F64] = moved(j, TAMIS_F64, &r.exact);
    r.loss[TAMIS_F32] = loss_off(j, &r.rough, r.factors[TAMIS_F32]);
    r.loss[TAMIS_F64] = loss_off(j, &r.exact, r.factors[TAMIS_F64]);
    return r;
}

static void rounding_free(rounding *r) {
    numbers_free(&r->exact);
    numbers_free(&r->rough);
}
OWN_VALUE(rounding, rounding_free)

/* Each rank's model against one device's, and their bits against rank 0's. */
static void compare(const job *j, const rounding *r, int ranks, const char *what) {
    const tamis_type type = j->options.type;
    const numbers *const expected = type == TAMIS_F64 ? &r->exact : &r->rough;
    expect_all(j, ranks, TAMIS_OK);
    OWN(numbers) first = numbers_of(j->models[0]);
    for (int rank = 0; rank < ranks; rank++) {
        OWN(numbers) n = numbers_of(j->models[rank]);
        const double off = apart(&n, expected);
        if (!(off <= r->factors[type]))
            fail_msg("%s, %d ranks: factors are off by %g, allowed %g", what, ranks, off, r->factors[type]);
        if (!(fabs(n.loss - expected->loss) <= r->loss[type]))
            fail_msg("%s, %d ranks: the loss is %.17g, expected %.17g", what, ranks, n.loss, expected->loss);
        if (j->held && !(fabs(n.metric - expected->metric) <= (type == TAMIS_F64 ? 1e-9 : 1e-4)))
            fail_msg("%s, %d ranks: the metric is %.17g, expected %.17g", what, ranks, n.metric, expected->metric);
        assert_int_equal(j->told[rank], j->last[rank].iteration);
        assert_true(j->last[rank].loss == n.loss);
        assert_memory_equal(n.at, first.at, (size_t)n.count * sizeof *n.at);
        assert_true(n.loss == first.loss);
    }
}

/* Entries of another draw, without those of the table. */
static table held_out_of(const table *t) {
    table held = table_of_rank(t->rows, t->cols, 2, 0.2, 91);
    for (int64_t i = 0; i < t->rows * t->cols; i++)
        if (!isnan(t->at[i])) held.at[i] = NAN;
    table_arrange(&held);
    return held;
}

/* ------------------------------------------------------------------------------------------ the same model */

typedef struct variant {
    const char *name;
    tamis_method method;
    bool weighted, biases, by_noise;
} variant;

static const variant variants[] = {{"als", TAMIS_ALS, true, true, false},
                                   {"als without biases", TAMIS_ALS, true, false, false},
                                   {"als with one lambda", TAMIS_ALS, false, true, false},
                                   {"implicit-als", TAMIS_IMPLICIT_ALS, false, false, false},
                                   {"als by noise", TAMIS_ALS, true, true, true},
                                   {"implicit-als by noise", TAMIS_IMPLICIT_ALS, false, false, true}};
enum { VARIANTS = 6 };

static job job_of(const variant *v, const table *t, tamis_type type) {
    job j = {.options = options_of(v->method, type, 5, ITERATIONS), .t = t};
    j.options.weighted = v->weighted;
    j.options.biases = v->biases;
    if (v->by_noise) j.options.regularization = 0;
    return j;
}

static void fit_table(const table *t, const tamis_sparse *held, const int *counts) {
    for (int n = 0; n < VARIANTS; n++) {
        job j = job_of(&variants[n], t, TAMIS_F64);
        j.held = held;
        OWN(rounding) r = rounding_of(&j);
        for (int i = 0; counts[i] > 0; i++)
            for (int how = 0; how < 2 * CUTS; how++) {
                OWN(job) one = j;
                one.options.type = how % 2 ? TAMIS_F32 : TAMIS_F64;
                fit_on(counts[i], (cut)(how / 2), &one);
                compare(&one, &r, counts[i], variants[n].name);
            }
    }
}

TEST(same_model) {
    OWN(table) t = table_of_rank(67, 43, 3, 0.4, 21), held = held_out_of(&t);
    static const int all[] = {1, 2, 3, 5, 8, 0}, some[] = {3, 8, 0};
    fit_table(&t, &held.S, on_cpu ? (test_rounds(1, 0) ? all : some) : (const int[]){3, 0});
}

/* More ranks than rows or columns, a single column, and no ratings at all. */
TEST(small_data) {
    const int64_t sizes[][2] = {{3, 40}, {40, 2}, {2, 1}};
    for (int n = 0; n < 3; n++) {
        OWN(table) t = table_of_rank(sizes[n][0], sizes[n][1], 2, 0.7, 31);
        fit_table(&t, NULL, on_cpu ? (const int[]){2, 5, 0} : (const int[]){5, 0});
    }
    OWN(table) nothing = table_of_rank(7, 9, 2, 0, 31);
    assert_int_equal(nothing.nnz, 0);
    fit_table(&nothing, NULL, (const int[]){3, 0});
}

/* The loss falls to what all ranks' fit has, and a tolerance stops all of them at once. */
TEST(tolerance) {
    OWN(table) t = table_of_rank(67, 43, 3, 0.4, 21);
    OWN(job) j = job_of(&variants[0], &t, TAMIS_F64);
    j.options.iterations = 50;
    j.options.tolerance = 0.01;
    fit_on(3, CUT_EVEN, &j);
    expect_all(&j, 3, TAMIS_OK);
    assert_true(j.told[0] > 1 && j.told[0] < 50);
    for (int r = 1; r < 3; r++) assert_int_equal(j.told[r], j.told[0]);
}

/* ------------------------------------------------------------------------------------------ stopping and going on */

static char file[] = "/tmp/tamis-group-XXXXXX";

/* Stopped by the callback of one rank, a fit goes on: in memory with the bits of one that was not stopped; from the
   checkpoint on other numbers of ranks, and on one device, to rounding. And from one device's on ranks. */
TEST(goes_on) {
    OWN(table) t = table_of_rank(67, 43, 3, 0.4, 21);
    for (int n = 0; n < VARIANTS; n += 3) {
        OWN(job) whole = job_of(&variants[n], &t, TAMIS_F64), part = whole;
        OWN(rounding) r = rounding_of(&whole);
        fit_on(3, CUT_EVEN, &whole);
        expect_all(&whole, 3, TAMIS_OK);
        part.stop_rank = 1;
        part.stop_after = 2;
        part.checkpoint = file;
        fit_on(3, CUT_EVEN, &part);
        expect_all(&part, 3, TAMIS_ERROR_CANCELLED);
        for (int rank = 0; rank < 3; rank++) {
            assert_int_equal(part.told[rank], 2);
            assert_string_equal(part.messages[rank], "stopped after iteration 2 of 4");
        }
        for (int ranks = 1; ranks <= 5; ranks += 2) {
            OWN(job) rest = job_of(&variants[n], &t, TAMIS_F64);
            rest.resume = file;
            fit_on(ranks, CUT_EVEN, &rest);
            expect_all(&rest, ranks, TAMIS_OK);
            assert_int_equal(rest.told[0], 2);
            for (int rank = 0; rank < ranks; rank++) rest.told[rank] = ITERATIONS; /* compare() counts from the start */
            compare(&rest, &r, ranks, "gone on");
            if (ranks == 3) expect_same_numbers(rest.models[0], whole.models[0]);
        }
        OWN(tamis_model) *model;
        works(tamis_model_load(device, file, &model));
        works(tamis_model_continue_with(model, &part.options));
        works(tamis_model_fit(model, &t.S, NULL));
        OWN(numbers) x = numbers_of(model);
        assert_true(apart(&x, &r.exact) <= r.factors[TAMIS_F64]);
    }
}

/* The file in the end is that of the model which every rank has. */
TEST(checkpoint_is_whole) {
    OWN(table) t = table_of_rank(67, 43, 3, 0.4, 21);
    OWN(job) j = job_of(&variants[0], &t, TAMIS_F32), other = j;
    j.checkpoint = file;
    j.options.checkpoint_seconds = 0;
    fit_on(3, CUT_SOME, &j);
    expect_all(&j, 3, TAMIS_OK);
    OWN(tamis_model) *model;
    works(tamis_model_load(device, file, &model));
    expect_same_numbers(model, j.models[2]);
    other.checkpoint = "/nowhere/at/all";
    fit_on(3, CUT_EVEN, &other);
    expect_all(&other, 3, TAMIS_ERROR_FILE); /* the last one; those between are said to the callback */
    assert_non_null(strstr(other.messages[2], "rank 0: /nowhere/at/all"));
}

/* ------------------------------------------------------------------------------------------ errors */

typedef struct quarrel {
    void (*spoil)(tamis_model_options *options, tamis_sparse *S, double *values);
    tamis_status status;
    const char *message;
    bool features; /* of columns */
} quarrel;

static void more_factors(tamis_model_options *options, tamis_sparse *S, double *values) { options->factors++; }
static void other_lambda(tamis_model_options *options, tamis_sparse *S, double *values) {
    options->regularization = 0.25;
}
static void other_method(tamis_model_options *options, tamis_sparse *S, double *values) {
    *options = default_options(TAMIS_CCD);
}
static void more_columns(tamis_model_options *options, tamis_sparse *S, double *values) { S->cols++; }
static void no_number(tamis_model_options *options, tamis_sparse *S, double *values) { values[0] = NAN; }
static void no_matrix(tamis_model_options *options, tamis_sparse *S, double *values) { S->offsets = NULL; }
static void nothing(tamis_model_options *options, tamis_sparse *S, double *values) {}

static const quarrel quarrels[] = {
    {more_factors, TAMIS_ERROR_ARGUMENT, "^rank 1: options.factors = 6, but 5 on rank 0"},
    {other_lambda, TAMIS_ERROR_ARGUMENT, "^rank 1: options.regularization = 0.25, but 0.10000000000000001 on rank 0"},
    {other_method, TAMIS_ERROR_UNSUPPORTED,
     "^rank 1: ccd cannot be fitted on a group, only als and implicit-als can: use one device"},
    {more_columns, TAMIS_ERROR_ARGUMENT, "^rank 1: S.cols = 44, but 43 on rank 0"},
    {no_number, TAMIS_ERROR_ARGUMENT, "^rank 1: S has the value nan at row "},
    {no_matrix, TAMIS_ERROR_ARGUMENT, "^rank 1: S.offsets"},
    {nothing, TAMIS_ERROR_UNSUPPORTED,
     "^rank 1: the model has features of columns, which fits on groups do not use: fit it on one device$", true},
};
enum { QUARRELS = (int)(sizeof quarrels / sizeof *quarrels) };

typedef struct dispute {
    job j;
    const quarrel *what;
} dispute;

/* First with what is wrong on rank 1, then without, on the same group. */
static void disagree(group_rank *self) {
    dispute *const d = self->context;
    job *const j = &d->j;
    tamis_model_options options = j->options;
    tamis_sparse S = rows_of(&j->t->S, j->starts, self->rank);
    OWN(double) *const values = malloc((size_t)j->t->nnz * sizeof *values);
    const double *const all = j->t->values;
    memcpy(values, all, (size_t)j->t->nnz * sizeof *values);
    if (self->rank == 1) {
        d->what->spoil(&options, &S, values + S.offset_base);
        S.values = values;
        S.values = (const char *)S.values + ((const char *)rows_of(&j->t->S, j->starts, 1).values - (const char *)all);
    }
    OWN(tamis_model) *model = NULL, *good = NULL;
    if (tamis_model_create(devices[self->rank], &options, &model) != TAMIS_OK) group_says(self, "no model");
    if (self->rank == 1 && d->what->features) group_works(self, tamis_model_set_features(model, false, &S));
    group_expects(self, tamis_model_fit_group(model, self->group, &S, NULL), d->what->status, d->what->message);
    S = rows_of(&j->t->S, j->starts, self->rank);
    tamis_model_create(devices[self->rank], &j->options, &good);
    group_works(self, tamis_model_fit_group(good, self->group, &S, NULL));
}

TEST(disagreements) {
    OWN(table) t = table_of_rank(67, 43, 3, 0.4, 21);
    for (int n = 0; n < QUARRELS; n++) {
        dispute d = {.j = job_of(&variants[0], &t, TAMIS_F32), .what = &quarrels[n]};
        d.j.options.iterations = 1;
        run_on(3, CUT_EVEN, 600, disagree, &d.j);
    }
}

/* A checkpoint goes on with its own data alone; no group, no model. */
TEST(other_data) {
    OWN(table) t = table_of_rank(67, 43, 3, 0.4, 21), other = table_of_rank(67, 43, 3, 0.4, 22);
    OWN(job) j = job_of(&variants[0], &t, TAMIS_F64), rest = job_of(&variants[0], &other, TAMIS_F64);
    j.checkpoint = file;
    fit_on(2, CUT_EVEN, &j);
    expect_all(&j, 2, TAMIS_OK);
    rest.resume = file;
    fit_on(3, CUT_EVEN, &rest);
    expect_all(&rest, 3, TAMIS_ERROR_ARGUMENT);
    assert_non_null(strstr(rest.messages[1], "S differs from the data of the first 4 iterations"));
    REFUSED(ARGUMENT, "^group is NULL$", tamis_model_fit_group(rest.models[0], NULL, &t.S, NULL));
}

/* Whatever memory is short, on whichever rank first: all calls end, soon, with an error, and nothing is left behind. */
TEST(short_memory) {
    if (!on_cpu) skip_because("of the CPU alone: compiling allocates as it likes");
    OWN(table) t = table_of_rank(23, 17, 2, 0.4, 81);
    for (int n = 0; n < VARIANTS; n += 3) {
        bool all_well = false;
        for (int64_t fail = 1; !all_well; fail += test_rounds(fail < 200 ? 1 : 3, 5)) {
            tamis_group *groups[GROUP_RANKS];
            job j = job_of(&variants[n], &t, TAMIS_F32);
            j.options.iterations = 1;
            j.options.threads = 1;
            groups_open(devices, GROUP_RANKS, 2, 100, groups);
            cut_rows(CUT_EVEN, t.rows, 2, j.starts);
            const int64_t before = tamis_memory_live();
            const double start = test_seconds();
            tamis_memory_fail_at(fail);
            group_run(2, groups, fit_rank, &j);
            tamis_memory_fail_at(0);
            assert_true(test_seconds() - start < 90); /* nobody has waited for the time limit */
            all_well = j.statuses[0] == TAMIS_OK && j.statuses[1] == TAMIS_OK;
            if (!all_well && (j.statuses[0] == TAMIS_OK || j.statuses[1] == TAMIS_OK))
                fail_msg("allocation %d: one rank has succeeded, the other says: %s%s", (int)fail, j.messages[0],
                         j.messages[1]);
            free_models(&j);
            assert_int_equal(tamis_memory_live(), before);
            groups_close(groups, 2);
            assert_true(fail < 3000);
        }
    }
}

static int given_up; /* ranks that no longer wait */

static void await_others(void) {
    const struct timespec moment = {.tv_nsec = 5000000};
    while (__atomic_load_n(&given_up, __ATOMIC_ACQUIRE) < 2) nanosleep(&moment, NULL);
}

static bool sleep_long(void *context, const tamis_iteration *iteration) {
    if (iteration->iteration == 2) await_others();
    return true;
}

static bool never_comes;

/* Rank 1 fits nothing, or leaves in the midst of it: the others say so after the time limit. */
static void one_is_away(group_rank *self) {
    job *const j = self->context;
    if (self->rank != 1) {
        fit_rank(self);
        __atomic_add_fetch(&given_up, 1, __ATOMIC_ACQ_REL);
        return;
    }
    if (never_comes) await_others();
    j->statuses[1] = TAMIS_ERROR_DEVICE;
    if (never_comes) return;
    tamis_model_options options = j->options;
    const tamis_sparse S = rows_of(&j->t->S, j->starts, 1);
    options.callback = sleep_long;
    works(tamis_model_create(devices[1], &options, &j->models[1]));
    j->statuses[1] = tamis_model_fit_group(j->models[1], self->group, &S, NULL);
    const tamis_model_description d = model_about(j->models[1]);
    if (d.iterations_done != 0 || d.rows != 0) group_says(self, "the model is not empty");
}

TEST(absent) {
    OWN(table) t = table_of_rank(67, 43, 3, 0.4, 21);
    for (int n = 0; n < 2; n++) {
        OWN(job) j = job_of(&variants[0], &t, TAMIS_F32);
        given_up = 0;
        never_comes = n == 0;
        run_on(3, CUT_EVEN, 2, one_is_away, &j);
        expect_all(&j, 3, TAMIS_ERROR_DEVICE);
        for (int r = 0; r < 3; r += 2) assert_non_null(strstr(j.messages[r], "these ranks had not come: 1"));
    }
}

/* ------------------------------------------------------------------------------------------ the frame */

static int set_up(void **state) {
    live = tamis_memory_live();
    for (int r = 0; r < GROUP_RANKS; r++)
        if (tamis_device_open(names[r % name_count], &devices[r]) != TAMIS_OK) return -1;
    device = devices[0];
    return 0;
}

static int tear_down(void **state) {
    for (int r = 0; r < GROUP_RANKS; r++) tamis_device_close(devices[r]);
    unlink(file);
    return tamis_memory_live() == live ? 0 : -1;
}

TEST_RUN() {
    for (name_count = argc > 1 ? 0 : 1; name_count + 1 < argc && name_count < DEVICES; name_count++)
        names[name_count] = argv[name_count + 1];
    on_cpu = strcmp(names[0], "cpu") == 0;
    for (int i = 0; i < name_count; i++)
        if (!named_device_is_here(0, NULL, &names[i])) return 77;
    const int made = mkstemp(file);
    if (made >= 0) close(made);
    return test_run("models on groups", NULL, set_up, tear_down);
}
