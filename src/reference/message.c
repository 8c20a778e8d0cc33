/* The oracle of message passing: loops over the entries in S's order, in double. */
#include "reference/message.h"

#include <math.h>

#include "base/reserved.h"
#include "base/scope.h"
#include "base/sizes.h"
#include "base/status.h"
#include "expression/message.h"
#include "reference/bounds.h"
#include "reference/expression.h"
#include "reference/places.h"
#include "reference/request.h"

/* One call: S, the places of its entries, and the sizes. */
typedef struct call {
    const tamis_sparse *S;
    tamis_oracle_places places;
    tamis_message_options o;
    const tamis_dense *U, *E;
    tamis_message_text text;
    double roundings; /* > 0: bounds are computed, which allow them for each message; 0: values are */
    int64_t heads, width, all;
} call;

static tamis_status begin(call *c, const tamis_sparse *S, int64_t heads, int64_t width) {
    c->S = S;
    c->heads = heads ? heads : 1;
    c->width = width;
    c->all = c->heads * width;
    return tamis_oracle_places_begin(&c->places, S);
}

static double at(const tamis_dense *X, int64_t i, int64_t k) { return tamis_oracle_dense_at(X, 0, i, k); }

/* ------------------------------------------------------------------------------------------ messages */

/* The column of E that belongs to an element. */
static int64_t edge_column(const call *c, int64_t k) {
    if (c->o.edge_data == TAMIS_E_VECTOR) return k;
    return c->o.edge_data == TAMIS_E_HEAD ? k / c->width : 0;
}

static int64_t edge_columns(const call *c) {
    if (c->o.edge_data == TAMIS_E_VECTOR) return c->all;
    return c->o.edge_data == TAMIS_E_HEAD ? c->heads : 1;
}

static bool reads(const call *c, int leaf) { return tamis_message_text_reads(&c->text, leaf); }

/* The message of an element, or a derivative of it; or its bound. */
static double value_of(const call *c, const tamis_message_text *text, int64_t t, int64_t k) {
    const int64_t i = c->places.row[t], j = c->places.column[t], head = k / c->width;
    const double variables[TAMIS_VARIABLES] = {[TAMIS_STEP_X] = reads(c, TAMIS_STEP_X) ? at(c->U, j, k) : 0,
                                               [TAMIS_STEP_S] =
                                                   reads(c, TAMIS_STEP_S) ? at(c->E, t, edge_column(c, k)) : 0,
                                               [TAMIS_STEP_V] = reads(c, TAMIS_STEP_V) ? at(c->o.V, i, k) : 0,
                                               [TAMIS_STEP_I] = (double)i,
                                               [TAMIS_STEP_J] = (double)j,
                                               [TAMIS_STEP_PART] = (double)head};
    if (c->roundings == 0) return tamis_program_value(&text->program, text->scalars, variables);
    tamis_edge_result found[TAMIS_PROGRAM_RESULTS];
    tamis_program_results(&text->program, text->scalars, c->o.type, variables, 0, found);
    if (!found->one_class || found->jumps) return INFINITY;
    return isfinite(found->is) ? found->off + c->roundings * fabs(found->is) : 0;
}

static bool is_extreme(const call *c) { return c->o.reduce == TAMIS_REDUCE_MAX || c->o.reduce == TAMIS_REDUCE_MIN; }

static void reduce(const call *c, double *out, int64_t *argument) {
    tamis_oracle_clear(out, c->S->rows * c->all);
    for (int64_t i = 0; argument && i < c->S->rows * c->all; i++) argument[i] = -1;
    for (int64_t t = 0; t < c->S->nnz; t++)
        for (int64_t k = 0; k < c->all; k++) {
            const int64_t place = c->places.row[t] * c->all + k;
            const double next = value_of(c, &c->text, t, k);
            if (!is_extreme(c)) {
                out[place] +=
                    c->o.reduce == TAMIS_REDUCE_MEAN ? next / (double)c->places.count[c->places.row[t]] : next;
            } else if (argument && (argument[place] < 0 ||
                                    tamis_oracle_replaces(c->o.reduce == TAMIS_REDUCE_MAX, next, out[place]))) {
                out[place] = next;
                argument[place] = t;
            }
        }
}

static tamis_status begin_message(call *c, const tamis_sparse *S, const tamis_message_options *options,
                                  const tamis_dense *U, const tamis_dense *E) {
    static const char *const texts[] = {
        [TAMIS_MESSAGE_COPY_U] = "u",  [TAMIS_MESSAGE_ADD] = "u + e",
        [TAMIS_MESSAGE_SUB] = "u - e", [TAMIS_MESSAGE_MUL] = "u * e",
        [TAMIS_MESSAGE_COPY_E] = "e",  [TAMIS_MESSAGE_ADD_RELU] = "where(u + e <= 0, 0, u + e)"};
    c->places = (tamis_oracle_places){0};
    if (!options) return tamis_fail(TAMIS_ERROR_ARGUMENT, "options = NULL: expected the operation and the sizes");
    c->o = *options;
    c->U = U;
    c->E = E;
    c->roundings = 0;
    TRY(TAMIS_RESERVED(options, "options"));
    if ((unsigned)c->o.op > TAMIS_MESSAGE_TEXT)
        return tamis_fail(TAMIS_ERROR_ARGUMENT, "options.op = %d: expected 0 .. %d", (int)c->o.op,
                          (int)TAMIS_MESSAGE_TEXT);
    if (c->o.op != TAMIS_MESSAGE_TEXT) c->o.text = texts[c->o.op];
    TRY(tamis_message_text_make(&c->o, &c->text));
    TRY(begin(c, S, options->heads, options->width));
    if (reads(c, TAMIS_STEP_X)) TRY(tamis_oracle_check_matrix(U, "U", S->cols, c->all));
    if (reads(c, TAMIS_STEP_S)) TRY(tamis_oracle_check_matrix(E, "E", S->nnz, edge_columns(c)));
    if (reads(c, TAMIS_STEP_V)) TRY(tamis_oracle_check_matrix(c->o.V, "options.V", S->rows, c->all));
    return TAMIS_OK;
}

tamis_status tamis_reference_message(const tamis_sparse *S, const tamis_message_options *options, const tamis_dense *U,
                                     const tamis_dense *E, double *out, int64_t *argument) {
    TAMIS_SCOPE;
    call c;
    int64_t *own = NULL;
    tamis_clear_error();
    TRY(begin_message(&c, S, options, U, E));
    TRY(tamis_oracle_check_output(out, "out", S->rows * c.all));
    if (!argument) TRY(tamis_allocate_array(tamis_times(S->rows, c.all), "arguments", own));
    reduce(&c, out, argument ? argument : own);
    return TAMIS_OK;
}

/* Adds to the gradient of an operand, whose row of entry t is row[t] (NULL: t) and has `stride` numbers. */
static tamis_status add_back(const call *c, int leaf, const tamis_dense *dOut, const int64_t *argument,
                             const int64_t *row, int64_t stride, double *to) {
    tamis_message_text by;
    TRY(tamis_message_text_by(&c->text, leaf, &by));
    for (int64_t t = 0; t < c->S->nnz; t++)
        for (int64_t k = 0; k < c->all; k++) {
            const int64_t i = c->places.row[t];
            double g = at(dOut, i, k);
            if (c->roundings > 0) g = fabs(g);
            if (c->o.reduce == TAMIS_REDUCE_MEAN) g /= (double)c->places.count[i];
            if (is_extreme(c) && argument[i * c->all + k] != t) continue;
            to[(row ? row[t] : t) * stride + (leaf == TAMIS_STEP_S ? edge_column(c, k) : k)] +=
                g * value_of(c, &by, t, k);
        }
    return TAMIS_OK;
}

static tamis_status back(const call *c, const tamis_dense *dOut, const int64_t *argument, double *du, double *de) {
    const tamis_dense *const dV = c->o.dV;
    tamis_oracle_clear(du, c->S->cols * c->all);
    tamis_oracle_clear(de, c->S->nnz * edge_columns(c));
    if (du && reads(c, TAMIS_STEP_X)) TRY(add_back(c, TAMIS_STEP_X, dOut, argument, c->places.column, c->all, du));
    if (de && reads(c, TAMIS_STEP_S)) TRY(add_back(c, TAMIS_STEP_S, dOut, argument, NULL, edge_columns(c), de));
    if (!dV) return TAMIS_OK;
    TRY(tamis_oracle_check_matrix(dV, "options.dV", c->S->rows, c->all));
    TRY(tamis_oracle_check_output(dV->data, "options.dV", c->S->rows * c->all));
    if (!reads(c, TAMIS_STEP_V))
        return tamis_fail(TAMIS_ERROR_ARGUMENT,
                          "options.dV is not NULL, but the message does not read V: expected NULL");
    if (dV->type != TAMIS_F64 || dV->layout != TAMIS_ROW_MAJOR || (dV->stride && dV->stride != c->all))
        return tamis_fail(TAMIS_ERROR_ARGUMENT, "options.dV: expected doubles, row-major and packed");
    tamis_oracle_clear(dV->data, c->S->rows * c->all);
    return add_back(c, TAMIS_STEP_V, dOut, argument, c->places.row, c->all, dV->data);
}

tamis_status tamis_reference_message_backward(const tamis_sparse *S, const tamis_message_options *options,
                                              const tamis_dense *dOut, const tamis_dense *U, const tamis_dense *E,
                                              double *du, double *de) {
    TAMIS_SCOPE;
    call c;
    int64_t *argument;
    double *out;
    tamis_clear_error();
    TRY(begin_message(&c, S, options, U, E));
    TRY(tamis_oracle_check_matrix(dOut, "dOut", S->rows, c.all));
    TRY(tamis_allocate_array(tamis_times(S->rows, c.all), "arguments", argument));
    TRY(tamis_allocate_array(tamis_times(S->rows, c.all), "results", out));
    reduce(&c, out, argument);
    TRY(back(&c, dOut, argument, du, de));
    return TAMIS_OK;
}

tamis_status tamis_reference_message_bounds(const tamis_sparse *S, const tamis_message_options *options,
                                            const tamis_dense *dOut, const tamis_dense *U, const tamis_dense *E,
                                            double roundings, double *out, double *du, double *de) {
    TAMIS_SCOPE;
    call c;
    TRY(begin_message(&c, S, options, U, E));
    c.roundings = roundings * tamis_arithmetic_of(options->type).both;
    reduce(&c, out, NULL);
    if (dOut) TRY(back(&c, dOut, NULL, du, de));
    return TAMIS_OK;
}

/* ------------------------------------------------------------------------------------------ edge vectors */

static tamis_status begin_pair(call *c, const tamis_sparse *S, const tamis_pair_options *options, const tamis_dense *U,
                               const tamis_dense *V) {
    if (!options) return tamis_fail(TAMIS_ERROR_ARGUMENT, "options = NULL: expected the operation and the sizes");
    TRY(TAMIS_RESERVED(options, "options"));
    TRY(begin(c, S, options->heads, options->width));
    TRY(tamis_oracle_check_matrix(U, "U", S->rows, c->all));
    TRY(tamis_oracle_check_matrix(V, "V", S->cols, c->all));
    return TAMIS_OK;
}

tamis_status tamis_reference_edge_vectors(const tamis_sparse *S, const tamis_pair_options *options,
                                          const tamis_dense *U, const tamis_dense *V, double *out) {
    TAMIS_SCOPE;
    call c;
    tamis_clear_error();
    TRY(begin_pair(&c, S, options, U, V));
    const bool dot = options->op == TAMIS_PAIR_DOT;
    TRY(tamis_oracle_check_output(out, "out", S->nnz * (dot ? c.heads : c.all)));
    if (dot) tamis_oracle_clear(out, S->nnz * c.heads);
    for (int64_t t = 0; t < S->nnz; t++)
        for (int64_t k = 0; k < c.all; k++) {
            const double u = at(U, c.places.row[t], k), v = at(V, c.places.column[t], k);
            switch (options->op) {
            case TAMIS_PAIR_ADD: out[t * c.all + k] = u + v; break;
            case TAMIS_PAIR_SUB: out[t * c.all + k] = u - v; break;
            case TAMIS_PAIR_MUL: out[t * c.all + k] = u * v; break;
            default: out[t * c.heads + k / c.width] += u * v;
            }
        }
    return TAMIS_OK;
}

tamis_status tamis_reference_edge_vectors_backward(const tamis_sparse *S, const tamis_pair_options *options,
                                                   const tamis_dense *dOut, const tamis_dense *U, const tamis_dense *V,
                                                   double *du, double *dv) {
    TAMIS_SCOPE;
    call c;
    tamis_clear_error();
    TRY(begin_pair(&c, S, options, U, V));
    const bool dot = options->op == TAMIS_PAIR_DOT, multiplies = dot || options->op == TAMIS_PAIR_MUL;
    TRY(tamis_oracle_check_matrix(dOut, "dOut", S->nnz, dot ? c.heads : c.all));
    tamis_oracle_clear(du, S->rows * c.all);
    tamis_oracle_clear(dv, S->cols * c.all);
    for (int64_t t = 0; t < S->nnz; t++)
        for (int64_t k = 0; k < c.all; k++) {
            const double g = at(dOut, t, dot ? k / c.width : k);
            if (du) du[c.places.row[t] * c.all + k] += multiplies ? g * at(V, c.places.column[t], k) : g;
            if (dv)
                dv[c.places.column[t] * c.all + k] +=
                    multiplies ? g * at(U, c.places.row[t], k) : (options->op == TAMIS_PAIR_SUB ? -g : g);
        }
    return TAMIS_OK;
}
