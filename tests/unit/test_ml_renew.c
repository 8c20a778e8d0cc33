/* Models that go on with other data: warm starts with more rows and columns, and rows that are put into a model. */
#include "support/test.h"

#include "ml/numbers.h"
#include "model_rows.h"

#include "cpu_device.h" /* after the headers whose arguments have the device's name */

enum { ROWS = 50, COLS = 30, MORE_ROWS = 64, MORE_COLS = 37, FACTORS = 4 };

/* The methods that keep factors of rows and need all data at once. */
static tamis_method methods[16];
static int method_count;

static int find_methods(void **state) {
    tamis_method_description about;
    method_count = 0;
    for (int i = 0; i < tamis_method_count(); i++)
        if (tamis_method_at(i, &about) == TAMIS_OK && about.row_factors && !about.mini_batches)
            methods[method_count++] = about.method;
    return set_up(state);
}

static tamis_model_options options_of(int number, tamis_type type, int iterations) {
    tamis_model_options options = model_case_of(methods[number]).options;
    options.type = type;
    options.factors = FACTORS;
    options.iterations = iterations;
    options.threads = 2;
    return options;
}

/* No iterations more: what was there stays, what is new is small and of some size; then it goes on, and the loss of ALS
   goes on falling. */
TEST(warm_starts_keep_what_is_there) {
    OWN(data) d = data_make(ROWS, COLS, 9, 3), more = data_make(MORE_ROWS, MORE_COLS, 9, 4);
    for (int m = 0; m < method_count; m++) {
        tamis_model_options options = options_of(m, m & 1 ? TAMIS_F64 : TAMIS_F32, 6);
        OWN(tamis_model) *const model = model_fitted(device, &options, &d.view);
        const tamis_model_description before = model_about(model);
        for (int rows = 0; rows < 2; rows++) {
            OWN(tamis_model) *const same = model_fitted(device, &options, &d.view);
            options.iterations = 0;
            works(tamis_model_continue_with(same, &options));
            works(tamis_model_renew(same));
            works(tamis_model_fit(same, &more.view, NULL));
            options.iterations = 6;
            int64_t had, has;
            OWN(double) *const old = model_factors(model, rows, &had), *const now = model_factors(same, rows, &has);
            assert_int_equal(has, rows ? MORE_ROWS : MORE_COLS);
            assert_memory_equal(old, now, (size_t)(had * before.width) * sizeof *old);
            for (int64_t i = had; i < has; i++) {
                double squares = 0;
                for (int64_t k = 0; k < before.width; k++)
                    squares += now[i * before.width + k] * now[i * before.width + k];
                assert_true(squares > 0 && squares < 0.011);
            }
            const tamis_model_description after = model_about(same);
            assert_int_equal(after.iterations_done, 6);
            assert_int_equal(after.nnz, more.view.nnz);
            assert_true(after.mean == before.mean && after.scale == before.scale);
        }
        works(tamis_model_renew(model));
        works(tamis_model_fit(model, &more.view, NULL));
        assert_int_equal(model_about(model).iterations_done, 12);
        assert_true(isfinite(model_loss(model)));
        /* the model goes on with these data, and with no others */
        assert_int_equal(tamis_model_fit(model, &d.view, NULL), TAMIS_ERROR_ARGUMENT);
    }
}

/* With the same data a warm start of n iterations is a fit that goes on by n: the same bits, through a file too. */
TEST(warm_starts_of_the_same_data_go_on) {
    OWN(data) d = data_make(ROWS, COLS, 9, 3);
    for (int m = 0; m < method_count; m++) {
        tamis_model_options options = options_of(m, TAMIS_F32, 4);
        OWN(tamis_model) *const first = model_fitted(device, &options, &d.view);
        OWN(tamis_model) *const loaded = model_reloaded(device, first);
        options.iterations = 3;
        works(tamis_model_continue_with(loaded, &options));
        works(tamis_model_renew(loaded));
        works(tamis_model_fit(loaded, &d.view, NULL));
        options.iterations = 7;
        OWN(tamis_model) *const whole = model_fitted(device, &options, &d.view);
        model_expect_same("a warm start", loaded, whole);
    }
}

/* Rows that are put in have the factors that transform gives, in their places; the others and the columns stay. */
TEST(rows_are_put_in) {
    OWN(data) d = data_make(ROWS, COLS, 9, 3), three = data_make(3, COLS, 12, 8);
    for (int m = 0; m < method_count; m++) {
        tamis_model_options options = options_of(m, m & 1 ? TAMIS_F32 : TAMIS_F64, 5);
        OWN(tamis_model) *const model = model_fitted(device, &options, &d.view);
        const int64_t width = model_about(model).width, places[] = {ROWS, 7, ROWS + 1};
        int64_t had, has;
        OWN(double) *const before = model_factors(model, true, &had), *const W = model_transformed(model, &three.view);
        works(tamis_model_put_rows(model, &three.view, places));
        OWN(double) *const after = model_factors(model, true, &has);
        assert_int_equal(has, ROWS + 2);
        for (int64_t i = 0; i < ROWS; i++)
            if (i != 7) assert_memory_equal(after + i * width, before + i * width, (size_t)width * sizeof *after);
        for (int i = 0; i < 3; i++)
            assert_memory_equal(after + places[i] * width, W + i * width, (size_t)width * sizeof *after);
        int64_t columns[3];
        double scores[3];
        const int64_t last = ROWS + 1;
        works(tamis_model_recommend(model, NULL, &last, 1, NULL, 3, columns, scores));
        REFUSED(ARGUMENT, "^S has 50 rows, but the model 52, some of which were put in later$",
                tamis_model_fit(model, &d.view, NULL));
        works(tamis_model_put_rows(model, &three.view, NULL));
        assert_int_equal(model_about(model).rows, ROWS + 5);
        const int64_t far[] = {0, ROWS + 6, 1};
        REFUSED(ARGUMENT, "^rows[1] = 56, expected 0 to 55: rows of the model or the next one$",
                tamis_model_put_rows(model, &three.view, far));
        OWN(data) more = data_make(MORE_ROWS, COLS, 9, 5);
        works(tamis_model_renew(model));
        works(tamis_model_fit(model, &more.view, NULL));
    }
}

TEST(what_cannot_be_is_refused) {
    OWN(data) d = data_make(ROWS, COLS, 9, 3), less = data_make(ROWS, COLS - 1, 9, 3),
              fewer = data_make(ROWS - 1, COLS, 9, 3);
    tamis_model_options options = options_of(0, TAMIS_F32, 3);
    OWN(tamis_model) *const model = model_made(device, &options);
    assert_int_equal(tamis_model_renew(model), TAMIS_ERROR_ARGUMENT); /* it is not fitted */
    works(tamis_model_fit(model, &d.view, NULL));
    works(tamis_model_renew(model));
    REFUSED(ARGUMENT, "^S has 29 columns, the model 30: a warm start has its columns first, and then new ones$",
            tamis_model_fit(model, &less.view, NULL));
    works(tamis_model_renew(model));
    REFUSED(ARGUMENT, "^S has 49 rows, the model 50: a warm start has its rows first, and then new ones$",
            tamis_model_fit(model, &fewer.view, NULL));
    double prediction[1 << 12];
    works(tamis_model_predict(model, NULL, &d.view, prediction)); /* it is as it was */
    options = default_options(TAMIS_EASE);
    OWN(tamis_model) *const ease = model_fitted(device, &options, &d.view);
    works(tamis_model_renew(ease)); /* it is fitted anew */
    works(tamis_model_fit(ease, &less.view, NULL));
}

/* What could not be read again is not kept: some methods have no factors for such rows. */
TEST(rows_that_overflow_are_refused) {
    OWN(data) d = data_make(ROWS, COLS, 9, 3), large = data_make(2, COLS, 9, 3);
    int refused = 0;
    for (int64_t t = ml_offset(&large.view, 1); t < large.view.nnz; t++)
        ml_put_number((void *)(uintptr_t)large.view.values, large.view.value_type, t, 1.7e308);
    for (int m = 0; m < method_count; m++) {
        tamis_model_options options = options_of(m, TAMIS_F64, 3);
        OWN(tamis_model) *const model = model_fitted(device, &options, &d.view);
        const tamis_status status = tamis_model_put_rows(model, &large.view, NULL);
        if (status != TAMIS_OK)
            assert_string_equal(tamis_last_error(), "row 1 of S: its factors are not finite numbers");
        refused += status == TAMIS_ERROR_ARGUMENT;
        int64_t count;
        OWN(double) *const factors = model_factors(model, true, &count);
        assert_int_equal(count, status == TAMIS_OK ? ROWS + 2 : ROWS);
        for (int64_t i = 0; i < count * FACTORS; i++) assert_true(isfinite(factors[i]));
    }
    assert_true(refused > 0);
}

TEST_FIXTURE(find_methods, tear_down)
