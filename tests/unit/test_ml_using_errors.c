/* Using a model with arguments that cannot be. */
#include "support/test.h"

#include "ml/fit/place.h"
#include "test_ml_models.h"

#include "cpu_device.h"

/* ------------------------------------------------------------------------------------------ errors */

typedef struct errors {
    tamis_model *model, *empty, *without_rows;
    data d;
    tamis_dense W;
    double numbers[64];
    int64_t columns[64];
} errors;

static tamis_model *empty_model(void) {
    tamis_model *model;
    tamis_model_options options = default_options(TAMIS_ALS);
    works(tamis_model_create(device, &options, &model));
    return model;
}

TEST(refuses) {
    errors e = {.model = model_by_hand(device, TAMIS_ALS, TAMIS_DATA_RATINGS, 7, 9, 2, TAMIS_F64, false),
                .empty = empty_model(),
                .without_rows = model_by_hand(device, TAMIS_LDA, TAMIS_DATA_COUNTS, 7, 9, 2, TAMIS_F64, false),
                .d = data_make(7, 9, 3, 1)};
    ml_dense_free(e.without_rows, &e.without_rows->row_factors);
    e.W = (tamis_dense){.data = e.numbers, .rows = 7, .cols = 2, .type = TAMIS_F64};
    const tamis_sparse *const S = &e.d.view;
    tamis_sparse wide = *S, tall = *S, there = *S;
    wide.cols = 8;
    tall.rows = 6;
    tall.nnz = e.d.offsets[6];
    there.location = TAMIS_DEVICE;
    double *const p = e.numbers;
    REFUSED(ARGUMENT, "^model is NULL$", tamis_model_predict(NULL, NULL, S, p));
    REFUSED(ARGUMENT, "^the model has not been fitted yet$", tamis_model_predict(e.empty, NULL, S, p));
    REFUSED(ARGUMENT, "^S = NULL: expected a sparse matrix$", tamis_model_predict(e.model, NULL, NULL, p));
    REFUSED(ARGUMENT, "^S.location = device: expected arrays on the host$",
            tamis_model_predict(e.model, NULL, &there, p));
    REFUSED(ARGUMENT, "^S.cols = 8, but the model has 9 columns$", tamis_model_predict(e.model, NULL, &wide, p));
    REFUSED(ARGUMENT, "^S.rows = 6, but the model has 7 rows$", tamis_model_predict(e.model, NULL, &tall, p));
    REFUSED(ARGUMENT, "^S.rows = 6, but W has 7 rows$", tamis_model_predict(e.model, &e.W, &tall, p));
    REFUSED(ARGUMENT, "^predictions is NULL$", tamis_model_predict(e.model, NULL, S, NULL));
    REFUSED(ARGUMENT, "^W is NULL, but the model (lda) stores no row factors: compute them with tamis_model_transform$",
            tamis_model_predict(e.without_rows, NULL, S, p));
    SPOILT(e.W.type, TAMIS_F32, ARGUMENT, "^W.type = fp32: expected fp64$", tamis_model_predict(e.model, &e.W, S, p));
    SPOILT(e.W.cols, 3, ARGUMENT, "^W.cols = 3: expected 2$", tamis_model_predict(e.model, &e.W, S, p));
    SPOILT(e.W.layout, TAMIS_COLUMN_MAJOR, ARGUMENT, "^W.layout = column-major: expected row-major$",
           tamis_model_predict(e.model, &e.W, S, p));
    const tamis_sparse coo = data_coo(&e.d);
    SPOILT(e.d.columns[2], 9, PATTERN, "columns[2] = 9 is not in 0 .. 8", tamis_model_predict(e.model, NULL, S, p));
#define SPOILT_SEEN(number, value, S, words)                                                                           \
    SPOILT(number, value, PATTERN, words, tamis_model_recommend(e.model, NULL, NULL, 7, S, 2, e.columns, p))
    SPOILT_SEEN(e.d.columns[2], 9, S, "^seen.columns[2] = 9: expected 0 .. 8$");
    SPOILT_SEEN(e.d.columns[2], 9, &coo, "^seen.columns[2] = 9: expected 0 .. 8$");
    SPOILT_SEEN(e.d.rows[1], -1, &coo, "^seen.row_indices[1] = -1: expected 0 .. 6$");
    SPOILT_SEEN(e.d.offsets[2], 1000, S, "seen.offsets[2] = 1000: expected ");

    REFUSED(ARGUMENT, "^model is NULL$", tamis_model_transform(NULL, S, &e.W));
    REFUSED(ARGUMENT, "^the model has not been fitted yet$", tamis_model_transform(e.empty, S, &e.W));
    REFUSED(ARGUMENT, "^S = NULL: expected a sparse matrix$", tamis_model_transform(e.model, NULL, &e.W));
    REFUSED(ARGUMENT, "^W is NULL$", tamis_model_transform(e.model, S, NULL));
    REFUSED(ARGUMENT, "^S.cols = 8, but the model has 9 columns$", tamis_model_transform(e.model, &wide, &e.W));
    REFUSED(ARGUMENT, "^W.rows = 7, but S.rows = 6$", tamis_model_transform(e.model, &tall, &e.W));
    SPOILT(e.W.stride, 1, ARGUMENT, "^W.stride = 1: expected 0 or at least cols = 2$",
           tamis_model_transform(e.model, S, &e.W));
    SPOILT(e.d.values[1], INFINITY, ARGUMENT, "S has the value inf at row 0", tamis_model_transform(e.model, S, &e.W));

    const int64_t rows[] = {1, 2, 6, 7000}, negative = -1;
#define RECOMMEND(rows, count, seen, n) tamis_model_recommend(e.model, NULL, rows, count, seen, n, e.columns, p)
    REFUSED(ARGUMENT, "^model is NULL$", tamis_model_recommend(NULL, NULL, NULL, 1, NULL, 1, e.columns, p));
    REFUSED(ARGUMENT, "^the model has not been fitted yet$",
            tamis_model_recommend(e.empty, NULL, NULL, 1, NULL, 1, e.columns, p));
    REFUSED(ARGUMENT, "^rows[3] = 7000, the model has 7 rows$", RECOMMEND(rows, 4, NULL, 1));
    REFUSED(ARGUMENT, "^rows[0] = -1, W has 7 rows$",
            tamis_model_recommend(e.model, &e.W, &negative, 1, NULL, 1, e.columns, p));
    REFUSED(ARGUMENT, "^count = 8, the model has 7 rows$", RECOMMEND(NULL, 8, NULL, 1));
    REFUSED(ARGUMENT, "^count = -1 is negative$", RECOMMEND(NULL, -1, NULL, 1));
    REFUSED(ARGUMENT, "^n = -2 is negative$", RECOMMEND(NULL, 7, NULL, -2));
    REFUSED(ARGUMENT, "^columns is NULL$", tamis_model_recommend(e.model, NULL, NULL, 7, NULL, 1, NULL, p));
    REFUSED(ARGUMENT, "^scores is NULL$", tamis_model_recommend(e.model, NULL, NULL, 7, NULL, 1, e.columns, NULL));
    REFUSED(ARGUMENT, "^seen.cols = 8, but the model has 9 columns$", RECOMMEND(NULL, 7, &wide, 1));
    REFUSED(ARGUMENT, "^seen.rows = 6, but the model has 7 rows$", RECOMMEND(NULL, 7, &tall, 1));

    REFUSED(ARGUMENT, "^model is NULL$", tamis_model_topics(NULL, 1, e.columns, p));
    REFUSED(ARGUMENT, "^the model has not been fitted yet$", tamis_model_topics(e.empty, 1, e.columns, p));
    REFUSED(ARGUMENT, "^n = -1 is negative$", tamis_model_topics(e.model, -1, e.columns, p));
    REFUSED(ARGUMENT, "^columns is NULL$", tamis_model_topics(e.model, 1, NULL, p));
    REFUSED(ARGUMENT, "^weights is NULL$", tamis_model_topics(e.model, 1, e.columns, NULL));
    works(tamis_model_topics(e.model, 0, NULL, NULL));

#define SCORE(held_out, again, top) tamis_model_score(e.model, held_out, again, top, &score)
    tamis_score score;
    const tamis_held_out good = {.entries = S, .observed = S}, none = {.observed = S}, alone = {.entries = S},
                         other = {.entries = S, .observed = &tall}, small = {.entries = &tall},
                         narrow = {.entries = &wide, .observed = S};
    REFUSED(ARGUMENT, "^model is NULL$", tamis_model_score(NULL, &good, false, 0, &score));
    REFUSED(ARGUMENT, "^the model has not been fitted yet$", tamis_model_score(e.empty, &good, false, 0, &score));
    REFUSED(ARGUMENT, "^held_out is NULL$", SCORE(NULL, false, 0));
    REFUSED(ARGUMENT, "^held_out.entries is NULL$", SCORE(&none, false, 0));
    REFUSED(ARGUMENT, "^top = -1 is negative$", SCORE(&good, false, -1));
    REFUSED(ARGUMENT, "^score is NULL$", tamis_model_score(e.model, &good, false, 0, NULL));
    REFUSED(ARGUMENT, "^held_out.observed is NULL, but the rows' factors (als) are computed from it$",
            SCORE(&alone, true, 0));
    REFUSED(ARGUMENT, "^held_out.observed is NULL, but the rows' factors (lda) are computed from it$",
            tamis_model_score(e.without_rows, &alone, false, 0, &score));
    REFUSED(ARGUMENT, "^held_out.observed.rows = 6, but held_out.entries.rows = 7$", SCORE(&other, false, 0));
    REFUSED(ARGUMENT, "^held_out.entries.rows = 6, but the model has 7 rows$", SCORE(&small, false, 0));
    REFUSED(ARGUMENT, "^held_out.entries.cols = 8, but the model has 9 columns$", SCORE(&narrow, false, 0));
    works(tamis_model_score(e.model, &alone, false, 0, &score));
    assert_string_equal(tamis_last_error(), "");
    data_free(&e.d);
    tamis_model_free(e.model);
    tamis_model_free(e.empty);
    tamis_model_free(e.without_rows);
}

TEST_FIXTURE(set_up, tear_down)
