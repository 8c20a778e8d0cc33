/* The oracle of the network on edges: an edge after another, layer by layer, in double. */
#include <tamis/reference.h>

#include <math.h>

#include "base/reserved.h"
#include "base/scope.h"
#include "base/sizes.h"
#include "base/status.h"
#include "reference/places.h"
#include "reference/request.h"

/* A call, and the layers of the edge that is computed. */
typedef struct call {
    tamis_oracle_places places;
    tamis_edge_network_options o;
    const tamis_edge_network_matrices *m;
    double *a1, *h1, *a2, *h2; /* before and after the activation; h2 is h1 if there is one hidden layer */
    double *normal, *z;        /* y normalised, or y; the update */
    double rate;               /* 1 / sqrt(variance + epsilon), or 1 */
    double *dr, *dz, *dy, *da2, *da1;
} call;

static double at(const tamis_dense *X, int64_t i, int64_t k) { return X ? tamis_oracle_dense_at(X, 0, i, k) : 0; }

static double function(tamis_activation kind, double x) {
    switch (kind) {
    case TAMIS_ACTIVATION_RELU: return x <= 0 ? 0 : x;
    case TAMIS_ACTIVATION_SILU: return x / (1 + exp(-x));
    case TAMIS_ACTIVATION_GELU: return x * erfc(-x * sqrt(0.5)) / 2;
    default: return tanh(x);
    }
}

static double derivative(tamis_activation kind, double x) {
    const double s = 1 / (1 + exp(-x)), t = tanh(x);
    switch (kind) {
    case TAMIS_ACTIVATION_RELU: return x <= 0 ? 0 : 1;
    case TAMIS_ACTIVATION_SILU: return s * (1 + x * (1 - s));
    case TAMIS_ACTIVATION_GELU: return erfc(-x * sqrt(0.5)) / 2 + x * exp(-x * x / 2) / sqrt(2 * acos(-1));
    default: return 1 - t * t;
    }
}

/* ------------------------------------------------------------------------------------------ forward */

/* to = W x + b */
static void layer(const tamis_dense *W, const tamis_dense *b, const double *x, int64_t outputs, int64_t inputs,
                  double *to) {
    for (int64_t k = 0; k < outputs; k++) {
        to[k] = at(b, 0, k);
        for (int64_t l = 0; l < inputs; l++) to[k] += at(W, k, l) * x[l];
    }
}

static void normalise(call *c, double *y) {
    const int64_t n = c->o.width;
    double mean = 0, variance = 0;
    for (int64_t k = 0; k < n; k++) mean += y[k] / (double)n;
    for (int64_t k = 0; k < n; k++) variance += (y[k] - mean) * (y[k] - mean) / (double)n;
    c->rate = c->o.normalise ? 1 / sqrt(variance + c->o.epsilon) : 1;
    for (int64_t k = 0; k < n && c->o.normalise; k++) y[k] = (y[k] - mean) * c->rate;
    for (int64_t k = 0; k < n; k++) c->z[k] = (c->m->gain ? at(c->m->gain, 0, k) : 1) * y[k] + at(c->m->shift, 0, k);
}

/* Computes the layers of entry t. */
static void forward(call *c, int64_t t) {
    const int64_t hidden = c->o.hidden;
    for (int64_t k = 0; k < hidden; k++) {
        c->a1[k] = at(c->m->P, c->places.row[t], k) + at(c->m->Q, c->places.column[t], k) + at(c->m->b1, 0, k);
        for (int64_t l = 0; l < c->o.edge_width; l++) c->a1[k] += at(c->m->W1, k, l) * at(c->m->E, t, l);
        c->h1[k] = function(c->o.activation, c->a1[k]);
    }
    if (c->o.hidden_layers == 2) layer(c->m->W2, c->m->b2, c->h1, hidden, hidden, c->a2);
    for (int64_t k = 0; k < hidden && c->o.hidden_layers == 2; k++) c->h2[k] = function(c->o.activation, c->a2[k]);
    layer(c->m->W3, c->m->b3, c->h2, c->o.width, hidden, c->normal);
    normalise(c, c->normal);
}

static double residual(const call *c, int64_t t, int64_t k) { return c->o.residual ? at(c->m->E, t, k) : 0; }

static bool is_extreme(const call *c) { return c->o.reduce == TAMIS_REDUCE_MAX || c->o.reduce == TAMIS_REDUCE_MIN; }

/* edges, out and argument may be NULL; with out, extremes need an argument. */
static void compute(call *c, double *edges, double *out, int64_t *argument) {
    const tamis_sparse *const S = c->places.S;
    const int64_t width = c->o.width;
    tamis_oracle_clear(out, S->rows * width);
    for (int64_t i = 0; argument && i < S->rows * width; i++) argument[i] = -1;
    for (int64_t t = 0; t < S->nnz; t++) {
        const int64_t row = c->places.row[t];
        forward(c, t);
        for (int64_t k = 0; k < width; k++) {
            const double r = c->z[k] + residual(c, t, k), next = c->o.reduce_update ? c->z[k] : r;
            const int64_t place = row * width + k;
            if (edges) edges[t * width + k] = r;
            if (out && !is_extreme(c)) {
                out[place] += c->o.reduce == TAMIS_REDUCE_MEAN ? next / (double)c->places.count[row] : next;
            } else if (out && (argument[place] < 0 ||
                               tamis_oracle_replaces(c->o.reduce == TAMIS_REDUCE_MAX, next, out[place]))) {
                out[place] = next;
                argument[place] = t;
            }
        }
    }
}

/* ------------------------------------------------------------------------------------------ calls */

static tamis_status check(const call *c) {
    const tamis_sparse *const S = c->places.S;
    const tamis_edge_network_options *const o = &c->o;
    const struct {
        const tamis_dense *view;
        const char *name;
        int64_t rows, cols;
        bool needed;
    } all[] = {{c->m->E, "E", S->nnz, o->edge_width, o->edge_width > 0},
               {c->m->P, "P", S->rows, o->hidden, false},
               {c->m->Q, "Q", S->cols, o->hidden, false},
               {c->m->W1, "W1", o->hidden, o->edge_width, o->edge_width > 0},
               {c->m->b1, "b1", 1, o->hidden, false},
               {c->m->W2, "W2", o->hidden, o->hidden, o->hidden_layers == 2},
               {c->m->b2, "b2", 1, o->hidden, false},
               {c->m->W3, "W3", o->width, o->hidden, true},
               {c->m->b3, "b3", 1, o->width, false},
               {c->m->gain, "gain", 1, o->width, false},
               {c->m->shift, "shift", 1, o->width, false}};
    for (size_t i = 0; i < sizeof all / sizeof *all; i++)
        if (all[i].view || all[i].needed)
            TRY(tamis_oracle_check_matrix(all[i].view, all[i].name, all[i].rows, all[i].cols));
    return TAMIS_OK;
}

/* Reads a call, and allocates its layers in the caller's scope. */
static tamis_status begin(call *c, const tamis_sparse *S, const tamis_edge_network_options *options,
                          const tamis_edge_network_matrices *matrices) {
    tamis_clear_error();
    if (!options || !matrices) return tamis_fail(TAMIS_ERROR_ARGUMENT, "%s = NULL", options ? "matrices" : "options");
    TRY(TAMIS_RESERVED(options, "options"));
    TRY(TAMIS_RESERVED(matrices, "matrices"));
    *c = (call){.o = *options, .m = matrices};
    if (c->o.hidden_layers == 0) c->o.hidden_layers = 1;
    if (c->o.epsilon == 0) c->o.epsilon = 1e-5;
    TRY(tamis_oracle_places_begin(&c->places, S));
    TRY(check(c));
    double **const hidden[] = {&c->a1, &c->h1, &c->a2, &c->h2, &c->da1, &c->da2},
                   **const wide[] = {&c->normal, &c->z, &c->dr, &c->dz, &c->dy};
    for (size_t i = 0; i < sizeof hidden / sizeof *hidden; i++)
        TRY(tamis_allocate_array(c->o.hidden, "hidden layers of an edge", *hidden[i]));
    for (size_t i = 0; i < sizeof wide / sizeof *wide; i++)
        TRY(tamis_allocate_array(c->o.width, "results of an edge", *wide[i]));
    if (c->o.hidden_layers == 1) c->h2 = c->h1;
    return TAMIS_OK;
}

tamis_status tamis_reference_edge_network(const tamis_sparse *S, const tamis_edge_network_options *options,
                                          const tamis_edge_network_matrices *matrices, double *edges, double *out,
                                          int64_t *argument) {
    TAMIS_SCOPE;
    call c;
    int64_t *own = NULL;
    TRY(begin(&c, S, options, matrices));
    if (!argument) TRY(tamis_allocate_array(tamis_times(S->rows, c.o.width), "arguments", own));
    compute(&c, edges, out, argument ? argument : own);
    return TAMIS_OK;
}

/* ------------------------------------------------------------------------------------------ backward */

/* Sets dr and dz, the gradients by the residual's sum and by the update. */
static void seed(call *c, int64_t t, const tamis_dense *dEdges, const tamis_dense *dOut, const int64_t *argument) {
    const int64_t row = c->places.row[t];
    for (int64_t k = 0; k < c->o.width; k++) {
        double g = at(dOut, row, k);
        if (c->o.reduce == TAMIS_REDUCE_MEAN) g /= (double)c->places.count[row];
        if (is_extreme(c) && dOut && argument[row * c->o.width + k] != t) g = 0;
        c->dr[k] = at(dEdges, t, k) + (c->o.reduce_update ? 0 : g);
        c->dz[k] = at(dEdges, t, k) + g;
    }
}

/* Sets dy from dz. */
static void normalise_back(call *c) {
    const int64_t n = c->o.width;
    double mean = 0, product = 0;
    for (int64_t k = 0; k < n; k++) c->dy[k] = c->dz[k] * (c->m->gain ? at(c->m->gain, 0, k) : 1);
    if (!c->o.normalise) return;
    for (int64_t k = 0; k < n; k++) mean += c->dy[k] / (double)n;
    for (int64_t k = 0; k < n; k++) product += c->dy[k] * c->normal[k] / (double)n;
    for (int64_t k = 0; k < n; k++) c->dy[k] = c->rate * (c->dy[k] - mean - c->normal[k] * product);
}

/* Adds to the gradients by W and b, and sets dx to the gradient by the layer's input x; dw, db and dx may be NULL. */
static void layer_back(const tamis_dense *W, const double *dy, const double *x, int64_t outputs, int64_t inputs,
                       double *dw, double *db, double *dx) {
    tamis_oracle_clear(dx, inputs);
    for (int64_t k = 0; k < outputs; k++) {
        if (db) db[k] += dy[k];
        for (int64_t l = 0; l < inputs; l++) {
            if (dw) dw[k * inputs + l] += dy[k] * x[l];
            if (dx) dx[l] += dy[k] * at(W, k, l);
        }
    }
}

/* Adds what entry t contributes to all gradients. */
static void back(call *c, int64_t t, const tamis_edge_network_gradients *to) {
    const int64_t hidden = c->o.hidden, width = c->o.width;
    const bool two = c->o.hidden_layers == 2;
    for (int64_t k = 0; k < width; k++) {
        if (to->gain) to->gain[k] += c->dz[k] * c->normal[k];
        if (to->shift) to->shift[k] += c->dz[k];
    }
    normalise_back(c);
    layer_back(c->m->W3, c->dy, c->h2, width, hidden, to->w3, to->b3, two ? c->da2 : c->da1);
    for (int64_t k = 0; k < hidden && two; k++) c->da2[k] *= derivative(c->o.activation, c->a2[k]);
    if (two) layer_back(c->m->W2, c->da2, c->h1, hidden, hidden, to->w2, to->b2, c->da1);
    for (int64_t k = 0; k < hidden; k++) {
        const double d = c->da1[k] * derivative(c->o.activation, c->a1[k]);
        if (to->b1) to->b1[k] += d;
        if (to->p) to->p[c->places.row[t] * hidden + k] += d;
        if (to->q) to->q[c->places.column[t] * hidden + k] += d;
        for (int64_t l = 0; l < c->o.edge_width; l++) {
            if (to->w1) to->w1[k * c->o.edge_width + l] += d * at(c->m->E, t, l);
            if (to->e) to->e[t * c->o.edge_width + l] += d * at(c->m->W1, k, l);
        }
    }
    for (int64_t k = 0; to->e && c->o.residual && k < width; k++) to->e[t * width + k] += c->dr[k];
}

static void clear(const call *c, const tamis_edge_network_gradients *to) {
    const tamis_sparse *const S = c->places.S;
    const int64_t hidden = c->o.hidden, width = c->o.width;
    tamis_oracle_clear(to->e, S->nnz * c->o.edge_width);
    tamis_oracle_clear(to->p, S->rows * hidden);
    tamis_oracle_clear(to->q, S->cols * hidden);
    tamis_oracle_clear(to->w1, hidden * c->o.edge_width);
    tamis_oracle_clear(to->b1, hidden);
    tamis_oracle_clear(to->w2, hidden * hidden);
    tamis_oracle_clear(to->b2, hidden);
    tamis_oracle_clear(to->w3, width * hidden);
    tamis_oracle_clear(to->b3, width);
    tamis_oracle_clear(to->gain, width);
    tamis_oracle_clear(to->shift, width);
}

tamis_status tamis_reference_edge_network_backward(const tamis_sparse *S, const tamis_edge_network_options *options,
                                                   const tamis_edge_network_matrices *matrices,
                                                   const tamis_dense *dEdges, const tamis_dense *dOut,
                                                   const int64_t *argument,
                                                   const tamis_edge_network_gradients *gradients) {
    TAMIS_SCOPE;
    call c;
    int64_t *own = NULL;
    double *out = NULL;
    TRY(begin(&c, S, options, matrices));
    if (!gradients) return tamis_fail(TAMIS_ERROR_ARGUMENT, "gradients = NULL: expected the wanted ones");
    TRY(TAMIS_RESERVED(gradients, "gradients"));
    if (dEdges) TRY(tamis_oracle_check_matrix(dEdges, "dEdges", S->nnz, c.o.width));
    if (dOut) TRY(tamis_oracle_check_matrix(dOut, "dOut", S->rows, c.o.width));
    if (!argument && dOut && is_extreme(&c)) {
        TRY(tamis_allocate_array(tamis_times(S->rows, c.o.width), "arguments", own));
        TRY(tamis_allocate_array(tamis_times(S->rows, c.o.width), "results", out));
        compute(&c, NULL, out, own);
    }
    clear(&c, gradients);
    for (int64_t t = 0; t < S->nnz; t++) {
        forward(&c, t);
        seed(&c, t, dEdges, dOut, argument ? argument : own);
        back(&c, t, gradients);
    }
    return TAMIS_OK;
}
