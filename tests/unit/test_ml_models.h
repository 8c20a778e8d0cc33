/* What the tests of using and saving models share: data and models of random numbers, and the plain restatement of what
 * a model expects. */
#ifndef TAMIS_TESTS_ML_MODELS_H
#define TAMIS_TESTS_ML_MODELS_H

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <tamis/ml.h>

#include "base/random.h"
#include "base/scope.h"
#include "ml/data/host.h"
#include "ml/fit/options.h"
#include "ml/fit/place.h"
#include "ml/methods/method.h"
#include "ml/methods/methods.h"
#include "ml/model.h"
#include "ml/serve/operands.h"
#include "sparse/element.h"
#include "support/call.h"
#include "support/own.h"

OWN_POINTER(tamis_model, tamis_model_free)

/* ------------------------------------------------------------------------------------------ data */

typedef struct data {
    tamis_sparse view;
    int64_t *offsets, *rows, *columns;
    double *values;
} data;

static inline void data_free(data *d) {
    free(d->offsets);
    free(d->rows);
    free(d->columns);
    free(d->values);
}
OWN_VALUE(data, data_free)

/* About `a_row` entries in each row but every seventh, whole numbers from 1 to 5, columns sorted. */
static inline data data_make(int64_t rows, int64_t cols, int a_row, uint64_t seed) {
    const size_t most = (size_t)(rows * cols) + 1;
    data d = {.offsets = calloc((size_t)rows + 1, sizeof *d.offsets),
              .rows = calloc(most, sizeof *d.rows),
              .columns = calloc(most, sizeof *d.columns),
              .values = calloc(most, sizeof *d.values)};
    tamis_random random = tamis_random_start(seed, 1);
    int64_t t = 0;
    for (int64_t i = 0; i < rows; i++) {
        for (int64_t j = 0; j < cols && i % 7 != 3; j++) {
            if (tamis_random_below(&random, cols) >= a_row) continue;
            d.rows[t] = i;
            d.columns[t] = j;
            d.values[t++] = (double)(1 + tamis_random_below(&random, 5));
        }
        d.offsets[i + 1] = t;
    }
    d.view = CSR(rows, cols, d.offsets, d.columns, d.values);
    return d;
}

static inline tamis_sparse data_coo(const data *d) {
    tamis_sparse coo = d->view;
    coo.format = TAMIS_COO;
    coo.row_indices = d->rows;
    coo.offsets = NULL;
    return coo;
}

/* The same entries as COO, in another order. The arrays stay d's. */
static inline tamis_sparse data_shuffled(data *d) {
    tamis_random random = tamis_random_start(99, 2);
    for (int64_t t = d->view.nnz - 1; t > 0; t--) {
        const int64_t other = tamis_random_below(&random, t + 1);
        const int64_t row = d->rows[t], column = d->columns[t];
        const double value = d->values[t];
        d->rows[t] = d->rows[other];
        d->columns[t] = d->columns[other];
        d->values[t] = d->values[other];
        d->rows[other] = row;
        d->columns[other] = column;
        d->values[other] = value;
    }
    return data_coo(d);
}

/* ------------------------------------------------------------------------------------------ models by hand */

/* Counts without a real method's fitting: predictions are the products themselves, and a new row's factors are the sums
   of its columns' times its counts. */
static inline tamis_status fake_operands(tamis_model *model, const tamis_dense *W, ml_operands *made) {
    *made = (ml_operands){.scale = 1, .least = 0, .most = INFINITY};
    if (W) {
        TRY(ml_host_make(W->rows, W->cols, W->type, &made->A.host));
        memcpy(made->A.host.data, W->data, (size_t)(W->rows * W->cols) * tamis_type_size(W->type));
    } else {
        TRY(ml_dense_copy(model, &model->row_factors, &made->A.host));
    }
    return ml_dense_copy(model, &model->column_factors, &made->B.host);
}

static inline tamis_status fake_transform(tamis_model *model, const tamis_sparse *S, const tamis_dense *W) {
    return tamis_spmm(model->device, S, &model->column_factors, W, NULL, NULL);
}

static inline const ml_method *fake_method(tamis_method_data kind) {
    static ml_method methods[3];
    methods[kind] = (ml_method){.about = {.method = TAMIS_LDA, .data = kind, .name = "lda"},
                                .transform = fake_transform,
                                .operands = fake_operands};
    return &methods[kind];
}

static inline void put(const tamis_model *model, const tamis_dense *dense, const double *numbers, size_t count) {
    assert_int_equal(count, dense->rows * dense->cols);
    float *const single = malloc(count * sizeof *single + 1);
    for (size_t i = 0; i < count; i++) single[i] = (float)numbers[i];
    works(ml_dense_write(model, dense, dense->type == TAMIS_F64 ? (const void *)numbers : (const void *)single));
    free(single);
}

/* Multiples of 1/64 below 1 in size, or from 0 to 1: products and sums of a few are exact in fp32. */
static inline void fill(const tamis_model *model, const tamis_dense *dense, uint64_t seed, bool positive) {
    const size_t count = (size_t)(dense->rows * dense->cols);
    double *const numbers = calloc(count + 1, sizeof *numbers);
    for (size_t i = 0; i < count; i++)
        numbers[i] = (double)(tamis_random_at(seed, 7, i) % 65) / 64 - (positive || i % 3 == 0 ? 0 : 1);
    put(model, dense, numbers, count);
    free(numbers);
}

static inline tamis_model_options default_options(tamis_method method) {
    tamis_model_options options;
    works(tamis_model_options_init(&options, method));
    return options;
}

static inline tamis_model_options sized_options(tamis_method method, tamis_type type, int64_t factors, int iterations) {
    tamis_model_options options = default_options(method);
    options.type = type;
    options.factors = factors;
    options.iterations = iterations;
    return options;
}

/* A model of als, or of a fake method of a kind, with random factors. */
static inline tamis_model *model_by_hand(tamis_device *device, tamis_method method, tamis_method_data kind,
                                         int64_t rows, int64_t cols, int64_t factors, tamis_type type, bool biases) {
    tamis_model_options options = default_options(TAMIS_ALS);
    tamis_model *model;
    options.method = method;
    options.factors = factors;
    options.type = type;
    options.biases = biases;
    options.regularization = 0.1; /* there are no data whose noise it could be found by */
    works(ml_model_make(device, &options, &model));
    if (method != TAMIS_ALS) model->method = fake_method(kind);
    model->rows = rows;
    model->cols = cols;
    model->mean = 2.75;
    model->scale = 0.75;
    model->least = 1;
    model->most = 5;
    works(ml_dense_make(model, rows, model->width, &model->row_factors));
    works(ml_dense_make(model, cols, model->width, &model->column_factors));
    fill(model, &model->row_factors, 11, kind != TAMIS_DATA_RATINGS);
    fill(model, &model->column_factors, 12, kind != TAMIS_DATA_RATINGS);
    return model;
}

typedef struct shape {
    tamis_method method;
    tamis_method_data kind;
    int64_t rows, cols, factors;
    tamis_type type;
    bool biases;
} shape;

/* Odd sizes; the large ones are of several blocks of rows and tiles of columns. */
static const shape shapes[] = {
    {TAMIS_ALS, TAMIS_DATA_RATINGS, 23, 37, 5, TAMIS_F32, false},
    {TAMIS_ALS, TAMIS_DATA_RATINGS, 23, 37, 4, TAMIS_F64, true},
    {TAMIS_ALS, TAMIS_DATA_RATINGS, 1, 1, 1, TAMIS_F32, true},
    {TAMIS_ALS, TAMIS_DATA_RATINGS, 19, 300, 1, TAMIS_F64, false},
    {TAMIS_LDA, TAMIS_DATA_COUNTS, 41, 29, 7, TAMIS_F32, false},
    {TAMIS_LDA, TAMIS_DATA_COUNTS, 16, 64, 3, TAMIS_F64, false},
    {TAMIS_LDA, TAMIS_DATA_USES, 600, 1700, 6, TAMIS_F32, false},
    {TAMIS_ALS, TAMIS_DATA_RATINGS, 333, 2100, 2, TAMIS_F64, true},
};
enum { SHAPES = (int)(sizeof shapes / sizeof *shapes) };

static inline tamis_model *model_of(tamis_device *device, const shape *s) {
    return model_by_hand(device, s->method, s->kind, s->rows, s->cols, s->factors, s->type, s->biases);
}

/* ------------------------------------------------------------------------------------------ restated */

static inline double number(const tamis_dense *X, int64_t row, int64_t col) {
    return tamis_element_load(X->data, X->type, row * (X->stride ? X->stride : X->cols) + col);
}

/* What the header says of als: mean and biases and the product, within the range of the ratings. Of the fakes: the
   product. Of other methods: what their operands say. */
typedef struct plain {
    tamis_owned_dense *A, *B;
    double offset, scale, least, most;
    bool biases;
} plain;

static inline tamis_owned_dense *copy_of_operand(const tamis_model *model, ml_operand *operand) {
    tamis_owned_dense *copy;
    works(ml_operand_fetch(model, operand));
    const tamis_dense *const X = &operand->host;
    works(tamis_owned_dense_create(X->rows, X->cols, X->type, TAMIS_ROW_MAJOR, &copy));
    void *const to = tamis_owned_dense_view(copy)->data;
    if (X->data) {
        memcpy(to, X->data, (size_t)(X->rows * X->cols) * tamis_type_size(X->type));
        return copy;
    }
    for (int64_t i = 0; i < X->rows * X->cols; i++) /* what are scores already meets the unit matrix */
        tamis_element_store(to, X->type, i, i / X->cols == i % X->cols ? 1 : 0);
    return copy;
}

static inline plain plain_of(tamis_model *model, const tamis_dense *W) {
    plain p = {.offset = model->mean,
               .scale = model->scale,
               .least = model->least,
               .most = model->most,
               .biases = model->options.biases};
    tamis_owned_dense *packed = NULL;
    if (W) {
        const size_t size = tamis_type_size(W->type), stride = (size_t)(W->stride ? W->stride : W->cols);
        works(tamis_owned_dense_create(W->rows, W->cols, W->type, TAMIS_ROW_MAJOR, &packed));
        for (size_t i = 0; i < (size_t)W->rows; i++)
            memcpy((char *)tamis_owned_dense_view(packed)->data + i * (size_t)W->cols * size,
                   (const char *)W->data + i * stride * size, (size_t)W->cols * size);
    }
    if (model->method == ml_method_of(TAMIS_ALS)) {
        works(tamis_model_column_factors(model, &p.B));
        p.A = packed;
        if (!W) works(tamis_model_row_factors(model, &p.A));
        return p;
    }
    ml_operands operands;
    TAMIS_SCOPE;
    works(model->method->operands(model, tamis_owned_dense_view(packed), &operands));
    p = (plain){copy_of_operand(model, &operands.A),
                copy_of_operand(model, &operands.B),
                operands.offset,
                operands.scale,
                operands.least,
                operands.most,
                false};
    tamis_owned_dense_free(packed);
    return p;
}

static inline void plain_free(plain *p) {
    tamis_owned_dense_free(p->A);
    tamis_owned_dense_free(p->B);
}
OWN_VALUE(plain, plain_free)

static inline double plain_raw(const plain *p, int64_t row, int64_t column) {
    const tamis_dense *const A = tamis_owned_dense_view(p->A), *const B = tamis_owned_dense_view(p->B);
    const int64_t products = A->cols - (p->biases ? 1 : 0);
    double sum = 0;
    for (int64_t k = 0; k < products; k++) sum += number(A, row, k) * number(B, column, k);
    if (p->biases) sum += number(A, row, products) + number(B, column, products);
    return p->offset + p->scale * sum;
}

static inline double plain_expectation(const plain *p, int64_t row, int64_t column) {
    const double raw = plain_raw(p, row, column);
    return isnan(raw) ? raw : fmin(fmax(raw, p->least), p->most);
}

#endif
