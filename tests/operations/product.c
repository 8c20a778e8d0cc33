#include "product.h"

#include "base/status.h"
#include "sparse/element.h"
#include "support/bounds.h"
#include "unit/softmax_kept.h"

/* ------------------------------------------------------------------------------------------ what is drawn */

static const char *const out_names[] = {"P", "C", "E"}, *const seed_names[] = {"dP", "dC", "dE"};

/* Gradients in cells want row-major matrices. */
static tamis_layout draw_layout(operation_case *c) {
    return ((product *)c->own)->kind != PRODUCT_SCORES && operation_once_in(c, 3) ? TAMIS_COLUMN_MAJOR
                                                                                  : TAMIS_ROW_MAJOR;
}

/* Where the next operand lies; members within rows where all of the case do. */
static void place(operation_case *c, tamis_layout layout, int64_t members, bool within) {
    c->placed = true;
    c->place = (matrix_place){.layout = layout,
                              .padding = within ? 0 : operation_below(c, 6),
                              .front = operation_below(c, 4),
                              .behind = 3,
                              .apart = within ? 0 : operation_below(c, 13),
                              .members = members,
                              .within = within && members > 1};
}

/* They are finite and have finite slopes where x and s are finite. */
static void draw_text(operation_case *c, tamis_options *o, product_kind kind) {
    static const tamis_edge_number numbers[] = {{"cap", 1.5},     {"slope", 0.25},   {"third", 0.5},
                                                {"fourth", 0.75}, {"fifth", -0.125}, {"late", (double)NAN}};
    static const char *const texts[] = {
        "tanh(x / cap) * cap",
        "s * gelu(x) + 0.01 * i",
        "where(j <= i, x, slope * x) - s",
        "silu(x) * sigmoid(s) / 2",
        "max(x, -1) * s - min(s, 1 - x)",
        "erf(x) * s + exp(-x * x)",
        "log(1 + exp(-abs(x))) + relu(x) + cap",
        "sqrt(x * x + 1) * rsqrt(1 + s * s)",
        "pow(1 + abs(x), 1.5) * 0.125",
        "where(abs(i - j) < 5, x, floor(j / 4))",
        "x * (h + 1) - s * h",
        "relu(x) + pow(2, -h) * abs(i - j) * 0.125",
        "2.5",
        "x",
        "s",
        "x * x * s + (1 - slope) * x - 3",
        "third * x + fourth * s * x - fifth", /* from the fourth on they are constants in kernels of GPUs */
        "tanh(x * late) * row.b - col.c * s",
        "x + entry.e * s",
        "where(j <= i, x * head.g, row.b * row.b) + col.c * entry.e",
        "late * x * x",
        "col.c + head.g * (i - j) * 0.125",
        "softmax(tanh(x / cap) * cap + head.g * (j - i) * 0.125)",
        "softmax(x * late + entry.e)",
        "softmax(where(abs(i - j) < 9, x * row.b + col.c * s, log(0)))",
        "softmax(gelu(x) * s)",
        "softmax(x / cap)",
        "softmax(where(j <= i, tanh(x / cap) * cap, log(0)))",
        "softmax(x - pow(2, -h) * abs(i - j) * 0.125)",
        "softmax(x * row.b + head.g * where(abs(i - j) < 4, col.c, 0.5) + s)",
        "softmax(max(x, slope * x) - 0.01 * j + late)",
    };
    enum { TEXTS = sizeof texts / sizeof *texts, SOFTMAX = 9 };
    if (kind == PRODUCT_SCORES)
        o->edge_text = texts[TEXTS - SOFTMAX + operation_pick(c, SOFTMAX)];
    else
        o->edge_text = texts[operation_below(c, kind == PRODUCT_EDGE ? TEXTS - SOFTMAX : TEXTS)];
    o->edge_numbers = numbers;
    o->edge_number_count = sizeof numbers / sizeof *numbers - (strstr(o->edge_text, "late") == NULL);
}

/* The rows, and then the edge that is a text. */
static tamis_edge edge_of(int64_t number) { return number == TAMIS_EDGE_COUNT ? TAMIS_EDGE_TEXT : (tamis_edge)number; }

static void draw_options(operation_case *c, product *x) {
    static const tamis_execution execution = TAMIS_EXECUTION_INIT;
    static const double betas[] = {0, 0, -0.5, 1};
    const tamis_edge edge = x->operation == TAMIS_OP_SPMM ? TAMIS_EDGE_SCALE
                            : x->kind == PRODUCT_SCORES   ? TAMIS_EDGE_TEXT
                                                          : edge_of(operation_pick(c, TAMIS_EDGE_COUNT + 1));
    x->call = (test_call){with_edge(edge), execution};
    x->call.options.edge_scale = edge == TAMIS_EDGE_LEAKY_RELU ? -1.25 : 0.4;
    x->call.options.edge_slope = 0.25;
    x->call.options.edge_epsilon = 0.25;
    x->call.options.expected_calls = operation_once_in(c, 2) ? 1 : 1000;
    x->call.options.trust_input = operation_once_in(c, 4);
    x->call.execution.alpha = operation_once_in(c, 10) ? 0 : operation_once_in(c, 2) ? 1 : -0.75;
    x->call.execution.beta = c->small ? 0 : OPERATION_ONE_OF(c, betas);
    if (edge == TAMIS_EDGE_TEXT) draw_text(c, &x->call.options, x->kind);
    operation_says(c, ", %s, alpha %g, beta %g",
                   edge == TAMIS_EDGE_TEXT ? x->call.options.edge_text : tamis_edge_name(edge), x->call.execution.alpha,
                   x->call.execution.beta);
}

static void draw_values(operation_case *c, product *x, bool shared) {
    const problem_options *const o = &x->p.options;
    c->S.value_type = o->wide_values ? TAMIS_F32 : c->type;
    x->values = pattern_values(&c->S, shared || o->batch == 1, operation_below(c, 4), o->batch, &c->random);
    x->others = twin_make((size_t)(c->S.nnz + c->S.offset_base) * tamis_type_size(c->S.value_type), 0);
    if (!x->has_values) c->S.values = NULL, c->S.batch_stride = 0;
    x->later = x->has_values && operation_once_in(c, 3);
    if (!c->small || !x->has_values) return;
    operand *const values = &c->of[VALUES];
    *values = (operand){.name = "values", .role = OPERAND_IN, .by = -1, .borrowed = true, .m = {.members = o->batch}};
    values->m.here =
        samples_of(&c->S, (char *)x->values.host + c->S.offset_base * (int64_t)tamis_type_size(c->type), c->type);
    values->m.here.batch_stride = c->S.batch_stride;
}

static void add_gradients(operation_case *c, product *x) {
    const problem_options *const o = &x->p.options;
    static const char *const names[] = {"dA", "dB", "dD"};
    const bool sddmm = x->operation == TAMIS_OP_SDDMM;
    const tamis_dense *const out = &c->of[OUT].m.here;
    place(c, out->layout, o->batch, false);
    if (sddmm) c->place.padding = 0;
    operand_add(c, D_OUT, OPERAND_SEED, OUT, seed_names[x->operation], out->rows, out->cols);
    for (int k = A; k <= D; k++) {
        const tamis_dense *const view = &c->of[k].m.here;
        if (!c->of[k].name) continue;
        place(c, view->layout, o->batch, false);
        operand_add(c, D_A + k, OPERAND_GRADIENT, k, names[k], view->rows, view->cols)->optional = true;
        c->of[D_A + k].old = x->call.execution.beta != 0;
    }
    if (!x->has_values || (x->operation != TAMIS_OP_SPMM && x->call.options.edge == TAMIS_EDGE_MASK)) return;
    c->place = (matrix_place){.members = o->batch};
    operand_typed(c, D_S, OPERAND_GRADIENT, VALUES, "dS", c->S.nnz, 1, c->S.value_type)->optional = true;
    c->of[D_S].old = x->call.execution.beta != 0;
}

/* A, B and D, some of them the same for all members. */
static void add_factors(operation_case *c, product *x, int64_t rows, int64_t cols, bool shares, bool within) {
    const problem_options *const o = &x->p.options;
    const bool spmm = x->operation == TAMIS_OP_SPMM, has[] = {!spmm, true, x->operation == TAMIS_OP_FUSED && !x->same};
    const int64_t of_rows[] = {rows, cols, cols}, of_cols[] = {o->inner, spmm ? o->width : o->inner, o->width};
    static const char *const names[] = {"A", "B", "D"};
    for (int k = A; k <= D; k++) {
        if (!has[k]) continue;
        place(c, draw_layout(c), shares && operation_once_in(c, 2) ? 1 : o->batch, within);
        operand_add(c, k, OPERAND_IN, -1, names[k], of_rows[k], of_cols[k]);
    }
}

static const char *const named[NAMED_MOST] = {"row.b", "col.c", "entry.e", "head.g", "late"};

/* The arrays that the text names, and gradients by them. */
static void add_named(operation_case *c, product *x, int64_t rows, int64_t cols, bool shares, bool gradients) {
    static const char *const gradient_names[NAMED_MOST] = {
        "gradient of row.b", "gradient of col.c", "gradient of entry.e", "gradient of head.g", "gradient of late"};
    const tamis_type wide = c->type == TAMIS_F64 ? TAMIS_F64 : TAMIS_F32;
    const int64_t counts[NAMED_MOST] = {rows, cols, c->S.nnz, 1, 1};
    int64_t count = 0;
    for (int k = 0; k < NAMED_MOST && x->call.options.edge == TAMIS_EDGE_TEXT; k++) {
        if (!strstr(x->call.options.edge_text, named[k])) continue;
        const int64_t members = shares && operation_once_in(c, 2) ? 1 : x->p.options.batch;
        c->place = (matrix_place){.front = operation_below(c, 4), .behind = 3, .apart = operation_below(c, 4)};
        c->place.members = members;
        operand_typed(c, NAMED + k, OPERAND_IN, -1, named[k], counts[k], 1, operation_once_in(c, 2) ? c->type : wide)
            ->or_fp32 = wide == TAMIS_F32;
        x->named[count++] = (tamis_edge_operand){.name = named[k], .values = &c->of[NAMED + k].m.here};
        if (!gradients) continue;
        c->place = (matrix_place){.front = operation_below(c, 4), .behind = 3, .members = x->p.options.batch};
        operand_typed(c, D_NAMED + k, OPERAND_GRADIENT, NAMED + k, gradient_names[k], counts[k], 1, wide)->optional =
            true;
        c->of[D_NAMED + k].old = x->call.execution.beta != 0;
    }
    x->call.execution.edge_operands = x->named;
    x->call.execution.edge_operand_count = count;
}

/* A D of its own where D is B, and B where it is not. */
static void draw_aside(operation_case *c, product *x) {
    const tamis_dense *const b = &c->of[B].m.here, *const d = &c->of[D].m.here;
    const bool alike = x->same || (b->cols == d->cols && b->layout == d->layout);
    x->alternates = x->operation == TAMIS_OP_FUSED && x->kind == PRODUCT_ALONE && alike && !x->promised &&
                    x->call.execution.beta == 0;
    if (x->alternates && !x->same) c->unspoilt = true; /* one of two calls does not see what is wrong with D */
    if (!x->alternates || !x->same) return;
    x->aside = matrix_like(&c->of[B].m);
    matrix_draw(&x->aside, -1, 1, &c->random);
}

/* Statistics of softmax's rows. */
static void add_pairs(operation_case *c, const product *x, int64_t rows) {
    c->place = (matrix_place){.front = operation_below(c, 4), .behind = 8};
    operand *const pairs = operand_typed(c, PAIRS, OPERAND_OUT, -1, "softmax_rows", 2 * rows * x->p.options.batch, 1,
                                         c->type == TAMIS_F64 ? TAMIS_F64 : TAMIS_F32);
    pairs->array = true;
    pairs->optional = x->kind == PRODUCT_ALONE; /* gradients read them, and have other bits without */
}

void product_draw(operation_case *c, product_kind kind) {
    static const int64_t widths[] = {0, 1, 2, 3, 5, 7, 8, 16, 17, 24, 33, 45, 64, 65, 100, 129, 300};
    product *const x = c->own;
    problem_options *const o = &x->p.options;
    const bool gradients = kind == PRODUCT_WITH_GRADIENTS || kind == PRODUCT_SCORES;
    x->kind = kind;
    x->operation = kind == PRODUCT_EDGE     ? TAMIS_OP_SDDMM
                   : kind == PRODUCT_SCORES ? TAMIS_OP_FUSED
                                            : (tamis_operation)operation_pick(c, 3);
    const bool sddmm = x->operation == TAMIS_OP_SDDMM, spmm = x->operation == TAMIS_OP_SPMM;
    operation_says(c, "%s, ", tamis_operation_name(x->operation));
    c->transpose = !sddmm && operation_once_in(c, 3);
    operation_pattern(c);
    draw_options(c, x);
    o->inner = c->small ? 3 : OPERATION_ONE_OF(c, widths);
    o->width = c->small ? 2 : OPERATION_ONE_OF(c, widths);
    x->same = !gradients && x->operation == TAMIS_OP_FUSED && operation_once_in(c, 3);
    x->promised = x->same && operation_once_in(c, 2);
    x->unnamed = x->promised && operation_once_in(c, 2);
    if (x->same || operation_once_in(c, 4)) o->width = o->inner;
    o->rows = c->S.rows, o->cols = c->S.cols, o->nnz = c->S.nnz, o->type = c->type, o->transpose = c->transpose;
    o->batch = operation_once_in(c, 2) ? 1 : 1 + operation_below(c, 3);
    const bool narrow = tamis_type_size(c->type) == 2, within = operation_once_in(c, 2);
    o->wide_output = narrow && kind == PRODUCT_ALONE && operation_once_in(c, 2);
    o->wide_values = narrow && spmm && operation_once_in(c, 2);
    x->has_values = c->small || !operation_once_in(c, kind == PRODUCT_SCORES ? 2 : 4);
    const int64_t rows = c->transpose ? c->S.cols : c->S.rows, cols = c->transpose ? c->S.rows : c->S.cols;
    const bool shares = o->batch > 1 && !c->small && operation_once_in(c, 2);
    if (kind != PRODUCT_EDGE) add_factors(c, x, rows, cols, shares, within);
    place(c, sddmm ? TAMIS_ROW_MAJOR : draw_layout(c), o->batch, within && !sddmm);
    if (sddmm) c->place.padding = 0;
    operand_typed(c, OUT, OPERAND_OUT, -1, out_names[x->operation], sddmm ? c->S.nnz : rows, sddmm ? 1 : o->width,
                  o->wide_output ? TAMIS_F32 : c->type)
        ->old = x->call.execution.beta != 0;
    draw_values(c, x, shares && operation_once_in(c, 2));
    add_named(c, x, rows, cols, shares, gradients);
    draw_aside(c, x);
    x->cuts = operation_once_in(c, 2);
    x->call.options.keep_softmax = x->call.options.edge == TAMIS_EDGE_SOFTMAX && !spmm && kind != PRODUCT_EDGE &&
                                   !c->small && operation_once_in(c, 2);
    if (x->call.options.keep_softmax) add_pairs(c, x, rows);
    if (gradients) add_gradients(c, x);
    if (kind == PRODUCT_EDGE) {
        c->place = (matrix_place){.front = operation_below(c, 4), .apart = operation_below(c, 4), .members = o->batch};
        operand_add(c, SAMPLES, OPERAND_IN, -1, "X", c->S.nnz, 1);
    }
    operation_says(c, ", batch %lld%s%s%s%s%s%s", (long long)o->batch, within ? " within rows" : "",
                   shares ? ", shared" : "", c->transpose ? ", transposed" : "", x->has_values ? "" : ", pattern",
                   x->later ? ", values later" : "",
                   x->promised ? ", D is B as promised"
                   : x->same   ? ", D is B"
                               : "");
    x->p.S = c->S;
    x->p.pattern = c->pattern;
    x->p.A = c->of[A].m.here, x->p.B = c->of[B].m.here, x->p.D = c->of[spmm || x->same ? B : D].m.here;
    x->p.out = c->of[OUT].m.here;
}

/* Values of -infinity leave entries out, in some rows all of them. */
static void mask_some(operation_case *c) {
    product *const x = c->own;
    const tamis_sparse *const S = &c->S;
    for (int64_t m = 0; m < (S->batch_stride ? x->p.options.batch : 1); m++)
        for (int64_t t = 0; t < S->nnz; t++)
            if (c->pattern.row_of[t] % 3 == 0 || operation_once_in(c, 3))
                tamis_element_store(x->values.host, c->type, m * S->batch_stride + S->offset_base + t, -INFINITY);
}

/* Products of some size 1, whatever K. */
void product_fill(operation_case *c) {
    const product *const x = c->own;
    const bool masks = x->call.options.edge == TAMIS_EDGE_SOFTMAX && x->has_values && x->operation != TAMIS_OP_SPMM;
    if (masks && !c->small && operation_once_in(c, 4)) mask_some(c);
    const double by = sqrt(sqrt(3.0 / (double)(x->p.options.inner > 3 ? x->p.options.inner : 3)));
    for (int k = A; k <= B && x->operation != TAMIS_OP_SPMM && x->kind != PRODUCT_EDGE; k++) {
        matrix *const m = &c->of[k].m;
        for (int64_t i = 0; i < operand_count(c, k); i++) {
            const int64_t one = m->here.rows * m->here.cols, r = i % one / m->here.cols, j = i % m->here.cols;
            matrix_put(m, i / one, r, j, by * matrix_at(m, i / one, r, j));
        }
    }
}

void product_forget(operation_case *c) {
    product *const x = c->own;
    twin_free(&x->values);
    twin_free(&x->others);
    if (x->aside.twin.host) matrix_free(&x->aside);
}

/* ------------------------------------------------------------------------------------------ calls */

void product_prepare(operation_case *c, const char *algorithm) {
    product *const x = c->own;
    twin_send(&x->values, c->device);
    twin_send(&x->others, c->device);
    if (x->aside.twin.host) matrix_send(c->device, &x->aside);
    x->execution = x->call.execution;
    x->execution.stream = c->stream;
    x->execution.softmax_rows = operand_array(c, PAIRS);
    c->there.values = x->has_values ? twin_there(&x->values) : NULL;
    c->there.batch_stride = c->S.batch_stride;
    if (x->later) {
        x->execution.values = c->there.values;
        x->execution.values_stride = c->S.batch_stride;
        c->there.values = twin_there(&x->others);
        c->there.batch_stride = 0;
    }
    x->options = problem_call(&x->p, x->operation, &x->call.options);
    x->options.threads = c->threads;
    x->options.algorithm = algorithm;
    x->options.d_is_b = x->promised;
}

void product_close(operation_case *c) {
    product *const x = c->own;
    tamis_plan_destroy(x->plan);
    tamis_gradient_destroy(x->gradient);
    x->plan = NULL;
    x->gradient = NULL;
}

tamis_execution product_execution(const operation_case *c, tamis_edge_operand there[NAMED_MOST]) {
    const product *const x = c->own;
    tamis_execution execution = x->execution;
    execution.edge_operands = there;
    execution.edge_operand_count = 0;
    for (int k = 0; k < NAMED_MOST; k++)
        if (c->of[NAMED + k].name)
            there[execution.edge_operand_count++] = (tamis_edge_operand){
                .name = named[k], .values = operand_there(c, NAMED + k), .gradient = operand_there(c, D_NAMED + k)};
    return execution;
}

tamis_status product_pass(operation_case *c) {
    const product *const x = c->own;
    tamis_edge_operand there[NAMED_MOST];
    const tamis_execution execution = product_execution(c, there);
    const tamis_dense *const a = operand_there(c, A), *const b = operand_there(c, B),
                             *const out = operand_there(c, OUT);
    const bool takes_b = x->operation == TAMIS_OP_SPMM || x->same;
    const tamis_dense *const d = x->unnamed && x->plan ? NULL : operand_there(c, takes_b ? B : D);
    if (x->plan && x->alternates && a && b && d && out)
        TRY(call_plan(x->plan, x->operation, a, b, x->same ? &x->aside.there : b, out, &execution));
    if (x->plan) return call_plan(x->plan, x->operation, a, b, d, out, &execution);
    return call_at_once(c->device, x->operation, &c->there, a, b, d, out, &x->options, &execution);
}

tamis_status product_back(operation_case *c) {
    const product *const x = c->own;
    tamis_edge_operand there[NAMED_MOST];
    const tamis_execution execution = product_execution(c, there);
    const tamis_dense *const a = operand_there(c, A), *const b = operand_there(c, B), *const d = operand_there(c, D);
    const tamis_dense *const g = operand_there(c, D_OUT), *const da = operand_there(c, D_A);
    const tamis_dense *const db = operand_there(c, D_B), *const ds = operand_there(c, D_S);
    switch (x->operation) {
    case TAMIS_OP_SDDMM: return tamis_sddmm_backward(x->gradient, g, a, b, da, db, ds, &execution);
    case TAMIS_OP_SPMM: return tamis_spmm_backward(x->gradient, g, b, db, ds, &execution);
    case TAMIS_OP_FUSED: break;
    }
    return tamis_fused_backward(x->gradient, g, a, b, d, da, db, operand_there(c, D_D), ds, &execution);
}

/* ------------------------------------------------------------------------------------------ what is expected */

static matrix before(const operation_case *c, int k) {
    matrix old = c->of[k].m;
    old.here.data = (char *)c->of[k].before + old.twin.front;
    return old;
}

static void expect_forward(operation_case *c) {
    const product *const x = c->own;
    const matrix old = before(c, OUT);
    const int64_t one = old.here.rows * old.here.cols;
    double *const want = operand_want(c, OUT);
    if (c->forward_only) {
        double *const values = matrix_values(&old);
        const tamis_options o = problem_call(&x->p, x->operation, &x->call.options);
        memcpy(want, values, (size_t)operand_count(c, OUT) * sizeof *want);
        free(values);
        test_must(call_oracle(x->operation, &c->S, &x->p.A, &x->p.B, &x->p.D, &o, &x->call.execution, want));
        return;
    }
    test_call call = x->call;
    call.on = c->device;
    expectation right = expect_members(&x->p, x->operation, &call, &old);
    for (int64_t m = 0; m < x->p.options.batch; m++) {
        memcpy(want + m * one, right.want[m], (size_t)one * sizeof *want);
        memcpy(c->of[OUT].bound + m * one, right.bound[m], (size_t)one * sizeof *want);
    }
    expect_free(&right);
}

static int number_of(const char *name) {
    int k = 0;
    while (named[k] != name) k++;
    return k;
}

/* The oracle adds to what the gradient by a named array was. */
static void expect_named(operation_case *c, int k, tamis_dense *view) {
    const product *const x = c->own;
    double *const want = operand_want(c, k);
    const matrix was = before(c, k);
    OWN(double) *const old = matrix_values(&was);
    for (int64_t i = 0; i < operand_count(c, k); i++) want[i] = x->call.execution.beta != 0 ? old[i] : 0;
    for (int64_t i = 0; i < operand_count(c, k); i++) c->of[k].bound[i] = 0;
    *view =
        (tamis_dense){.data = want, .rows = was.here.rows, .cols = 1, .type = TAMIS_F64, .batch_stride = was.here.rows};
}

static void expect_rest(operation_case *c) {
    const product *const x = c->own;
    const bool edge = x->kind == PRODUCT_EDGE;
    const int in[INS] = {A, B, D, D_OUT}, out[OUTS] = {D_A, D_B, D_D, edge ? OUT : D_S};
    gradient_case g = {.shape = {.nnz = c->S.nnz,
                                 .inner = x->p.options.inner,
                                 .width = x->p.options.width,
                                 .batch = x->p.options.batch,
                                 .with_values = x->has_values},
                       .operation = x->operation,
                       .type = c->type,
                       .value_type = c->S.value_type,
                       .options = problem_call(&x->p, x->operation, &x->call.options),
                       .here = x->call.execution,
                       .values = x->values,
                       .S_here = c->S,
                       .row_of = c->pattern.row_of,
                       .column_of = c->pattern.column_of,
                       .rows = c->transpose ? c->S.cols : c->S.rows,
                       .cols = c->transpose ? c->S.rows : c->S.cols};
    const bool softmax = g.options.edge_text && strncmp(g.options.edge_text, "softmax(", 8) == 0;
    g.rounds_factors = softmax_may_round(c->device, x->operation, softmax ? TAMIS_EDGE_SOFTMAX : g.options.edge,
                                         c->type, x->has_values);
    for (int i = 0; i < INS; i++) g.in[i] = c->of[in[i]].m;
    double *const pairs = operand_want(c, PAIRS);
    if (pairs) kept_expect(&g, pairs, c->of[PAIRS].bound);
    if (!c->of[D_OUT].name) return;
    for (int k = 0; k < OUTS; k++) {
        g.out[k] = c->of[out[k]].m;
        const matrix old = before(c, out[k]);
        if (k == OUT_S) g.out[k].here.rows = c->S.nnz, g.out[k].here.cols = 1; /* bounded, whether wanted or not */
        g.old[k] = c->of[out[k]].name ? matrix_values(&old) : test_doubles(c->S.nnz * x->p.options.batch);
    }
    tamis_edge_operand asked[NAMED_MOST];
    tamis_dense wanted[NAMED_MOST];
    g.here.edge_operands = asked;
    for (int64_t n = 0; n < g.here.edge_operand_count; n++) {
        const int k = number_of(x->named[n].name);
        asked[n] = x->named[n];
        if (!operand_want(c, D_NAMED + k)) continue;
        expect_named(c, D_NAMED + k, &wanted[n]);
        asked[n].gradient = &wanted[n];
        g.named_bound[n] = c->of[D_NAMED + k].bound;
    }
    if (edge)
        gradient_case_expect_edge(&g);
    else
        gradient_case_expect(&g);
    for (int k = 0; k < OUTS; k++) {
        operand *const to = &c->of[out[k]];
        const size_t bytes = (size_t)operand_count(c, out[k]) * sizeof(double);
        double *const want = operand_want(c, out[k]);
        if (want) memcpy(want, g.want[k], bytes);
        if (want) memcpy(to->bound, g.bound[k], bytes);
        free(g.want[k]);
        free(g.bound[k]);
        free(g.old[k]);
    }
}

void product_reference(operation_case *c) {
    const product *const x = c->own;
    if (x->kind != PRODUCT_EDGE) expect_forward(c);
    if ((c->of[D_OUT].name || c->of[PAIRS].name) && !c->forward_only) expect_rest(c);
}
