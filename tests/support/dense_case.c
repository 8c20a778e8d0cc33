/* Dense matrices for tests, in a device's memory. */
#include "support/dense_case.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "support/problem.h"

static const double gap = -777.5;

static void must(tamis_status status) {
    if (status == TAMIS_OK) return;
    fprintf(stderr, "dense case: %s\n", tamis_last_error());
    abort();
}

static int64_t place(const dense_case *x, int64_t i, int64_t j) { return x->shift + i * x->view.stride + j; }

static int64_t elements(const dense_case *x) { return (int64_t)(x->bytes / tamis_type_size(x->view.type)); }

dense_case dense_case_make(tamis_device *device, tamis_type type, int64_t rows, int64_t cols, int64_t padding,
                           int64_t shift, double low, double high, tamis_random *random) {
    tamis_device_description description;
    must(tamis_device_describe(device, &description));
    const bool addresses = strncmp(description.name, "opencl", 6) != 0;
    dense_case x = {.device = device, .shift = addresses ? shift : 0};
    x.view = (tamis_dense){
        .rows = rows, .cols = cols, .stride = cols + padding, .type = type, .location = description.location};
    const int64_t total = x.shift + (rows > 0 ? (rows - 1) * x.view.stride + cols : 0);
    x.bytes = (size_t)total * tamis_type_size(type);
    x.block = malloc(x.bytes ? x.bytes : 1);
    if (!x.block) abort();
    for (int64_t t = 0; t < total; t++) test_store(x.block, type, t, gap);
    for (int64_t i = 0; i < rows; i++)
        for (int64_t j = 0; j < cols; j++) dense_case_set(&x, i, j, low + (high - low) * tamis_random_uniform(random));
    const bool copies = description.location == TAMIS_DEVICE;
    if (copies) must(tamis_device_allocate(device, x.bytes ? x.bytes : 8, &x.memory));
    x.view.data = (copies ? (char *)x.memory : x.block) + (size_t)x.shift * tamis_type_size(type);
    dense_case_send(&x);
    return x;
}

void dense_case_free(dense_case *x) {
    tamis_device_free(x->device, x->memory);
    free(x->block);
    memset(x, 0, sizeof *x);
}

double dense_case_get(const dense_case *x, int64_t i, int64_t j) {
    return test_load(x->block, x->view.type, place(x, i, j));
}

double *dense_case_values(const dense_case *x) {
    double *const values = malloc((size_t)(x->view.rows * x->view.cols + 1) * sizeof *values);
    if (!values) abort();
    for (int64_t i = 0; i < x->view.rows; i++)
        for (int64_t j = 0; j < x->view.cols; j++) values[i * x->view.cols + j] = dense_case_get(x, i, j);
    return values;
}

void dense_case_set(dense_case *x, int64_t i, int64_t j, double value) {
    test_store(x->block, x->view.type, place(x, i, j), value);
}

void dense_case_send(dense_case *x) {
    if (x->memory && x->bytes) must(tamis_device_upload(x->device, NULL, x->memory, 0, x->block, x->bytes));
}

void dense_case_poison(dense_case *x) {
    for (int64_t i = 0; i < x->view.rows; i++)
        for (int64_t j = 0; j < x->view.cols; j++) dense_case_set(x, i, j, NAN);
    dense_case_send(x);
}

bool dense_case_fetch(dense_case *x) {
    if (x->memory && x->bytes) must(tamis_device_download(x->device, NULL, x->block, x->memory, 0, x->bytes));
    for (int64_t t = 0; t < elements(x); t++) {
        const int64_t column = t < x->shift ? -1 : (t - x->shift) % x->view.stride;
        if ((column < 0 || column >= x->view.cols) && test_load(x->block, x->view.type, t) != gap) return false;
    }
    return true;
}
