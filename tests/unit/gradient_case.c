/* Random backward calls: the arrays, the call, the comparison. What is expected is in gradient_bounds.c. */
#include "gradient_case.h"

#include "support/test.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "sparse/element.h"

static void *taken(size_t bytes) {
    void *const memory = aligned_alloc(64, (bytes + 64) / 64 * 64);
    if (!memory) abort();
    return memory;
}

void gradient_works(tamis_status status) {
    if (status != TAMIS_OK) fail_msg("%s: %s", tamis_status_name(status), tamis_last_error());
}

/* ------------------------------------------------------------------------------------------ arrays */

static gradient_array array_of(const gradient_case *c, size_t bytes) {
    gradient_array a = {.host = taken(bytes), .bytes = bytes};
    if (c->copies) gradient_works(tamis_device_allocate(c->device, bytes + 1, &a.memory));
    return a;
}

static void send(const gradient_case *c, const gradient_array *a) {
    if (c->copies && a->bytes) gradient_works(tamis_device_upload(c->device, NULL, a->memory, 0, a->host, a->bytes));
}

static void fetch(const gradient_case *c, const gradient_array *a) {
    if (c->copies && a->bytes) gradient_works(tamis_device_download(c->device, NULL, a->host, a->memory, 0, a->bytes));
}

static void *there(const gradient_case *c, const gradient_array *a) { return c->copies ? a->memory : a->host; }

static void array_free(const gradient_case *c, const gradient_array *a) {
    free(a->host);
    if (c->copies) tamis_device_free(c->device, a->memory);
}

static int64_t position(const tamis_dense *X, int64_t member, int64_t i, int64_t j) {
    const int64_t stride = X->stride ? X->stride : X->layout == TAMIS_ROW_MAJOR ? X->cols : X->rows;
    return member * X->batch_stride + (X->layout == TAMIS_ROW_MAJOR ? i * stride + j : j * stride + i);
}

double gradient_real(const gradient_matrix *x, int64_t member, int64_t i, int64_t j) {
    return tamis_element_load(x->array.host, x->here.type, position(&x->here, member, i, j));
}

reals gradient_reals(const gradient_matrix *x, int64_t member) {
    const int64_t rows = x->here.rows, cols = x->here.cols;
    const reals r = {taken((size_t)(rows * cols) * sizeof(double)), cols};
    for (int64_t i = 0; i < rows; i++)
        for (int64_t j = 0; j < cols; j++) r.at[i * cols + j] = gradient_real(x, member, i, j);
    return r;
}

/* `members`: sets of their own, 1 for one that all share. */
static gradient_matrix matrix_of(const gradient_case *c, tamis_type type, int64_t rows, int64_t cols,
                                 tamis_layout layout, int64_t padding, int64_t members) {
    gradient_matrix x;
    const int64_t lines = layout == TAMIS_ROW_MAJOR ? rows : cols, length = layout == TAMIS_ROW_MAJOR ? cols : rows;
    const int64_t stride = length + padding, one = lines > 0 ? (lines - 1) * stride + length + padding : 0;
    x.array = array_of(c, (size_t)(one * members) * tamis_type_size(type));
    x.here = (tamis_dense){.data = x.array.host,
                           .rows = rows,
                           .cols = cols,
                           .stride = stride,
                           .type = type,
                           .layout = layout,
                           .batch_stride = members > 1 ? one : 0};
    x.there = x.here;
    x.there.data = there(c, &x.array);
    x.there.location = c->copies ? TAMIS_DEVICE : TAMIS_HOST;
    return x;
}

static double draw(tamis_random *dice, double low, double high) {
    return low + (high - low) * tamis_random_uniform(dice);
}

static void fill(const gradient_case *c, const gradient_matrix *x, tamis_random *dice, double low, double high) {
    const int64_t count = (int64_t)(x->array.bytes / tamis_type_size(x->here.type));
    for (int64_t i = 0; i < count; i++) tamis_element_store(x->array.host, x->here.type, i, draw(dice, low, high));
    send(c, &x->array);
}

/* ------------------------------------------------------------------------------------------ the pattern */

typedef struct entry {
    int64_t row, column, order;
} entry;

static int by_row(const void *x, const void *y) {
    const entry *const a = x, *const b = y;
    if (a->row != b->row) return a->row < b->row ? -1 : 1;
    return a->order < b->order ? -1 : a->order > b->order;
}

/* The first and the last fifth of the rows are empty. */
static entry *draw_places(gradient_shape *s, tamis_random *dice) {
    entry *const entries = taken((size_t)(s->rows * s->cols) * sizeof *entries);
    s->nnz = 0;
    for (int64_t i = s->rows / 5; i < s->rows - s->rows / 5; i++)
        for (int64_t j = 0; j < s->cols; j++)
            if (tamis_random_uniform(dice) < s->kept) entries[s->nnz] = (entry){i, j, s->nnz}, s->nnz++;
    return entries;
}

static entry *draw_entries(gradient_shape *s, tamis_random *dice) {
    if (s->kept > 0) return draw_places(s, dice);
    entry *const entries = taken((size_t)s->nnz * sizeof *entries);
    for (int64_t t = 0; t < s->nnz; t++) {
        const bool hub_row = tamis_random_uniform(dice) < s->hub, hub_column = tamis_random_uniform(dice) < s->hub;
        /* the first and the last fifth of the rows are empty */
        const int64_t from = s->rows / 5, rows = s->rows - 2 * from;
        entries[t] = (entry){hub_row ? s->rows / 2 : from + tamis_random_below(dice, rows),
                             hub_column ? s->cols / 3 : tamis_random_below(dice, s->cols), t};
    }
    if (s->format == TAMIS_CSR) qsort(entries, (size_t)s->nnz, sizeof *entries, by_row);
    return entries;
}

/* A slice lies between so many entries of others, one a row. */
enum { BEFORE = 5, AFTER = 3 };

static void make_pattern(gradient_case *c, tamis_random *dice) {
    entry *const entries = draw_entries(&c->shape, dice);
    const gradient_shape *const s = &c->shape;
    const int64_t base = s->slice ? BEFORE : 0, more = s->slice ? AFTER : 0, all = base + s->nnz + more;
    const size_t index = tamis_index_size(s->index_type), offset = tamis_index_size(s->offset_type);
    c->row_of = taken((size_t)s->nnz * sizeof *c->row_of);
    c->column_of = taken((size_t)s->nnz * sizeof *c->column_of);
    c->pattern[0] = array_of(c, (size_t)all * index);
    c->pattern[1] = array_of(c, s->format == TAMIS_COO ? (size_t)s->nnz * index : 0);
    c->pattern[2] = array_of(c, s->format == TAMIS_CSR ? (size_t)(s->rows + 1) * offset : 0);
    for (int64_t t = 0; t < all; t++) tamis_index_store(c->pattern[0].host, s->index_type, t, 0);
    for (int64_t t = 0; t < s->nnz; t++) {
        tamis_index_store(c->pattern[0].host, s->index_type, base + t, entries[t].column);
        if (s->format == TAMIS_COO) tamis_index_store(c->pattern[1].host, s->index_type, t, entries[t].row);
        c->row_of[t] = s->transpose ? entries[t].column : entries[t].row;
        c->column_of[t] = s->transpose ? entries[t].row : entries[t].column;
    }
    if (s->format == TAMIS_CSR)
        for (int64_t i = 0, t = 0; i <= s->rows; i++) {
            while (t < s->nnz && entries[t].row < i) t++;
            tamis_index_store(c->pattern[2].host, s->offset_type, i, base + (i == s->rows ? s->nnz : t));
        }
    free(entries);
    for (int i = 0; i < 3; i++) send(c, &c->pattern[i]);
}

/* Values of all members, those of a slice within those of the whole. */
static void make_values(gradient_case *c, tamis_random *dice) {
    const gradient_shape *const s = &c->shape;
    const int64_t set = s->nnz + (s->slice ? BEFORE + AFTER : 0), sets = s->shared ? 1 : s->batch;
    c->values = array_of(c, s->with_values ? (size_t)(set * sets) * tamis_type_size(c->value_type) : 0);
    for (int64_t t = 0; s->with_values && t < set * sets; t++)
        tamis_element_store(c->values.host, c->value_type, t, draw(dice, -1, 1));
    send(c, &c->values);
}

static tamis_sparse view_of(const gradient_case *c, bool device, void *values) {
    const gradient_shape *const s = &c->shape;
    const int64_t set = s->nnz + (s->slice ? BEFORE + AFTER : 0);
    const bool csr = s->format == TAMIS_CSR;
    return (tamis_sparse){.format = s->format,
                          .location = device && c->copies ? TAMIS_DEVICE : TAMIS_HOST,
                          .rows = s->rows,
                          .cols = s->cols,
                          .nnz = s->nnz,
                          .index_type = s->index_type,
                          .offset_type = s->offset_type,
                          .value_type = c->value_type,
                          .offsets = csr ? (device ? there(c, &c->pattern[2]) : c->pattern[2].host) : NULL,
                          .row_indices = csr ? NULL : (device ? there(c, &c->pattern[1]) : c->pattern[1].host),
                          .columns = device ? there(c, &c->pattern[0]) : c->pattern[0].host,
                          .values = s->with_values ? values : NULL,
                          .batch_stride = s->with_values && !s->shared && s->batch > 1 ? set : 0,
                          .offset_base = s->slice ? BEFORE : 0};
}

static void make_views(gradient_case *c) {
    const gradient_shape *const s = &c->shape;
    c->S_here = view_of(c, false, c->values.host);
    c->S_there = view_of(c, true, there(c, &c->values));
    if (!s->with_values || !s->given_values) return;
    /* those of the view are others, and not to be read */
    c->here.values = c->values.host;
    c->there.values = there(c, &c->values);
    c->here.values_stride = c->there.values_stride = c->S_here.batch_stride;
    c->S_there.values = there(c, &c->pattern[0]);
    c->S_there.batch_stride = 0;
}

/* ------------------------------------------------------------------------------------------ the call */

static tamis_layout layout_of(const gradient_shape *s, int bit) {
    return s->layouts & bit ? TAMIS_COLUMN_MAJOR : TAMIS_ROW_MAJOR;
}

static tamis_options options_of(const gradient_case *c, tamis_edge edge) {
    const gradient_shape *const s = &c->shape;
    tamis_options o = TAMIS_OPTIONS_INIT;
    o.operation = c->operation;
    o.edge = edge;
    o.type = c->type;
    o.inner = s->inner;
    o.width = s->width;
    o.edge_scale = edge == TAMIS_EDGE_LEAKY_RELU ? -1.25 : 0.75;
    o.edge_slope = 0.25;
    o.edge_epsilon = 0.25;
    o.transpose = s->transpose;
    o.batch = s->batch;
    o.a_layout = layout_of(s, 1);
    o.b_layout = layout_of(s, 2);
    o.d_layout = layout_of(s, 4);
    o.output_layout = layout_of(s, 8);
    return o;
}

static void make_matrices(gradient_case *c, tamis_random *dice) {
    const gradient_shape *const s = &c->shape;
    const tamis_options *const o = &c->options;
    const bool sddmm = c->operation == TAMIS_OP_SDDMM, spmm = c->operation == TAMIS_OP_SPMM;
    const int64_t shared = s->shared ? 1 : s->batch, b_cols = spmm ? s->width : s->inner;
    /* products of some size 1 whatever K; those of the quotient are about epsilon and more */
    const double size = sqrt(sqrt(3.0 / (double)(s->inner > 0 ? s->inner : 1)));
    const double low = o->edge == TAMIS_EDGE_QUOTIENT && !spmm ? 0 : -size;
    c->in[IN_A] = matrix_of(c, c->type, c->rows, s->inner, o->a_layout, s->padding, shared);
    c->in[IN_B] = matrix_of(c, c->type, c->cols, b_cols, o->b_layout, s->padding, s->batch);
    c->in[IN_D] = matrix_of(c, c->type, c->cols, s->width, o->d_layout, s->padding, s->batch);
    c->in[IN_OUT] = sddmm ? matrix_of(c, c->type, s->nnz, 1, TAMIS_COLUMN_MAJOR, 0, s->batch)
                          : matrix_of(c, c->type, c->rows, s->width, o->output_layout, s->padding, s->batch);
    for (int i = 0; i < INS; i++) fill(c, &c->in[i], dice, i < IN_D ? low : -1, i < IN_D ? size : 1);
    c->out[OUT_A] = matrix_of(c, c->type, c->rows, s->inner, o->a_layout, s->padding, s->batch);
    c->out[OUT_B] = matrix_of(c, c->type, c->cols, b_cols, o->b_layout, s->padding, s->batch);
    c->out[OUT_D] = matrix_of(c, c->type, c->cols, s->width, o->d_layout, s->padding, s->batch);
    c->out[OUT_S] = matrix_of(c, c->value_type, s->nnz, 1, TAMIS_COLUMN_MAJOR, 0, s->batch);
}

void gradient_case_spread(gradient_case *c, int which, int range, tamis_random *dice) {
    const gradient_matrix *const x = &c->in[which];
    const int64_t members = x->here.batch_stride ? c->shape.batch : 1;
    for (int64_t m = 0; m < members; m++)
        for (int64_t i = 0; i < x->here.rows; i++) {
            const double by = ldexp(1, (int)tamis_random_below(dice, 2 * range + 1) - range);
            for (int64_t j = 0; j < x->here.cols; j++)
                tamis_element_store(x->array.host, x->here.type, position(&x->here, m, i, j),
                                    by * gradient_real(x, m, i, j));
        }
    send(c, &x->array);
}

void gradient_case_lose(gradient_case *c, int which, int64_t row) {
    const gradient_matrix *const x = &c->in[which];
    const int64_t members = x->here.batch_stride ? c->shape.batch : 1;
    for (int64_t m = 0; m < members; m++)
        for (int64_t j = 0; j < x->here.cols; j++)
            tamis_element_store(x->array.host, x->here.type, position(&x->here, m, row, j), INFINITY);
    send(c, &x->array);
    c->lost = true;
}

/* What was in the outputs, of every member, packed; in storage as well. */
static void make_old(gradient_case *c, tamis_random *dice) {
    for (int k = 0; k < OUTS; k++) {
        const tamis_dense *const v = &c->out[k].here;
        const int64_t one = v->rows * v->cols;
        c->old[k] = taken((size_t)(one * c->shape.batch) * sizeof(double));
        for (int64_t m = 0; m < c->shape.batch; m++)
            for (int64_t i = 0; i < one; i++) {
                uint64_t element;
                tamis_element_store(&element, v->type, 0, draw(dice, -1, 1));
                c->old[k][m * one + i] = tamis_element_load(&element, v->type, 0);
            }
    }
}

gradient_case *gradient_case_make(tamis_device *device, tamis_operation operation, tamis_edge edge, tamis_type type,
                                  const gradient_shape *shape, double beta, tamis_random *dice) {
    static const tamis_execution execution = TAMIS_EXECUTION_INIT;
    gradient_case *const c = calloc(1, sizeof *c);
    tamis_device_description about;
    assert_non_null(c);
    gradient_works(tamis_device_describe(device, &about));
    c->device = device;
    c->copies = about.location == TAMIS_DEVICE;
    c->shape = *shape;
    c->operation = operation;
    c->type = type;
    c->value_type = shape->wide_values && operation == TAMIS_OP_SPMM && tamis_type_size(type) == 2 ? TAMIS_F32 : type;
    c->rounds_factors = strncmp(about.instruction_set, "sm_", 3) == 0 && operation == TAMIS_OP_FUSED &&
                        edge == TAMIS_EDGE_SOFTMAX && tamis_type_size(type) == 2 && !shape->with_values;
    c->rows = shape->transpose ? shape->cols : shape->rows;
    c->cols = shape->transpose ? shape->rows : shape->cols;
    c->here = c->there = execution;
    c->here.alpha = c->there.alpha = tamis_random_below(dice, 2) ? -0.75 : 1;
    c->here.beta = c->there.beta = beta;
    c->options = options_of(c, edge);
    make_pattern(c, dice);
    make_values(c, dice);
    make_views(c);
    make_matrices(c, dice);
    make_old(c, dice);
    return c;
}

void gradient_case_free(gradient_case *c) {
    for (int i = 0; i < 3; i++) array_free(c, &c->pattern[i]);
    array_free(c, &c->values);
    for (int i = 0; i < INS; i++) array_free(c, &c->in[i].array);
    for (int k = 0; k < OUTS; k++) {
        array_free(c, &c->out[k].array);
        free(c->old[k]);
        free(c->want[k]);
        free(c->bound[k]);
    }
    free(c->row_of);
    free(c->column_of);
    free(c);
}

bool gradient_case_has_values(const gradient_case *c) {
    return c->shape.with_values && (c->operation == TAMIS_OP_SPMM || c->options.edge != TAMIS_EDGE_MASK);
}

void gradient_case_poison(gradient_case *c) {
    for (int k = 0; k < OUTS; k++) {
        const gradient_matrix *const x = &c->out[k];
        const tamis_dense *const v = &x->here;
        const int64_t count = (int64_t)(x->array.bytes / tamis_type_size(x->here.type)), one = v->rows * v->cols;
        for (int64_t i = 0; i < count; i++) tamis_element_store(x->array.host, x->here.type, i, (double)NAN);
        for (int64_t m = 0; m < c->shape.batch && c->here.beta != 0; m++)
            for (int64_t i = 0; i < one; i++)
                tamis_element_store(x->array.host, x->here.type, position(v, m, i / v->cols, i % v->cols),
                                    c->old[k][m * one + i]);
        send(c, &x->array);
    }
}

tamis_status gradient_case_run(const gradient_case *c, const tamis_gradient *gradient, int wanted) {
    const tamis_dense *out[OUTS];
    for (int k = 0; k < OUTS; k++) out[k] = wanted & 1 << k ? &c->out[k].there : NULL;
    const tamis_dense *const A = &c->in[IN_A].there, *const B = &c->in[IN_B].there, *const D = &c->in[IN_D].there;
    const tamis_dense *const G = &c->in[IN_OUT].there;
    switch (c->operation) {
    case TAMIS_OP_SDDMM: return tamis_sddmm_backward(gradient, G, A, B, out[OUT_A], out[OUT_B], out[OUT_S], &c->there);
    case TAMIS_OP_SPMM: return tamis_spmm_backward(gradient, G, B, out[OUT_B], out[OUT_S], &c->there);
    case TAMIS_OP_FUSED: break;
    }
    return tamis_fused_backward(gradient, G, A, B, D, out[OUT_A], out[OUT_B], out[OUT_D], out[OUT_S], &c->there);
}

/* ------------------------------------------------------------------------------------------ the comparison */

static void describe(const gradient_case *c, char *text, size_t bytes) {
    const gradient_shape *const s = &c->shape;
    snprintf(
        text, bytes,
        "%s, edge %s, %s, %s%s%s, %lld x %lld, nnz %lld, K %lld, L %lld, batch %lld, alpha %g, beta %g, layouts %d, "
        "values %d%d%d",
        tamis_operation_name(c->operation), tamis_edge_name(c->options.edge), tamis_type_name(c->type),
        tamis_format_name(s->format), s->slice ? " slice" : "", s->transpose ? " transposed" : "", (long long)s->rows,
        (long long)s->cols, (long long)s->nnz, (long long)s->inner, (long long)s->width, (long long)s->batch,
        c->here.alpha, c->here.beta, s->layouts, s->with_values, s->given_values, s->shared);
}

/* Elements between rows, columns and members stay as they were: NaN. */
static void check_gaps(const gradient_case *c, const gradient_matrix *x, const char *name, const char *about) {
    const tamis_dense *const v = &x->here;
    const int64_t count = (int64_t)(x->array.bytes / tamis_type_size(x->here.type));
    bool *const covered = calloc((size_t)count + 1, sizeof *covered);
    assert_non_null(covered);
    for (int64_t m = 0; m < c->shape.batch; m++)
        for (int64_t i = 0; i < v->rows; i++)
            for (int64_t j = 0; j < v->cols; j++) covered[position(v, m, i, j)] = true;
    for (int64_t i = 0; i < count; i++)
        if (!covered[i] && !isnan(tamis_element_load(x->array.host, x->here.type, i)))
            fail_msg("%s: element %lld of %s is in a gap and was written to", about, (long long)i, name);
    free(covered);
}

void gradient_case_check(gradient_case *c, int wanted, const char *what) {
    static const char *const names[OUTS] = {"dA", "dB", "dD", "dS"};
    char about[400];
    describe(c, about, sizeof about);
    for (int k = 0; k < OUTS; k++) {
        const gradient_matrix *const x = &c->out[k];
        const tamis_dense *const v = &x->here;
        const int64_t one = v->rows * v->cols;
        if (!(wanted & 1 << k)) continue;
        fetch(c, &x->array);
        for (int64_t m = 0; m < c->shape.batch; m++)
            for (int64_t i = 0; i < one; i++) {
                const double got = gradient_real(x, m, i / v->cols, i % v->cols), want = c->want[k][m * one + i];
                const double bound = c->bound[k][m * one + i];
                if (c->lost && !isfinite(want)) continue;
                if (!isfinite(want) || !isfinite(bound) || !(fabs(got - want) <= bound))
                    fail_msg("%s, %s: %s of member %lld at (%lld, %lld) is %.9g, expected %.9g within %.3g", what,
                             about, names[k], (long long)m, (long long)(i / v->cols), (long long)(i % v->cols), got,
                             want, bound);
            }
        check_gaps(c, x, names[k], about);
    }
}
