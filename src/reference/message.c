/* The oracle of message passing: loops over the entries in S's order, in double. */
#include <tamis/reference.h>

#include "base/memory.h"
#include "base/reserved.h"
#include "base/status.h"
#include "reference/places.h"
#include "reference/request.h"

/* One call: S, the places of its entries, and the sizes. */
typedef struct call {
    const tamis_sparse *S;
    tamis_oracle_places places;
    tamis_message_options o;
    int64_t heads, width, all;
} call;

static tamis_status begin(call *c, const tamis_sparse *S, int64_t heads, int64_t width) {
    *c = (call){.S = S, .o = c->o, .heads = heads ? heads : 1, .width = width};
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

static double message(const call *c, const tamis_dense *U, const tamis_dense *E, int64_t t, int64_t k) {
    const double u = c->o.op == TAMIS_MESSAGE_COPY_E ? 0 : at(U, c->places.column[t], k);
    const double e = c->o.op == TAMIS_MESSAGE_COPY_U ? 0 : at(E, t, edge_column(c, k));
    switch (c->o.op) {
    case TAMIS_MESSAGE_COPY_U: return u;
    case TAMIS_MESSAGE_ADD: return u + e;
    case TAMIS_MESSAGE_SUB: return u - e;
    case TAMIS_MESSAGE_MUL: return u * e;
    case TAMIS_MESSAGE_ADD_RELU: return u + e <= 0 ? 0 : u + e;
    default: return e;
    }
}

static bool is_extreme(const call *c) { return c->o.reduce == TAMIS_REDUCE_MAX || c->o.reduce == TAMIS_REDUCE_MIN; }

static void reduce(const call *c, const tamis_dense *U, const tamis_dense *E, double *out, int64_t *argument) {
    tamis_oracle_clear(out, c->S->rows * c->all);
    for (int64_t i = 0; argument && i < c->S->rows * c->all; i++) argument[i] = -1;
    for (int64_t t = 0; t < c->S->nnz; t++)
        for (int64_t k = 0; k < c->all; k++) {
            const int64_t place = c->places.row[t] * c->all + k;
            const double next = message(c, U, E, t, k);
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
    tamis_status status = TAMIS_OK;
    if (!options) return tamis_fail(TAMIS_ERROR_ARGUMENT, "options = NULL: expected the operation and the sizes");
    c->o = *options;
    TRY(TAMIS_RESERVED(options, "options"));
    TRY(begin(c, S, options->heads, options->width));
    if (c->o.op != TAMIS_MESSAGE_COPY_E) TRY_GOTO(failed, tamis_oracle_check_matrix(U, "U", S->cols, c->all));
    if (c->o.op != TAMIS_MESSAGE_COPY_U) TRY_GOTO(failed, tamis_oracle_check_matrix(E, "E", S->nnz, edge_columns(c)));
    return TAMIS_OK;
failed:
    tamis_oracle_places_end(&c->places);
    return status;
}

tamis_status tamis_reference_message(const tamis_sparse *S, const tamis_message_options *options, const tamis_dense *U,
                                     const tamis_dense *E, double *out, int64_t *argument) {
    tamis_status status = TAMIS_OK;
    call c;
    int64_t *own = NULL;
    tamis_clear_error();
    TRY(begin_message(&c, S, options, U, E));
    TRY_GOTO(done, tamis_oracle_check_output(out, "out", S->rows * c.all));
    if (!argument) TRY_GOTO(done, tamis_allocate(tamis_times(S->rows, c.all), sizeof *own, "arguments", (void **)&own));
    reduce(&c, U, E, out, argument ? argument : own);
done:
    tamis_release(own);
    tamis_oracle_places_end(&c.places);
    return status;
}

tamis_status tamis_reference_message_backward(const tamis_sparse *S, const tamis_message_options *options,
                                              const tamis_dense *dOut, const tamis_dense *U, const tamis_dense *E,
                                              double *du, double *de) {
    tamis_status status = TAMIS_OK;
    call c;
    int64_t *argument = NULL;
    double *out = NULL;
    tamis_clear_error();
    TRY(begin_message(&c, S, options, U, E));
    TRY_GOTO(done, tamis_oracle_check_matrix(dOut, "dOut", S->rows, c.all));
    TRY_GOTO(done, tamis_allocate(tamis_times(S->rows, c.all), sizeof *argument, "arguments", (void **)&argument));
    TRY_GOTO(done, tamis_allocate(tamis_times(S->rows, c.all), sizeof *out, "results", (void **)&out));
    reduce(&c, U, E, out, argument);
    tamis_oracle_clear(du, S->cols * c.all);
    tamis_oracle_clear(de, S->nnz * edge_columns(&c));
    for (int64_t t = 0; t < S->nnz; t++)
        for (int64_t k = 0; k < c.all; k++) {
            const int64_t i = c.places.row[t], j = c.places.column[t], edge = edge_column(&c, k);
            double g = at(dOut, i, k);
            if (c.o.reduce == TAMIS_REDUCE_MEAN) g /= (double)c.places.count[i];
            if (is_extreme(&c) && argument[i * c.all + k] != t) continue;
            if (c.o.op == TAMIS_MESSAGE_ADD_RELU && at(U, j, k) + at(E, t, edge) <= 0) continue;
            if (du && c.o.op != TAMIS_MESSAGE_COPY_E)
                du[j * c.all + k] += c.o.op == TAMIS_MESSAGE_MUL ? g * at(E, t, edge) : g;
            if (de && c.o.op != TAMIS_MESSAGE_COPY_U)
                de[t * edge_columns(&c) + edge] +=
                    c.o.op == TAMIS_MESSAGE_MUL ? g * at(U, j, k) : (c.o.op == TAMIS_MESSAGE_SUB ? -g : g);
        }
done:
    tamis_release(out);
    tamis_release(argument);
    tamis_oracle_places_end(&c.places);
    return status;
}

/* ------------------------------------------------------------------------------------------ edge vectors */

static tamis_status begin_pair(call *c, const tamis_sparse *S, const tamis_pair_options *options, const tamis_dense *U,
                               const tamis_dense *V) {
    tamis_status status = TAMIS_OK;
    if (!options) return tamis_fail(TAMIS_ERROR_ARGUMENT, "options = NULL: expected the operation and the sizes");
    TRY(TAMIS_RESERVED(options, "options"));
    TRY(begin(c, S, options->heads, options->width));
    TRY_GOTO(failed, tamis_oracle_check_matrix(U, "U", S->rows, c->all));
    TRY_GOTO(failed, tamis_oracle_check_matrix(V, "V", S->cols, c->all));
    return TAMIS_OK;
failed:
    tamis_oracle_places_end(&c->places);
    return status;
}

tamis_status tamis_reference_edge_vectors(const tamis_sparse *S, const tamis_pair_options *options,
                                          const tamis_dense *U, const tamis_dense *V, double *out) {
    tamis_status status = TAMIS_OK;
    call c;
    tamis_clear_error();
    TRY(begin_pair(&c, S, options, U, V));
    const bool dot = options->op == TAMIS_PAIR_DOT;
    TRY_GOTO(done, tamis_oracle_check_output(out, "out", S->nnz * (dot ? c.heads : c.all)));
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
done:
    tamis_oracle_places_end(&c.places);
    return status;
}

tamis_status tamis_reference_edge_vectors_backward(const tamis_sparse *S, const tamis_pair_options *options,
                                                   const tamis_dense *dOut, const tamis_dense *U, const tamis_dense *V,
                                                   double *du, double *dv) {
    tamis_status status = TAMIS_OK;
    call c;
    tamis_clear_error();
    TRY(begin_pair(&c, S, options, U, V));
    const bool dot = options->op == TAMIS_PAIR_DOT, multiplies = dot || options->op == TAMIS_PAIR_MUL;
    TRY_GOTO(done, tamis_oracle_check_matrix(dOut, "dOut", S->nnz, dot ? c.heads : c.all));
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
done:
    tamis_oracle_places_end(&c.places);
    return status;
}
