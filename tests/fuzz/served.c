/* What a program that serves a model does with it: see crafted.h. */
#include <stdlib.h>

#include "crafted.h"
#include "fuzz.h"
#include "support/call.h"

enum { LARGE = 1 << 12, MOST = 16 };

/* Some rows of the model's columns, and of `more` others. */
typedef struct rows {
    tamis_sparse view;
    int64_t *offsets, *columns;
    float *values;
} rows;

static void rows_make(int64_t count, int64_t cols, int64_t more, rows *r) {
    r->offsets = malloc((size_t)(count + 1) * sizeof *r->offsets);
    r->columns = malloc((size_t)(2 * count + 1) * sizeof *r->columns);
    r->values = malloc((size_t)(2 * count + 1) * sizeof *r->values);
    fuzz_demand(r->offsets && r->columns && r->values, "no memory");
    int64_t nnz = r->offsets[0] = 0;
    for (int64_t i = 0; i < count; i++) {
        const int64_t first = i % cols, last = cols - 1;
        r->columns[nnz] = first;
        r->values[nnz++] = (float)(1 + i % 4);
        if (last > first) {
            r->columns[nnz] = last;
            r->values[nnz++] = 2;
        }
        r->offsets[i + 1] = nnz;
    }
    r->view = csr_of(TAMIS_F32, count, cols + more, nnz, r->offsets, r->columns, r->values);
    r->view.offset_type = r->view.index_type = TAMIS_I64;
}

static void rows_free(rows *r) {
    free(r->offsets);
    free(r->columns);
    free(r->values);
}

static void check(tamis_status status) {
    fuzz_demand((status == TAMIS_OK) == (*tamis_last_error() == '\0'), "message and status disagree");
}

static void columns_exist(tamis_status status, const int64_t *columns, int64_t count, int64_t cols) {
    check(status);
    for (int64_t i = 0; status == TAMIS_OK && i < count; i++)
        fuzz_demand(columns[i] >= -1 && columns[i] < cols, "a column that does not exist");
}

static void recommend(tamis_model *model, const tamis_model_description *about, const rows *r) {
    const int n = about->cols < MOST ? (int)about->cols : MOST;
    const int64_t count = r->view.rows, most = about->width > count ? about->width : count, first = 0;
    int64_t *const columns = malloc((size_t)(most * MOST) * sizeof *columns);
    double *const scores = malloc((size_t)(most * MOST + r->view.nnz) * sizeof *scores);
    tamis_owned_dense *W = NULL, *factors = NULL;
    fuzz_demand(columns && scores, "no memory");
    check(tamis_owned_dense_create(count, about->width, about->options.type, TAMIS_ROW_MAJOR, &W));
    const tamis_dense *const view = tamis_owned_dense_view(W);
    const tamis_status status = tamis_model_transform(model, &r->view, view);
    check(status);
    if (status == TAMIS_OK) {
        columns_exist(tamis_model_recommend(model, view, NULL, count, &r->view, n, columns, scores), columns, count * n,
                      about->cols);
        check(tamis_model_predict(model, view, &r->view, scores));
    }
    columns_exist(tamis_model_recommend(model, NULL, &first, 1, NULL, n, columns, scores), columns, n, about->cols);
    columns_exist(tamis_model_similar(model, false, &first, 1, n, columns, scores), columns, n, about->cols);
    check(tamis_model_similar(model, true, &first, 1, n, columns, scores));
    columns_exist(tamis_model_topics(model, n, columns, scores), columns, about->width * n, about->cols);
    check(tamis_model_predict(model, NULL, &r->view, scores));
    check(tamis_model_row_factors(model, &factors));
    tamis_owned_dense_free(factors);
    check(tamis_model_column_factors(model, &factors));
    tamis_owned_dense_free(factors);
    const tamis_held_out held_out = {.entries = &r->view, .observed = &r->view};
    tamis_score score = {0};
    check(tamis_model_score(model, &held_out, true, n, &score));
    tamis_owned_dense_free(W);
    free(columns);
    free(scores);
}

void fuzz_use_model(tamis_model *model, int way) {
    tamis_model_description about;
    rows r;
    check(tamis_model_describe(model, &about));
    if (about.cols > LARGE || about.width > LARGE || about.rows > LARGE) return;
    if (way == 2 && about.options.iterations > 100) return; /* a fit of so many takes as long as it says */
    rows_make(way == 2 ? about.rows + 2 : 3, about.cols, way == 2 ? 4 : 0, &r);
    if (way == 0) recommend(model, &about, &r);
    if (way == 1) {
        check(tamis_model_put_rows(model, &r.view, NULL));
        check(tamis_model_partial_fit(model, &r.view));
    }
    if (way == 2) {
        const tamis_status status = tamis_model_renew(model);
        check(status);
        if (status == TAMIS_OK) check(tamis_model_fit(model, &r.view, NULL));
    }
    rows_free(&r);
}
