/* The dense companions against plain loops in double, at any scale; psi also against published numbers. */
#include "support/operation.h"

#include <tamis/dense.h>

/* AP of a step is X, its lambda are W. */
enum { X, Y, G, W, OUT, P, R, RR, RESULT };
enum {
    FILL,
    COMBINE,
    SCALE,
    MAP,
    GRAM,
    MULTIPLY,
    COLUMN_SUMS,
    ROW_SUMS,
    ROW_DOTS,
    DOT,
    LOG_DOT,
    STEP,
    DESCENT,
    PSI,
    OPS
};

/* psi(x) and exp(psi(x)), by mpmath with 40 digits; SciPy's digamma agrees to 4e-15. */
static const double published[][3] = {
    {0.0625, -16.478853490060104367, 6.9714779996491505052e-8},
    {0.25, -4.2274535333762654081, 0.014589494947750207096},
    {0.5, -1.9635100260214234794, 0.14036487089172129246},
    {0.75, -1.0858608797864721696, 0.33761101825337358355},
    {1.0, -0.57721566490153286061, 0.56145948356688516982},
    {1.25, -0.22745353337626540809, 0.79655943406506567816},
    {1.5, 0.036489973978576520559, 1.0371639053380865127},
    {2.0, 0.42278433509846713939, 1.5262051115958638805},
    {2.5, 0.70315664064524318723, 2.0201194445802005396},
    {3.0, 0.92278433509846713939, 2.5162868309393635803},
    {4.75, 1.4492040552784628953, 4.2597226617161560008},
    {5.9990234375, 1.7059405795956395415, 5.5065625925913450759},
    {6.0, 1.7061176684318004727, 5.5075378297013681378},
    {7.125, 1.8917959606533552671, 6.6312674884409621132},
    {9.9990234375, 2.2516498822976999316, 9.5034024042028175741},
    {10.0, 2.2517525890667211076, 9.5043785180843547474},
    {31.25, 3.4259340515829541975, 30.751354792754697007},
    {123456.75, 11.723642121279044456, 123456.25000033750148},
    {1000000000.0, 20.723265836446411156, 999999999.50000000004},
};
enum { PUBLISHED = sizeof published / sizeof published[0], ENDS = 4 };
/* x and exp(psi(x)) */
static const double ends[][2] = {{0, 0}, {-1, (double)NAN}, {(double)NAN, (double)NAN}, {1e-3, 0}};

typedef struct own {
    int op, kind;
    double a, b, c; /* what the call multiplies with and adds */
    bool same;      /* an operand is another one, or where the result goes */
    tamis_dense_workspace *workspace;
} own;

static bool in_place(const own *x) { return x->op == COMBINE || x->op == SCALE || x->op == MAP || x->op == PSI; }
static double unit(const operation_case *c) { return c->type == TAMIS_F64 ? 0x1p-53 : 0x1p-24; }

/* ------------------------------------------------------------------------------------------ what is drawn */

static operand *add_out(operation_case *c, int k, const char *name, int64_t rows, int64_t cols, bool old) {
    operand *const x = operand_add(c, k, OPERAND_OUT, -1, name, rows, cols);
    x->old = old;
    return x;
}

static operand *add_in(operation_case *c, int k, const char *name, int64_t rows, int64_t cols) {
    return operand_add(c, k, OPERAND_IN, -1, name, rows, cols);
}

/* X, or an output in its place. */
static void add_beside(operation_case *c, const char *name, int64_t m, int64_t n, bool old) {
    own *const x = c->own;
    x->same = operation_once_in(c, 3);
    if (!x->same) add_in(c, X, "X", m, n)->any_size = true;
    c->of[X].under = true;
    add_out(c, OUT, name, m, n, old || x->same);
    if (x->same) c->unspoilt = true;
}

/* Y, or X once more. */
static void add_other(operation_case *c, const char *name, int64_t m, int64_t n) {
    own *const x = c->own;
    x->same = operation_once_in(c, 4);
    if (!x->same) add_in(c, Y, name, m, n);
    if (x->same) c->unspoilt = true;
}

static void add_result(operation_case *c) {
    operand_typed(c, RESULT, OPERAND_OUT, -1, "result", 1, 1, TAMIS_F64)->array = true;
}

static void draw_map(operation_case *c, int64_t m, int64_t n) {
    static const double numbers[][2] = {{0.7, 0.1}, {1.3, 0.05}, {0.9, 0.25}, {0.25, 0.75}, {-0.05, 1e-3}};
    own *const x = c->own;
    x->kind = (int)operation_below(c, 5);
    x->a = numbers[x->kind][0], x->b = numbers[x->kind][1];
    if (x->kind == TAMIS_MAP_ADAGRAD) {
        add_in(c, X, "X", m, n)->any_size = true;
        add_out(c, Y, "Y", m, n, true);
        add_out(c, OUT, "Z", m, n, true);
        return;
    }
    add_beside(c, "Z", m, n, false);
    if (x->kind != TAMIS_MAP_CLAMP) add_in(c, Y, "Y", m, n)->under = true;
}

static void draw_step(operation_case *c, int64_t m, int64_t n) {
    add_in(c, X, "AP", m, n)->any_size = true;
    add_out(c, P, "P", m, n, true);
    add_out(c, OUT, "X", m, n, true);
    add_out(c, R, "R", m, n, true);
    add_out(c, RR, "rr", m, 1, true);
    if (operation_once_in(c, 2)) add_in(c, W, "lambda", m, 1)->optional = true;
}

static void draw_operands(operation_case *c, int64_t m, int64_t n, int64_t k) {
    own *const x = c->own;
    const bool first =
        x->op == GRAM || x->op == MULTIPLY || x->op == COLUMN_SUMS || (x->op >= ROW_SUMS && x->op < STEP);
    if (first) add_in(c, X, "X", m, n)->any_size = true;
    switch (x->op) {
    case FILL: add_out(c, OUT, "X", m, n, false)->any_size = true; break;
    case COMBINE: add_beside(c, "Y", m, n, x->b != 0); break;
    case SCALE:
        x->kind = (int)operation_below(c, 4);
        add_beside(c, "Y", m, n, x->b != 0);
        if (operation_once_in(c, 2)) add_in(c, W, "weights", x->kind % 2 ? n : m, 1)->optional = true;
        break;
    case MAP: draw_map(c, m, n); break;
    case GRAM: add_out(c, OUT, "G", n, n, false); break;
    case MULTIPLY:
        add_in(c, G, "G", n, k)->any_size = true;
        add_out(c, OUT, "Y", m, k, x->b != 0);
        break;
    case COLUMN_SUMS: add_out(c, OUT, "sums", n, 1, false); break;
    case ROW_SUMS: add_out(c, OUT, "sums", m, 1, false); break;
    case ROW_DOTS:
        add_other(c, "Y", m, n);
        add_out(c, OUT, "dots", m, 1, false);
        break;
    case DOT:
        add_other(c, "Y", m, n);
        add_result(c);
        break;
    case LOG_DOT:
        if (operation_once_in(c, 2)) add_in(c, W, "W", m, n)->optional = true;
        add_result(c);
        break;
    case DESCENT:
        add_in(c, G, "G", n, n);
        add_out(c, R, "R", m, n, true);
        add_out(c, OUT, "X", m, n, true)->any_size = true;
        break;
    case PSI:
        x->same = c->unspoilt = true;
        add_out(c, OUT, "Z", PUBLISHED + ENDS, 1, true);
        add_in(c, Y, "Y", PUBLISHED + ENDS, 1);
        break;
    default: draw_step(c, m, n); break;
    }
}

static void draw(operation_case *c) {
    static const int64_t heights[] = {0, 1, 2, 3, 7, 33, 64, 131, 601, 1500},
                         widths[] = {0, 1, 2, 3, 5, 8, 13, 16, 31, 33, 64, 67, 128, 130, 300};
    static const char *const names[OPS] = {"fill",     "combine",     "scale",    "map",      "gram",
                                           "multiply", "column sums", "row sums", "row dots", "dot",
                                           "log dot",  "step",        "descent",  "psi"};
    own *const x = c->own;
    x->op = (int)operation_pick(c, OPS);
    x->a = x->op == LOG_DOT ? 0.125 : x->op == STEP ? 0.25 : operation_once_in(c, 2) ? 1.2 : -1.7;
    x->b = operation_once_in(c, 2) ? 0 : operation_once_in(c, 2) ? 1 : -0.4;
    x->c = operation_once_in(c, 2) ? 0.3 : 1.6;
    operation_says(c, "%s", names[x->op]);
    /* a tool that looks for races takes minutes for thousands of elements */
    const int64_t rows = heights[operation_below(c, strcmp(c->on, "cpu") == 0 ? 10 : test_rounds(10, 6))];
    draw_operands(c, rows, OPERATION_ONE_OF(c, widths), OPERATION_ONE_OF(c, widths));
}

/* Each element becomes low and its size, times a factor. */
static void raise(matrix *m, double low, double by) {
    for (int64_t i = 0; m->twin.host && i < m->here.rows * m->here.cols; i++) {
        const int64_t r = i / m->here.cols, j = i % m->here.cols;
        matrix_set(m, r, j, by * (low + fabs(matrix_get(m, r, j))));
    }
}

/* Of a step rr is R's, and some rows are solved; any scale. */
static void fill_step(operation_case *c) {
    const double scale = ldexp(1, (int)operation_below(c, 60) - 40);
    matrix *const r = &c->of[R].m;
    raise(&c->of[X].m, 0.5, scale);
    raise(&c->of[P].m, 0.1, scale);
    for (int64_t i = 0; i < r->here.rows; i++) {
        double sum = 0;
        for (int64_t j = 0; j < r->here.cols; j++) {
            matrix_set(r, i, j, i % 5 == 4 ? 0 : scale * matrix_get(r, i, j));
            sum += matrix_get(r, i, j) * matrix_get(r, i, j);
        }
        matrix_set(&c->of[RR].m, i, 0, sum);
    }
}

/* G has a dominant diagonal, so that bounds do not grow; now and then one that is 0. Some of X are 0 already. */
static void fill_descent(operation_case *c) {
    matrix *const g = &c->of[G].m, *const x = &c->of[OUT].m;
    const int64_t n = g->here.rows;
    for (int64_t i = 0; i < n; i++)
        for (int64_t j = 0; j <= i; j++) {
            const double value =
                i == j ? (i % 7 == 5 ? 0 : 1 + fabs(matrix_get(g, i, i))) : matrix_get(g, i, j) / (double)n;
            matrix_set(g, i, j, value);
            matrix_set(g, j, i, value);
        }
    for (int64_t i = 0; i < x->here.rows; i++)
        for (int64_t j = 0; j < n; j++) matrix_set(x, i, j, (i + j) % 3 == 0 ? 0 : fabs(matrix_get(x, i, j)));
}

static void fill(operation_case *c) {
    const own *const x = c->own;
    const bool map = x->op == MAP, psi = map && x->kind == TAMIS_MAP_EXP_DIGAMMA;
    if (x->op == SCALE || x->op == STEP) raise(&c->of[W].m, 0, 1);
    if (psi || (map && (x->kind == TAMIS_MAP_DIVIDE || x->kind == TAMIS_MAP_ADAGRAD))) {
        raise(&c->of[x->same ? OUT : X].m, 0.1, psi ? 2 : 1);
        raise(&c->of[Y].m, 0.1, 1);
    }
    if (x->op == STEP) fill_step(c);
    if (x->op == DESCENT) fill_descent(c);
    for (int i = 0; i < PUBLISHED + ENDS && x->op == PSI; i++) { /* every number is exact in fp32 */
        matrix_set(&c->of[OUT].m, i, 0, i < PUBLISHED ? published[i][0] : ends[i - PUBLISHED][0]);
        matrix_set(&c->of[Y].m, i, 0, 1);
    }
}

/* ------------------------------------------------------------------------------------------ calls */

static const char *unsupported(const operation_case *c) { return tamis_type_size(c->type) == 2 ? "type = " : NULL; }

static tamis_status open_workspace(operation_case *c) {
    own *const x = c->own;
    const bool needs = x->op == GRAM || x->op == COLUMN_SUMS || x->op == DOT || x->op == LOG_DOT;
    const int64_t columns = x->op == GRAM || x->op == COLUMN_SUMS ? c->of[X].m.here.cols : 0;
    const tamis_status status = tamis_device_set_threads(c->device, c->threads);
    if (status != TAMIS_OK || !needs) return status;
    return tamis_dense_workspace_create(c->device, columns, c->type, &x->workspace);
}

static void close_workspace(operation_case *c) {
    own *const x = c->own;
    tamis_dense_workspace_destroy(x->workspace);
    x->workspace = NULL;
}

static tamis_status pass_sum(operation_case *c, const tamis_dense *x, const tamis_dense *y) {
    const own *const o = c->own;
    double sum = 0;
    const tamis_status status =
        o->op == DOT ? tamis_dense_dot(c->device, c->stream, o->workspace, x, y, &sum)
                     : tamis_dense_log_dot(c->device, c->stream, o->workspace, operand_there(c, W), x, o->a, &sum);
    if (status != TAMIS_OK) return status;
    matrix_set(&c->of[RESULT].m, 0, 0, sum);
    matrix_send(c->device, &c->of[RESULT].m);
    return status;
}

static tamis_status pass(operation_case *c) {
    const own *const o = c->own;
    const tamis_dense *const out = operand_there(c, OUT), *const w = operand_there(c, W),
                             *const g = operand_there(c, G);
    const tamis_dense *const x = o->same && in_place(o) ? out : operand_there(c, X);
    const tamis_dense *const y = o->same && !in_place(o) ? x : operand_there(c, Y);
    tamis_device *const on = c->device;
    void *const stream = c->stream;
    switch (o->op) {
    case FILL: return tamis_dense_fill(on, stream, out, o->a);
    case COMBINE: return tamis_dense_axpby(on, stream, o->a, x, o->b, out);
    case SCALE: return tamis_dense_scale(on, stream, (tamis_scaling)o->kind, w, o->c, x, o->b, out);
    case PSI: return tamis_dense_map(on, stream, TAMIS_MAP_EXP_DIGAMMA, 1, 0, x, y, out);
    case MAP: return tamis_dense_map(on, stream, (tamis_map)o->kind, o->a, o->b, x, y, out);
    case GRAM: return tamis_dense_gram(on, stream, o->workspace, o->a, x, o->c, out);
    case MULTIPLY: return tamis_dense_multiply(on, stream, o->a, x, g, o->b, out);
    case COLUMN_SUMS: return tamis_dense_column_sums(on, stream, o->workspace, x, out);
    case ROW_SUMS: return tamis_dense_row_sums(on, stream, x, out);
    case ROW_DOTS: return tamis_dense_row_dots(on, stream, x, y, out);
    case STEP:
        return tamis_dense_cg_step(on, stream, w, o->a, x, operand_there(c, P), out, operand_there(c, R),
                                   operand_there(c, RR));
    case DESCENT: return tamis_dense_cd_step(on, stream, g, operand_there(c, R), out);
    default: return pass_sum(c, x, y);
    }
}

/* ------------------------------------------------------------------------------------------ what is expected */

/*
 * Componentwise, with u the unit roundoff of the matrices' type and e that of double:
 *   a few operations on terms t   some u sum |t|, as many as there are roundings (a parameter counts: it is rounded)
 *   a sum of n in the type        (n + 8) u sum |t|: any order, fused or not; in blocks n is the most that one number
 *                                 goes through: its block, the blocks, the chunks
 *   a sum of n in double          (n + 8) e sum |t|
 * What depends on a rounded sum gets its error by the derivative. Of `off` one rounding is that of storing.
 */
static void expect(operation_case *c, int k, int64_t i, double want, double off) {
    operand_want(c, k)[i] = want;
    c->of[k].bound[i] =
        fmax(0, off - (k == RESULT ? 0x1p-53 : unit(c)) * fabs(want)) + (c->type == TAMIS_F64 ? 1e-300 : 1e-37);
    if (off == 0) c->of[k].bound[i] = 0;
}

/* As before the call; NULL: there is none. */
static double *numbers_of(const operation_case *c, int k) {
    matrix m = c->of[k].m;
    if (!c->of[k].name) return NULL;
    if (c->of[k].role == OPERAND_OUT) m.here.data = (char *)c->of[k].before + m.twin.front;
    return matrix_values(&m);
}

/* psi and psi' by 60 steps of the recurrence and the asymptotic series in long double. */
static double digamma(double x, double *slope) {
    long double at = x, sum = 0, slopes = 0;
    for (int i = 0; i < 60; i++, at += 1) {
        sum -= 1 / at;
        slopes += 1 / (at * at);
    }
    const long double s = 1 / (at * at);
    *slope = (double)(slopes + 1 / at + s / 2 + s / at / 6);
    return (double)(sum + logl(at) - 1 / (2 * at) - s * (1.0L / 12 - s * (1.0L / 120 - s * (1.0L / 252 - s / 240))));
}

static void expect_map(operation_case *c, int64_t i, double x, double y, double z) {
    const own *const o = c->own;
    const double u = unit(c), product = o->a * x * y + o->b, around = 4 * u * (fabs(o->a * x * y) + fabs(o->b));
    double slope;
    if (o->kind == TAMIS_MAP_MULTIPLY_ADD) expect(c, OUT, i, product, around);
    if (o->kind == TAMIS_MAP_CLAMP) expect(c, OUT, i, fmin(fmax(x, o->a), o->b), 0); /* which are exact */
    if (o->kind == TAMIS_MAP_DIVIDE) { /* OpenCL's may err by 2.5 units in the last place */
        const double quotient = o->a * x / fmax(y, o->b);
        expect(c, OUT, i, quotient, 8 * u * fabs(quotient));
    }
    if (o->kind == TAMIS_MAP_EXP_DIGAMMA) {
        /* exp(-(s + t)): s + t is at most |psi| + |ln y| + 1, of some 20 roundings; psi' carries the argument's */
        const double psi = digamma(product, &slope), value = exp(psi);
        expect(c, OUT, i, value, value * expm1(slope * around + u * (20 + 20 * (fabs(psi) + 3))) * 2);
    }
    if (o->kind == TAMIS_MAP_ADAGRAD) {
        const double history = y + x * x, step = o->a * x / (sqrt(history) + o->b);
        expect(c, Y, i, history, 3 * u * history);
        expect(c, OUT, i, z + step, 16 * u * (fabs(z) + fabs(step)));
    }
}

/* The operands before the call, of m x n. */
typedef struct numbers {
    int64_t m, n;
    double *x, *y, *g, *w, *old; /* old: of the output */
} numbers;

typedef struct sum {
    double is, size;
} sum;

static void add(sum *s, double term) {
    s->is += term;
    s->size += fabs(term);
}

static void expect_elements(operation_case *c, const numbers *v) {
    const own *const o = c->own;
    for (int64_t t = 0; t < v->m * v->n; t++) {
        const double x = v->x ? v->x[t] : 0, old = o->b != 0 ? o->b * v->old[t] : 0;
        double term = o->a * x;
        if (o->op == SCALE) {
            const double by = o->c + (v->w ? v->w[o->kind % 2 ? t % v->n : t / v->n] : 0);
            term = o->kind < 2 ? by * x : x / by;
        }
        if (o->op == FILL)
            expect(c, OUT, t, o->a, unit(c) * fabs(o->a));
        else if (o->op == MAP)
            expect_map(c, t, x, v->y ? v->y[t] : 0, v->old[t]);
        else
            expect(c, OUT, t, term + old, (o->op == SCALE ? 8 : 4) * unit(c) * (fabs(term) + fabs(old)));
    }
}

static void expect_gram(operation_case *c, const numbers *v) {
    const own *const o = c->own;
    const double terms = v->m < 256 ? (double)v->m : 256;
    for (int64_t i = 0; i < v->n; i++)
        for (int64_t j = 0; j < v->n; j++) {
            sum s = {0};
            for (int64_t k = 0; k < v->m; k++) add(&s, o->a * v->x[k * v->n + i] * v->x[k * v->n + j]);
            expect(c, OUT, i * v->n + j, s.is + (i == j ? o->c : 0), (terms + 8) * unit(c) * (s.size + o->c));
            const matrix *const found = &c->of[OUT].m;
            if (matrix_get(found, i, j) != matrix_get(found, j, i)) fail_msg("%s: it is not symmetric", c->text);
        }
}

static void expect_product(operation_case *c, const numbers *v) {
    const own *const o = c->own;
    const int64_t l = c->of[G].m.here.cols;
    for (int64_t i = 0; i < v->m * l; i++) {
        const double old = o->b != 0 ? o->b * v->old[i] : 0;
        sum s = {0};
        for (int64_t k = 0; k < v->n; k++) add(&s, o->a * v->x[i / l * v->n + k] * v->g[k * l + i % l]);
        expect(c, OUT, i, s.is + old, ((double)v->n + 8) * unit(c) * (s.size + fabs(old)));
    }
}

static void expect_sums(operation_case *c, const numbers *v) {
    const own *const o = c->own;
    const bool columns = o->op == COLUMN_SUMS;
    for (int64_t i = 0; i < (columns ? v->n : v->m); i++) {
        sum s = {0};
        for (int64_t k = 0; k < (columns ? v->m : v->n); k++) {
            const int64_t t = columns ? k * v->n + i : i * v->n + k;
            add(&s, v->x[t] * (o->op == ROW_DOTS ? v->y[t] : 1));
        }
        expect(c, OUT, i, s.is,
               s.size * (columns ? ((double)v->m + 8) * 0x1p-53 + (c->type == TAMIS_F32 ? unit(c) : 0)
                                 : ((double)v->n + 8) * unit(c)));
    }
}

static void expect_total(operation_case *c, const numbers *v) {
    const own *const o = c->own;
    const double e = 2 * ((double)(v->m * v->n) + 8) * 0x1p-53;
    double weights = 0;
    sum s = {0};
    for (int64_t t = 0; t < v->m * v->n; t++) {
        const double w = v->w ? v->w[t] : 1;
        add(&s, o->op == DOT ? v->x[t] * v->y[t] : w * log(fmax(v->x[t], o->a)));
        weights += fabs(w);
    }
    expect(c, RESULT, 0, s.is, o->op == DOT ? e * s.size : (e + 8 * unit(c)) * s.size + unit(c) * weights);
}

/* One row of a step. */
static void expect_step(operation_case *c, const numbers *v, const double *const old[OPERANDS], int64_t i) {
    const int64_t n = v->n, row = i * n;
    const double u = unit(c), sums = ((double)n + 16) * u, shift = OPERATION_OWN(c)->a + (v->w ? v->w[i] : 0);
    const double *const ap = v->x + row, *const p = old[P] + row, *const x = old[OUT] + row, *const r = old[R] + row;
    const double before = old[RR][i];
    double error[300], left[300], pap = 0, after = 0, after_error = 0;
    for (int64_t j = 0; j < n; j++) pap += p[j] * (ap[j] + shift * p[j]); /* all terms positive */
    const double a = pap > 0 ? before / pap : 0;
    for (int64_t j = 0; j < n; j++) {
        const double q = ap[j] + shift * p[j];
        left[j] = r[j] - a * q;
        error[j] = fabs(a * q) * (sums + 8 * u) + 2 * u * fabs(r[j]);
        after += left[j] * left[j];
        after_error += 2 * fabs(left[j]) * error[j] + error[j] * error[j] + sums * left[j] * left[j];
    }
    const double b = before == 0 ? 0 : after / before, b_error = before == 0 ? 0 : after_error / before;
    expect(c, RR, i, after, after_error + 4 * u * after);
    for (int64_t j = 0; j < n; j++) {
        expect(c, OUT, row + j, x[j] + a * p[j], fabs(a * p[j]) * (sums + 8 * u) + 2 * u * fabs(x[j]));
        expect(c, R, row + j, left[j], error[j]);
        expect(c, P, row + j, left[j] + b * p[j],
               error[j] + (b_error + 8 * u * b) * fabs(p[j]) + 4 * u * fabs(left[j]));
    }
}

/* One row of a sweep. A step errs by what its residual does, divided by the diagonal, and no clamp adds to that. */
static void expect_descent(operation_case *c, const numbers *v, const double *const old[OPERANDS], int64_t i) {
    const int64_t n = v->n, row = i * n;
    const double u = unit(c);
    double left[300], error[300];
    for (int64_t j = 0; j < n; j++) {
        left[j] = old[R][row + j];
        error[j] = 0;
    }
    for (int64_t j = 0; j < n; j++) {
        const double *const g = v->g + j * n, x = v->old[row + j];
        const double free = g[j] > 0 ? left[j] / g[j] : 0, d = fmax(free, -x);
        const double off = g[j] > 0 ? error[j] / g[j] + 8 * u * fabs(free) : 0;
        expect(c, OUT, row + j, x + d, off + 2 * u * fabs(x + d));
        for (int64_t l = 0; l < n; l++) {
            left[l] -= d * g[l];
            error[l] += fabs(g[l]) * off + 2 * u * (fabs(d * g[l]) + fabs(left[l]));
        }
    }
    for (int64_t j = 0; j < n; j++) expect(c, R, row + j, left[j], error[j]);
}

static void reference(operation_case *c) {
    const own *const o = c->own;
    double *old[OPERANDS];
    for (int k = 0; k < OPERANDS; k++) old[k] = numbers_of(c, k);
    for (int k = 0; k < OPERANDS; k++)
        if (c->of[k].role == OPERAND_OUT) (void)operand_want(c, k);
    const tamis_dense *const first = &c->of[old[X] ? X : OUT].m.here;
    const numbers v = {first->rows,
                       first->cols,
                       o->same && in_place(o) ? old[OUT] : old[X],
                       o->same && !in_place(o) ? old[X] : old[Y],
                       old[G],
                       old[W],
                       old[OUT]};
    switch (o->op) {
    case GRAM: expect_gram(c, &v); break;
    case MULTIPLY: expect_product(c, &v); break;
    case COLUMN_SUMS:
    case ROW_SUMS:
    case ROW_DOTS: expect_sums(c, &v); break;
    case DOT:
    case LOG_DOT: expect_total(c, &v); break;
    case STEP:
        for (int64_t i = 0; i < v.m; i++) expect_step(c, &v, (const double *const *)old, i);
        break;
    case DESCENT:
        for (int64_t i = 0; i < v.m; i++) expect_descent(c, &v, (const double *const *)old, i);
        break;
    case PSI:
        for (int i = 0; i < PUBLISHED + ENDS; i++) {
            const double *const p = published[i < PUBLISHED ? i : 0], psi = p[2];
            const double off = (8 + 8 * fmax(0, -p[1])) * unit(c) * psi;
            expect(c, OUT, i, i < PUBLISHED ? psi : ends[i - PUBLISHED][1], i < PUBLISHED ? off : 0);
        }
        break;
    default: expect_elements(c, &v); break;
    }
    for (int k = 0; k < OPERANDS; k++) free(old[k]);
}

/* The tests' own psi. */
TEST(psi_is_as_published) {
    for (int i = 0; i < PUBLISHED; i++) {
        double slope;
        const double psi = published[i][1];
        assert_true(fabs(digamma(published[i][0], &slope) - psi) <= 4 * 0x1p-53 * (1 + fabs(psi)));
    }
}

static const operation_row row = {.name = "dense",
                                  .own = sizeof(own),
                                  .tables = TEST_DENSE,
                                  .cases = 4 * OPS * 16,
                                  .any_values = true,
                                  .waits = true,
                                  .spoilt = 6 * OPS,
                                  .draw = draw,
                                  .fill = fill,
                                  .unsupported = unsupported,
                                  .open = open_workspace,
                                  .close = close_workspace,
                                  .pass = pass,
                                  .reference = reference};

OPERATION(row)
