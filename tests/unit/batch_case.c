#include "batch_case.h"

#include <tamis/reference.h>

#include <float.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "sparse/element.h"

static void must(tamis_status status) {
    if (status == TAMIS_OK) return;
    fprintf(stderr, "a batch: %s\n", tamis_last_error());
    abort();
}

static void *zeroed(size_t bytes) {
    void *const memory = calloc(1, bytes + 1);
    if (!memory) abort();
    return memory;
}

static bool has_memory(const tamis_device *device) {
    tamis_device_description description;
    must(tamis_device_describe(device, &description));
    return description.location == TAMIS_DEVICE;
}

/* ------------------------------------------------------------------------------------------ arrays */

/* An array of the host; upload() gives it to the device. */
static void *array(batch_case *c, size_t bytes) {
    void *const host = zeroed(bytes);
    c->arrays[c->array_count].host = host;
    c->arrays[c->array_count++].bytes = bytes;
    return host;
}

static void *on_device(const batch_case *c, const void *host) {
    for (int i = 0; host && i < c->array_count; i++)
        if (c->arrays[i].host == host) return c->arrays[i].memory;
    return NULL;
}

static void upload(batch_case *c, const void *host) {
    for (int i = 0; i < c->array_count; i++)
        if (c->arrays[i].host == host && c->arrays[i].memory != host)
            must(tamis_device_upload(c->device, NULL, c->arrays[i].memory, 0, host, c->arrays[i].bytes));
}

static void to_device(batch_case *c) {
    const bool copies = has_memory(c->device);
    for (int i = 0; i < c->array_count; i++) {
        c->arrays[i].memory = c->arrays[i].host;
        if (copies) must(tamis_device_allocate(c->device, c->arrays[i].bytes + 1, &c->arrays[i].memory));
        upload(c, c->arrays[i].host);
    }
    const tamis_location location = copies ? TAMIS_DEVICE : TAMIS_HOST;
    tamis_sparse *const S = &c->S[BATCH_DEVICE];
    *S = c->S[BATCH_HOST];
    S->location = location;
    S->offsets = on_device(c, S->offsets);
    S->row_indices = on_device(c, S->row_indices);
    S->columns = on_device(c, S->columns);
    S->values = on_device(c, S->values);
    c->values[BATCH_DEVICE] = on_device(c, c->values[BATCH_HOST]);
    tamis_dense *const views[] = {c->A, c->B, c->D, c->out};
    for (int i = 0; i < 4; i++) {
        views[i][BATCH_DEVICE] = views[i][BATCH_HOST];
        views[i][BATCH_DEVICE].location = location;
        views[i][BATCH_DEVICE].data = on_device(c, views[i][BATCH_HOST].data);
    }
}

static void fill(void *data, tamis_type type, int64_t count, tamis_random *random) {
    for (int64_t i = 0; i < count; i++) tamis_element_store(data, type, i, 2 * tamis_random_uniform(random) - 1);
}

/* ------------------------------------------------------------------------------------------ the problem */

static tamis_type value_type(const batch_options *o) { return o->wide_values ? TAMIS_F32 : o->type; }

/* Four fifths of the entries in the row in the middle; columns rise within rows. */
static void make_pattern(batch_case *c, tamis_random *random) {
    const batch_options *const o = &c->options;
    int32_t *const offsets = array(c, (size_t)(o->rows + 1) * 4), *const columns = array(c, (size_t)o->nnz * 4);
    int32_t *const rows = o->coo ? array(c, (size_t)o->nnz * 4) : NULL;
    for (int64_t t = 0; t < o->nnz; t++) {
        int64_t row = tamis_random_below(random, 5) ? o->rows / 2 : tamis_random_below(random, o->rows);
        while (offsets[row + 1] == o->cols) row = (row + 1) % o->rows;
        offsets[row + 1]++;
    }
    for (int64_t i = 0; i < o->rows; i++) {
        offsets[i + 1] += offsets[i];
        for (int64_t t = offsets[i], left = offsets[i + 1] - t, j = 0; left > 0; j++) /* a sample of the columns */
            if (tamis_random_below(random, o->cols - j) < left) {
                columns[t++] = (int32_t)j;
                left--;
            }
        for (int64_t t = offsets[i]; rows && t < offsets[i + 1]; t++) rows[t] = (int32_t)i;
    }
    for (int64_t t = o->nnz - 1; rows && t > 0; t--) { /* entries in any order */
        const int64_t s = tamis_random_below(random, t + 1);
        const int32_t row = rows[t], column = columns[t];
        rows[t] = rows[s], columns[t] = columns[s];
        rows[s] = row, columns[s] = column;
    }
    c->S[BATCH_HOST] = (tamis_sparse){.format = o->coo ? TAMIS_COO : TAMIS_CSR,
                                      .rows = o->rows,
                                      .cols = o->cols,
                                      .nnz = o->nnz,
                                      .value_type = value_type(o),
                                      .offsets = o->coo ? NULL : offsets,
                                      .row_indices = rows,
                                      .columns = columns};
}

static void make_values(batch_case *c, tamis_random *random) {
    const batch_options *const o = &c->options;
    const int64_t apart = o->shares_values ? 0 : o->nnz + 3, count = apart * (o->batch - 1) + o->nnz;
    void *const values = array(c, (size_t)count * tamis_type_size(value_type(o)));
    tamis_sparse *const S = &c->S[BATCH_HOST];
    fill(values, value_type(o), count, random);
    S->values = values;
    S->batch_stride = apart;
    if (!o->values_later) return;
    c->values[BATCH_HOST] = values; /* the plan sees others */
    c->values_stride = apart;
    S->values = array(c, (size_t)o->nnz * tamis_type_size(value_type(o)));
    S->batch_stride = 0;
}

static int64_t elements(const tamis_dense *X, int64_t batch) {
    const int64_t lines = X->layout == TAMIS_ROW_MAJOR ? X->rows : X->cols;
    const int64_t length = X->layout == TAMIS_ROW_MAJOR ? X->cols : X->rows;
    if (lines == 0 || length == 0) return 0;
    return (batch - 1) * X->batch_stride + (lines - 1) * X->stride + length;
}

static tamis_dense make_dense(batch_case *c, int64_t rows, int64_t cols, tamis_type type, bool may_be_shared,
                              tamis_random *random) {
    const batch_options *const o = &c->options;
    tamis_dense X = {.rows = rows,
                     .cols = cols,
                     .type = type,
                     .layout = o->column_major && may_be_shared ? TAMIS_COLUMN_MAJOR : TAMIS_ROW_MAJOR};
    const int64_t lines = X.layout == TAMIS_ROW_MAJOR ? rows : cols, length = X.layout == TAMIS_ROW_MAJOR ? cols : rows;
    const bool within = o->arranged == MEMBERS_WITHIN_ROWS;
    X.stride = within ? o->batch * length : length + 4;
    X.batch_stride = within ? length : lines * X.stride + 8;
    if (o->arranged == MEMBERS_SHARE && may_be_shared) X.batch_stride = 0;
    const int64_t count = elements(&X, o->batch);
    X.data = array(c, (size_t)count * tamis_type_size(type));
    fill(X.data, type, count, random);
    return X;
}

static int64_t out_rows(const batch_options *o) { return o->transpose ? o->cols : o->rows; }
static int64_t in_rows(const batch_options *o) { return o->transpose ? o->rows : o->cols; }

/* Elements of a member's result. */
static int64_t member_elements(const batch_options *o) {
    return o->operation == TAMIS_OP_SDDMM ? o->nnz : out_rows(o) * o->width;
}

static int64_t position(const batch_case *c, int64_t member, int64_t i) {
    const tamis_dense *const X = &c->out[BATCH_HOST];
    return member * X->batch_stride + i / X->cols * X->stride + i % X->cols;
}

/* With beta = 0 nothing of the output may be read: it is NaN, as gaps are. */
static void make_output(batch_case *c, tamis_random *random) {
    const batch_options *const o = &c->options;
    tamis_dense *const X = &c->out[BATCH_HOST];
    if (o->operation == TAMIS_OP_SDDMM) {
        *X = (tamis_dense){.rows = o->nnz, .cols = 1, .stride = 1, .type = o->output_type, .batch_stride = o->nnz + 5};
        X->data = array(c, (size_t)elements(X, o->batch) * tamis_type_size(o->output_type));
    } else {
        *X = make_dense(c, out_rows(o), o->width, o->output_type, false, random);
    }
    const size_t bytes = (size_t)elements(X, o->batch) * tamis_type_size(o->output_type);
    memset(X->data, 0xff, bytes);
    for (int64_t m = 0; o->beta != 0 && m < o->batch; m++)
        for (int64_t i = 0; i < member_elements(o); i++)
            tamis_element_store(X->data, X->type, position(c, m, i), 2 * tamis_random_uniform(random) - 1);
    c->out_before = zeroed(bytes);
    memcpy(c->out_before, X->data, bytes);
}

/* ------------------------------------------------------------------------------------------ what is expected */

static tamis_options options_of(const batch_case *c) {
    const batch_options *const o = &c->options;
    tamis_options options = TAMIS_OPTIONS_INIT;
    options.operation = o->operation;
    options.edge = o->operation == TAMIS_OP_SPMM ? TAMIS_EDGE_SCALE : o->edge;
    options.edge_scale = 0.5;
    options.type = o->type;
    options.output_type = o->output_type;
    options.inner = o->inner;
    options.width = o->width;
    options.batch = o->batch;
    options.transpose = o->transpose;
    options.a_layout = c->A[BATCH_HOST].layout;
    options.b_layout = o->operation == TAMIS_OP_SPMM ? c->D[BATCH_HOST].layout : c->B[BATCH_HOST].layout;
    options.d_layout = c->D[BATCH_HOST].layout;
    options.output_layout = TAMIS_ROW_MAJOR;
    options.threads = 3;
    return options;
}

/* The oracle's result, from `x` on. */
static void reference(const batch_case *c, const tamis_options *options, double alpha, double beta, double *x) {
    tamis_execution execution = TAMIS_EXECUTION_INIT;
    const tamis_sparse *const S = &c->S[BATCH_HOST];
    const tamis_dense *const A = &c->A[BATCH_HOST], *const B = &c->B[BATCH_HOST], *const D = &c->D[BATCH_HOST];
    execution.alpha = alpha;
    execution.beta = beta;
    execution.values = c->values[BATCH_HOST];
    execution.values_stride = c->values_stride;
    switch (options->operation) {
    case TAMIS_OP_SDDMM: must(tamis_reference_sddmm(S, A, B, options, &execution, x)); return;
    case TAMIS_OP_SPMM: must(tamis_reference_spmm(S, D, options, &execution, x)); return;
    case TAMIS_OP_FUSED: must(tamis_reference_fused(S, A, B, D, options, &execution, x)); return;
    }
}

/* Absolute values of every element, in place of them. */
static void make_absolute(const void *data, tamis_type type, int64_t count) {
    void *const x = (void *)(uintptr_t)data;
    for (int64_t i = 0; i < count; i++) tamis_element_store(x, type, i, fabs(tamis_element_load(data, type, i)));
}

static void make_views_absolute(const batch_case *c, bool d_alone) {
    const batch_options *const o = &c->options;
    const tamis_dense *const views[] = {&c->D[BATCH_HOST], &c->A[BATCH_HOST], &c->B[BATCH_HOST]};
    const void *const values = c->values[BATCH_HOST] ? c->values[BATCH_HOST] : c->S[BATCH_HOST].values;
    const int64_t apart = o->shares_values ? 0 : o->nnz + 3;
    for (int i = 0; i < (d_alone ? 1 : 3); i++)
        if (views[i]->data) make_absolute(views[i]->data, o->type, elements(views[i], o->batch));
    if (!d_alone) make_absolute(values, value_type(o), apart * (o->batch - 1) + o->nnz);
}

static void move_to(const batch_case *from, const batch_case *to, const void *old, const void **moved) {
    for (int i = 0; old && i < from->array_count; i++)
        if (from->arrays[i].host == old) *moved = to->arrays[i].host;
}

/* A copy on whose arrays the oracle may be run with other numbers. */
static batch_case copy_of(const batch_case *c) {
    batch_case copy = *c;
    tamis_dense *const views[] = {&copy.A[BATCH_HOST], &copy.B[BATCH_HOST], &copy.D[BATCH_HOST]};
    for (int i = 0; i < c->array_count; i++) {
        copy.arrays[i].host = zeroed(c->arrays[i].bytes);
        memcpy(copy.arrays[i].host, c->arrays[i].host, c->arrays[i].bytes);
    }
    for (int i = 0; i < 3; i++) {
        const void *data = views[i]->data;
        move_to(c, &copy, data, &data);
        views[i]->data = (void *)(uintptr_t)data;
    }
    move_to(c, &copy, c->S[BATCH_HOST].values, &copy.S[BATCH_HOST].values);
    move_to(c, &copy, c->values[BATCH_HOST], &copy.values[BATCH_HOST]);
    return copy;
}

static void release_copy(batch_case *copy) {
    for (int i = 0; i < copy->array_count; i++) free(copy->arrays[i].host);
}

static double unit_of(tamis_type type) {
    return type == TAMIS_F64 ? 0x1p-53 : type == TAMIS_F16 ? 0x1p-11 : type == TAMIS_BF16 ? 0x1p-8 : 0x1p-24;
}

static int64_t longest(const batch_case *c) {
    const batch_options *const o = &c->options;
    const tamis_sparse *const S = &c->S[BATCH_HOST];
    int64_t *const counts = zeroed((size_t)(o->rows + o->cols) * sizeof *counts);
    int64_t most = 0, row = 0;
    for (int64_t t = 0; t < o->nnz; t++) {
        const int32_t *const offsets = S->offsets, *const rows = S->row_indices;
        while (offsets && offsets[row + 1] <= t) row++;
        const int64_t at = o->transpose ? ((const int32_t *)S->columns)[t] : rows ? rows[t] : row;
        if (++counts[at] > most) most = counts[at];
    }
    free(counts);
    return most;
}

/*
 * Bounds. Sums are kept in fp32 (fp64), of unit u, in any order: a sum of n terms errs by (n + 8) u times the sum of
 * absolute values, which the oracle makes from absolute operands, and a product of sums by both. A score of softmax
 * errs by ds, so that a weight errs by its exponential's part of both numerator and denominator. The result is rounded
 * once, to the output's type; nothing before it is.
 */
static void expect_members(batch_case *c) {
    const batch_options *const o = &c->options;
    const int64_t count = member_elements(o) * o->batch;
    const double u = unit_of(o->type == TAMIS_F64 ? TAMIS_F64 : TAMIS_F32), v = unit_of(o->output_type);
    const double K = o->operation == TAMIS_OP_SPMM ? 0 : (double)o->inner, n = (double)longest(c);
    const bool softmax = o->operation != TAMIS_OP_SPMM && o->edge == TAMIS_EDGE_SOFTMAX;
    tamis_options options = options_of(c);
    double factor = ((o->operation == TAMIS_OP_SDDMM ? K : K + n) + 24) * u;
    c->want = zeroed((size_t)count * sizeof(double));
    c->bound = zeroed((size_t)count * sizeof(double));
    for (int64_t m = 0; m < o->batch; m++)
        for (int64_t i = 0; i < member_elements(o); i++)
            c->want[m * member_elements(o) + i] =
                o->beta != 0 ? tamis_element_load(c->out_before, o->output_type, position(c, m, i)) : 0;
    double *const before = zeroed((size_t)count * sizeof(double));
    memcpy(before, c->want, (size_t)count * sizeof(double));
    reference(c, &options, o->alpha, o->beta, c->want);
    batch_case absolute = copy_of(c);
    if (softmax) {
        tamis_options mask = options;
        double *const dots = zeroed((size_t)(o->nnz * o->batch) * sizeof(double)), largest = 0;
        batch_case dotted = copy_of(c);
        make_views_absolute(&dotted, false);
        mask.operation = TAMIS_OP_SDDMM;
        mask.edge = TAMIS_EDGE_MASK;
        mask.transpose = false;
        if (o->transpose) { /* samples of S, with A and B exchanged */
            const tamis_dense A = dotted.A[BATCH_HOST];
            dotted.A[BATCH_HOST] = dotted.B[BATCH_HOST];
            dotted.B[BATCH_HOST] = A;
        }
        reference(&dotted, &mask, 1, 0, dots);
        for (int64_t t = 0; t < o->nnz * o->batch; t++) largest = fmax(largest, fabs(dots[t]));
        const double score = options.edge_scale * largest;
        factor = expm1(2 * ((K + 8) * u * score + 4 * u * (score + 1))) + (2 * n + 28) * u;
        make_views_absolute(&absolute, true);
        release_copy(&dotted);
        free(dots);
    } else {
        make_views_absolute(&absolute, false);
    }
    reference(&absolute, &options, fabs(o->alpha), 0, c->bound);
    for (int64_t i = 0; i < count; i++)
        c->bound[i] = factor * c->bound[i] + (n + 8) * u * fabs(o->beta * before[i]) + 1.01 * v * fabs(c->want[i]) +
                      (o->output_type == TAMIS_F16 ? 0x1p-25 : FLT_MIN);
    release_copy(&absolute);
    free(before);
}

/* ------------------------------------------------------------------------------------------ */

batch_case batch_make(tamis_device *device, const batch_options *options, tamis_random *random) {
    batch_case c = {.options = *options, .device = device};
    const batch_options *const o = options;
    make_pattern(&c, random);
    make_values(&c, random);
    if (o->operation != TAMIS_OP_SPMM) {
        c.A[BATCH_HOST] = make_dense(&c, out_rows(o), o->inner, o->type, false, random);
        c.B[BATCH_HOST] = make_dense(&c, in_rows(o), o->inner, o->type, true, random);
    }
    if (o->operation != TAMIS_OP_SDDMM) c.D[BATCH_HOST] = make_dense(&c, in_rows(o), o->width, o->type, true, random);
    make_output(&c, random);
    expect_members(&c);
    to_device(&c);
    return c;
}

void batch_free(batch_case *c) {
    for (int i = 0; i < c->array_count; i++) {
        if (c->arrays[i].memory != c->arrays[i].host) tamis_device_free(c->device, c->arrays[i].memory);
        free(c->arrays[i].host);
    }
    free(c->out_before);
    free(c->want);
    free(c->bound);
}

static tamis_status run_plan(batch_case *c, const tamis_options *options, const tamis_execution *execution) {
    const tamis_dense *const A = &c->A[BATCH_DEVICE], *const B = &c->B[BATCH_DEVICE], *const D = &c->D[BATCH_DEVICE];
    const tamis_dense *const out = &c->out[BATCH_DEVICE];
    tamis_plan *plan = NULL;
    tamis_status status = tamis_plan_create(c->device, &c->S[BATCH_DEVICE], options, &plan);
    if (status != TAMIS_OK) return status;
    switch (options->operation) {
    case TAMIS_OP_SDDMM: status = tamis_plan_sddmm(plan, A, B, out, execution); break;
    case TAMIS_OP_SPMM: status = tamis_plan_spmm(plan, D, out, execution); break;
    case TAMIS_OP_FUSED: status = tamis_plan_fused(plan, A, B, D, out, execution); break;
    }
    tamis_plan_destroy(plan);
    return status;
}

static tamis_status run_once(batch_case *c, const tamis_options *options, const tamis_execution *execution) {
    const tamis_sparse *const S = &c->S[BATCH_DEVICE];
    const tamis_dense *const A = &c->A[BATCH_DEVICE], *const B = &c->B[BATCH_DEVICE], *const D = &c->D[BATCH_DEVICE];
    const tamis_dense *const out = &c->out[BATCH_DEVICE];
    switch (options->operation) {
    case TAMIS_OP_SDDMM: return tamis_sddmm(c->device, S, A, B, out, options, execution);
    case TAMIS_OP_SPMM: return tamis_spmm(c->device, S, D, out, options, execution);
    case TAMIS_OP_FUSED: return tamis_fused(c->device, S, A, B, D, out, options, execution);
    }
    return TAMIS_ERROR_INTERNAL;
}

tamis_status batch_run(batch_case *c, const char *algorithm, const char *parameters) {
    tamis_options options = options_of(c);
    tamis_execution execution = TAMIS_EXECUTION_INIT;
    const tamis_dense *const out = &c->out[BATCH_HOST];
    options.algorithm = algorithm;
    options.parameters = parameters;
    options.any_order = algorithm != NULL;
    options.expected_calls = 100;
    execution.alpha = c->options.alpha;
    execution.beta = c->options.beta;
    execution.values = c->values[BATCH_DEVICE];
    execution.values_stride = c->values_stride;
    memcpy(out->data, c->out_before, (size_t)elements(out, c->options.batch) * tamis_type_size(out->type));
    upload(c, out->data);
    const tamis_status status = algorithm ? run_plan(c, &options, &execution) : run_once(c, &options, &execution);
    const void *const memory = c->out[BATCH_DEVICE].data;
    if (status == TAMIS_OK && memory != out->data)
        must(tamis_device_download(c->device, NULL, out->data, memory, 0,
                                   (size_t)elements(out, c->options.batch) * tamis_type_size(out->type)));
    return status;
}

bool batch_is_right(batch_case *c, char *text, size_t bytes) {
    const batch_options *const o = &c->options;
    const tamis_dense *const out = &c->out[BATCH_HOST];
    const size_t size = tamis_type_size(out->type);
    const int64_t total = elements(out, o->batch);
    char *const is_element = zeroed((size_t)total);
    bool right = true;
    for (int64_t m = 0; m < o->batch && right; m++)
        for (int64_t i = 0; i < member_elements(o) && right; i++) {
            const double got = tamis_element_load(out->data, out->type, position(c, m, i));
            const double want = c->want[m * member_elements(o) + i], bound = c->bound[m * member_elements(o) + i];
            is_element[position(c, m, i)] = 1;
            right = fabs(got - want) <= bound; /* NaN is wrong */
            if (!right)
                snprintf(text, bytes, "element %lld of member %lld is %.9g, expected %.9g within %.3g", (long long)i,
                         (long long)m, got, want, bound);
        }
    for (int64_t at = 0; at < total && right; at++) {
        const char *const now = (const char *)out->data + (size_t)at * size;
        right = is_element[at] || memcmp(now, c->out_before + (size_t)at * size, size) == 0;
        if (!right) snprintf(text, bytes, "element %lld of the array, in a gap, was written to", (long long)at);
    }
    free(is_element);
    return right;
}
