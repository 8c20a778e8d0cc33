/*
 * What a fit on a group chooses is what one device chooses, to the bit, however the rows are cut: of data that are
 * looked at whole, and of more, of which the first rows lie on one rank or on several.
 */
#include "test_ml_recommenders.h"

#include "group_threads.h"

#include <tamis/structure.h>

typedef struct job {
    const table *t;
    tamis_model_options options;
    int64_t starts[GROUP_RANKS + 1];
    tamis_model_description chosen[GROUP_RANKS];
} job;

static void fit_rank(group_rank *self) {
    job *const j = self->context;
    tamis_sparse rows;
    OWN(tamis_model) *model = NULL;
    const int64_t first = j->starts[self->rank];
    if (tamis_slice(&j->t->S, first, j->starts[self->rank + 1] - first, 0, 0, &rows) != TAMIS_OK ||
        tamis_model_create(device, &j->options, &model) != TAMIS_OK ||
        tamis_model_fit_group(model, self->group, &rows, NULL) != TAMIS_OK ||
        tamis_model_describe(model, &j->chosen[self->rank]) != TAMIS_OK)
        group_says(self, "%s", tamis_last_error());
}

static void chooses_as(const tamis_model_description *one, int ranks, job *j) {
    group_run_on(device, ranks, 0, fit_rank, j);
    for (int r = 0; r < ranks; r++) {
        const tamis_model_options *const own = &j->chosen[r].options, *const expected = &one->options;
        assert_int_equal(own->factors, expected->factors);
        assert_int_equal(own->weights, expected->weights);
        assert_true(own->regularization == expected->regularization);
        assert_true(own->column_regularization == expected->column_regularization);
        /* lambda by the noise is the share that was chosen times what the data give, which is a sum over ranks */
        if (!(fabs(j->chosen[r].regularization - one->regularization) <= 1e-9 * one->regularization))
            fail_msg("rank %d of %d: lambda %.17g, one device %.17g", r, ranks, j->chosen[r].regularization,
                     one->regularization);
    }
}

/* Cuts the rows evenly; all but the last few on the first rank, or on the last; and with a rank that has none. */
static void on_groups(const table *t, const tamis_model_options *options, int rounds) {
    job j = {.t = t, .options = *options};
    OWN(tamis_model) *const model = model_fitted(device, options, &t->S);
    const tamis_model_description one = model_about(model);
    const int64_t n = t->rows,
                  cuts[][4] = {{0, n / 3, 2 * n / 3, n}, {0, n - 2, n - 1, n}, {0, 1, 1, n}, {0, 0, n / 2, n}};
    for (int i = 0; i < rounds; i++) {
        memcpy(j.starts, cuts[i], sizeof cuts[i]);
        chooses_as(&one, 3, &j);
    }
}

TEST(looked_at_whole) {
    static const tamis_method methods[] = {TAMIS_ALS, TAMIS_IMPLICIT_ALS};
    OWN(table) t = table_of_rank(110, 90, 3, 0.6, 21);
    for (int m = 0; m < 2; m++) {
        tamis_model_options options = options_of(methods[m], TAMIS_F64, 0, 2);
        options.regularization = 0;
        options.weights = TAMIS_WEIGHTS_AUTO;
        on_groups(&t, &options, test_rounds(4, 1));
    }
}

/* More entries than are looked at: the first three quarters of the rows are. */
TEST(looked_at_in_part) {
    OWN(table) t = table_of_rank(1000, 800, 2, 0.9, 22);
    assert_true(t.nnz > 1 << 19);
    tamis_model_options options = options_of(TAMIS_ALS, TAMIS_F32, 1, 1);
    options.regularization = 0;
    on_groups(&t, &options, test_rounds(2, 1));
}

static int set_up(void **state) { return tamis_device_open("cpu", &device) == TAMIS_OK ? 0 : -1; }

static int tear_down(void **state) {
    tamis_device_close(device);
    return 0;
}

TEST_FIXTURE(set_up, tear_down)
