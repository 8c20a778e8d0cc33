/* Random backward calls: the arrays, the call, the comparison. What is expected is in gradient_bounds.c. */
#include "gradient_case.h"

#include "support/test.h"

#include "support/bounds.h"
#include "support/expect.h"

/* ------------------------------------------------------------------------------------------ the sparse matrix */

static bool heads(tamis_random *dice) { return tamis_random_below(dice, 2); }

gradient_shape gradient_draw(tamis_operation operation, int number, bool small, tamis_random *dice) {
    static const int64_t widths[] = {1, 2, 7, 16, 33, 64, 100, 300};
    gradient_shape s = {.rows = 1 + tamis_random_below(dice, 60),
                        .cols = 1 + tamis_random_below(dice, 60),
                        .nnz = tamis_random_below(dice, 900),
                        .hub = heads(dice) ? 0.6 : 0,
                        .slice = number % 3 == 1,
                        .transpose = operation != TAMIS_OP_SDDMM && number / 3 % 2,
                        .format = number % 3 == 2 ? TAMIS_COO : TAMIS_CSR,
                        .index_type = heads(dice) ? TAMIS_I64 : TAMIS_I32,
                        .offset_type = heads(dice) ? TAMIS_I64 : TAMIS_I32,
                        .inner = widths[tamis_random_below(dice, 8)],
                        .width = widths[tamis_random_below(dice, 8)],
                        .batch = 1 + tamis_random_below(dice, 3),
                        .with_values = tamis_random_below(dice, 4) > 0,
                        .given_values = heads(dice),
                        .wide_values = heads(dice),
                        .shared = heads(dice),
                        .layouts = heads(dice) ? (int)tamis_random_below(dice, 16) : 0,
                        .padding = heads(dice) ? tamis_random_below(dice, 5) : 0};
    if (small) {
        s.rows = 1 + s.rows % 12, s.cols = 1 + s.cols % 12, s.nnz %= 60;
        s.inner = s.width = 1 + s.inner % 5;
    }
    if (heads(dice)) s.width = s.inner; /* plans are shared then */
    return s;
}

static void make_sparse(gradient_case *c, tamis_random *dice) {
    const gradient_shape *const s = &c->shape;
    const problem_options o = {.rows = s->rows,
                               .cols = s->cols,
                               .nnz = s->nnz,
                               .shape = s->kept > 0 ? SHAPE_SHARE : SHAPE_CROSS,
                               .share = s->kept > 0 ? s->kept : s->hub,
                               .type = c->value_type,
                               .format = s->format,
                               .index_type = s->index_type,
                               .offset_type = s->offset_type,
                               .slice = s->slice,
                               .transpose = s->transpose};
    c->pattern = pattern_make(&o, dice);
    c->shape.nnz = c->pattern.S.nnz;
    c->row_of = c->pattern.row_of;
    c->column_of = c->pattern.column_of;
    c->S_here = c->pattern.S;
    c->values = pattern_values(&c->S_here, s->shared || s->batch == 1, 0, s->batch, dice);
    twin_send(&c->values, c->device);
    if (!s->with_values) {
        c->S_here.values = NULL;
        c->S_here.batch_stride = 0;
    }
    c->S_there = pattern_send(c->device, &c->pattern);
    c->S_there.values = s->with_values ? twin_there(&c->values) : NULL;
    c->S_there.batch_stride = c->S_here.batch_stride;
    if (!s->with_values || !s->given_values) return;
    /* those of the view are others, and not to be read */
    c->here.values = c->values.host;
    c->there.values = c->S_there.values;
    c->here.values_stride = c->there.values_stride = c->S_here.batch_stride;
    c->S_there.values = c->S_there.columns;
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

static matrix matrix_of(const gradient_case *c, tamis_type type, int64_t rows, int64_t cols, tamis_layout layout,
                        bool shared) {
    const int64_t padding = c->shape.padding;
    return matrix_room(type, rows, cols,
                       (matrix_place){.layout = layout,
                                      .padding = padding,
                                      .behind = padding,
                                      .apart = padding,
                                      .members = shared ? 1 : c->shape.batch});
}

static matrix sample_room(const gradient_case *c, tamis_type type) {
    return matrix_room(type, c->shape.nnz, 1, (matrix_place){.layout = TAMIS_COLUMN_MAJOR, .members = c->shape.batch});
}

static void make_matrices(gradient_case *c, tamis_random *dice) {
    const gradient_shape *const s = &c->shape;
    const tamis_options *const o = &c->options;
    const bool sddmm = c->operation == TAMIS_OP_SDDMM, spmm = c->operation == TAMIS_OP_SPMM;
    const int64_t b_cols = spmm ? s->width : s->inner;
    /* products of some size 1 whatever K; those of the quotient are about epsilon and more */
    const double size = sqrt(sqrt(3.0 / (double)(s->inner > 0 ? s->inner : 1)));
    const double low = o->edge == TAMIS_EDGE_QUOTIENT && !spmm ? 0 : -size;
    c->in[IN_A] = matrix_of(c, c->type, c->rows, s->inner, o->a_layout, s->shared);
    c->in[IN_B] = matrix_of(c, c->type, c->cols, b_cols, o->b_layout, false);
    c->in[IN_D] = matrix_of(c, c->type, c->cols, s->width, o->d_layout, false);
    c->in[IN_OUT] = sddmm ? sample_room(c, c->type) : matrix_of(c, c->type, c->rows, s->width, o->output_layout, false);
    c->out[OUT_A] = matrix_of(c, c->type, c->rows, s->inner, o->a_layout, false);
    c->out[OUT_B] = matrix_of(c, c->type, c->cols, b_cols, o->b_layout, false);
    c->out[OUT_D] = matrix_of(c, c->type, c->cols, s->width, o->d_layout, false);
    c->out[OUT_S] = sample_room(c, c->value_type);
    for (int i = 0; i < INS; i++) {
        matrix_draw(&c->in[i], i < IN_D ? low : -1, i < IN_D ? size : 1, dice);
        matrix_send(c->device, &c->in[i]);
    }
    for (int k = 0; k < OUTS; k++) { /* what was in them */
        matrix_draw(&c->out[k], -1, 1, dice);
        c->old[k] = matrix_values(&c->out[k]);
        matrix_send(c->device, &c->out[k]);
    }
}

void gradient_case_spread(gradient_case *c, int which, int range, tamis_random *dice) {
    matrix *const x = &c->in[which];
    for (int64_t m = 0; m < x->members; m++)
        for (int64_t i = 0; i < x->here.rows; i++) {
            const double by = ldexp(1, (int)tamis_random_below(dice, 2 * range + 1) - range);
            for (int64_t j = 0; j < x->here.cols; j++) matrix_put(x, m, i, j, by * matrix_at(x, m, i, j));
        }
    matrix_send(c->device, x);
}

void gradient_case_lose(gradient_case *c, int which, int64_t row) {
    matrix *const x = &c->in[which];
    for (int64_t m = 0; m < x->members; m++)
        for (int64_t j = 0; j < x->here.cols; j++) matrix_put(x, m, row, j, INFINITY);
    matrix_send(c->device, x);
    c->lost = true;
}

gradient_case *gradient_case_make(tamis_device *device, tamis_operation operation, tamis_edge edge, tamis_type type,
                                  const gradient_shape *shape, double beta, tamis_random *dice) {
    static const tamis_execution execution = TAMIS_EXECUTION_INIT;
    gradient_case *const c = calloc(1, sizeof *c);
    tamis_device_description described;
    assert_non_null(c);
    works(tamis_device_describe(device, &described));
    c->device = device;
    c->copies = described.location == TAMIS_DEVICE;
    c->shape = *shape;
    c->operation = operation;
    c->type = type;
    c->value_type = shape->wide_values && operation == TAMIS_OP_SPMM && tamis_type_size(type) == 2 ? TAMIS_F32 : type;
    c->rounds_factors = softmax_may_round(device, operation, edge, type, shape->with_values);
    c->rows = shape->transpose ? shape->cols : shape->rows;
    c->cols = shape->transpose ? shape->rows : shape->cols;
    c->here = c->there = execution;
    c->here.alpha = c->there.alpha = tamis_random_below(dice, 2) ? -0.75 : 1;
    c->here.beta = c->there.beta = beta;
    c->options = options_of(c, edge);
    make_sparse(c, dice);
    make_matrices(c, dice);
    return c;
}

void gradient_case_free(gradient_case *c) {
    pattern_free(&c->pattern);
    twin_free(&c->values);
    for (int i = 0; i < INS; i++) matrix_free(&c->in[i]);
    for (int k = 0; k < OUTS; k++) {
        matrix_free(&c->out[k]);
        free(c->old[k]);
        free(c->want[k]);
        free(c->bound[k]);
    }
    free(c);
}

tamis_plan *gradient_case_plan(const gradient_case *c) {
    tamis_plan *plan = NULL;
    works(tamis_plan_create(c->device, &c->S_there, &c->options, &plan));
    return plan;
}

tamis_gradient *gradient_case_gradient(const gradient_case *c) {
    tamis_gradient *gradient = NULL;
    works(tamis_gradient_create(c->device, &c->S_there, &c->options, &gradient));
    return gradient;
}

bool gradient_case_has_values(const gradient_case *c) {
    return c->shape.with_values && (c->operation == TAMIS_OP_SPMM || c->options.edge != TAMIS_EDGE_MASK);
}

int gradient_case_outputs(const gradient_case *c) {
    const int of[] = {1 << OUT_A | 1 << OUT_B, 1 << OUT_B, 1 << OUT_A | 1 << OUT_B | 1 << OUT_D};
    return of[c->operation] | (gradient_case_has_values(c) ? 1 << OUT_S : 0);
}

void gradient_case_poison(gradient_case *c) {
    for (int k = 0; k < OUTS; k++) {
        matrix_poison(&c->out[k]);
        if (c->here.beta != 0) matrix_fill(&c->out[k], c->old[k]);
        matrix_send(c->device, &c->out[k]);
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

void gradient_case_fetch(gradient_case *c) {
    for (int k = 0; k < OUTS; k++) matrix_fetch(&c->out[k]);
}

void gradient_case_check(gradient_case *c, int wanted, const char *what) {
    static const char *const names[OUTS] = {"dA", "dB", "dD", "dS"};
    char says[400];
    describe(c, says, sizeof says);
    gradient_case_fetch(c);
    for (int k = 0; k < OUTS; k++) {
        const matrix *const x = &c->out[k];
        const int64_t one = x->here.rows * x->here.cols;
        if (!(wanted & 1 << k)) continue;
        double *const found = matrix_values(x);
        for (int64_t i = 0; i < one * c->shape.batch; i++)
            if (!isfinite(c->want[k][i])) {
                if (!c->lost) fail_msg("%s, %s: %s is expected to be %g", what, says, names[k], c->want[k][i]);
                c->want[k][i] = found[i]; /* is not compared */
            }
        free(found);
        for (int64_t m = 0; m < c->shape.batch; m++) {
            const char *const wrong = expect_wrong(&x->here, m, c->want[k] + m * one, c->bound[k] + m * one);
            if (wrong) fail_msg("%s, %s: %s: %s", what, says, names[k], wrong);
        }
        if (matrix_touched(x) >= 0) fail_msg("%s, %s: a gap of %s was written to", what, says, names[k]);
    }
}
