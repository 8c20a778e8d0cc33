/*
 * How far the network on edges may be off. Each number is carried with its error through the layers of each edge,
 * forward and backward: to first order by products, and by the slopes of activations, which are at most 1.13, and 1 for
 * their own slopes. The backward pass of a kink within the error of its argument is off by the whole gradient.
 */
#include "edge_network.h"

#include "sparse/index.h"
#include "support/bounds.h"

typedef struct layers {
    operation_case *c;
    const tamis_edge_network_options *o;
    units e;
    double stored; /* the rounding of layers where the device may store them in the type */
    double *of[INPUTS], *d_edges, *d_out;
    about *a1, *h1, *a2, *h2, *normal, *z, *r, *dr, *dz, *dy, *da2, *da1, rate;
    double *off[OPERANDS], *size[OPERANDS]; /* of results: the errors of their terms, and the terms' sizes */
    int64_t *from;                          /* arguments */
} layers;

static about sum_of(const layers *l, about x, about y) {
    return (about){x.is + y.is, x.off + y.off + 2 * l->e.u * fabs(x.is + y.is)};
}
static about exactly(double x) { return (about){x, 0}; }
static double input(const layers *l, int k, int64_t i, double absent) { return l->of[k] ? l->of[k][i] : absent; }

static about store(const layers *l, about x) {
    x.off += l->stored * (fabs(x.is) + x.off);
    return x;
}

/* b + W x, with W's elements `down` apart along x. */
static about product(const layers *l, const double *w, int64_t down, const about *x, int64_t n, double b) {
    about y = {b, 0};
    double size = fabs(b);
    for (int64_t k = 0; k < n; k++) {
        y.is += w[k * down] * x[k].is;
        y.off += fabs(w[k * down]) * x[k].off;
        size += fabs(w[k * down] * x[k].is);
    }
    y.off += ((double)n + 12) * l->e.u * size;
    return y;
}

/* Error functions cancel on one side: all activations are off by so many roundings of their argument. */
enum { ACTIVATION_ROUNDINGS = 32 };

static double value(tamis_activation kind, double x) {
    return kind == TAMIS_ACTIVATION_RELU   ? fmax(x, 0)
           : kind == TAMIS_ACTIVATION_SILU ? x / (1 + exp(-x))
           : kind == TAMIS_ACTIVATION_GELU ? x * erfc(-x * sqrt(0.5)) / 2
                                           : tanh(x);
}

static about activated(const layers *l, about x) {
    const double roundings = l->o->activation == TAMIS_ACTIVATION_RELU ? 0 : ACTIVATION_ROUNDINGS * l->e.u;
    return store(l, (about){value(l->o->activation, x.is), 1.13 * x.off + roundings * fabs(x.is) + l->e.l});
}

/* By differences of the values that are near, which is enough for a slope's error; exact where it is a constant. */
static about slope(const layers *l, about x) {
    const double s = 1 / (1 + exp(-x.is)), t = tanh(x.is);
    const double rounded = ACTIVATION_ROUNDINGS * l->e.u * (1 + fabs(x.is));
    switch (l->o->activation) {
    case TAMIS_ACTIVATION_RELU: return (about){x.is > 0, fabs(x.is) <= x.off && x.off > 0 ? 1 : 0};
    case TAMIS_ACTIVATION_SILU: return (about){s * (1 + x.is * (1 - s)), x.off + rounded};
    case TAMIS_ACTIVATION_GELU:
        return (about){erfc(-x.is * sqrt(0.5)) / 2 + x.is * exp(-x.is * x.is / 2) / sqrt(2 * acos(-1)),
                       x.off + rounded};
    default: return (about){1 - t * t, x.off + rounded};
    }
}

/* ------------------------------------------------------------------------------------------ forward */

static about mean_of(const layers *l, const about *x, int64_t n) {
    about mean = {0, 0};
    double size = 0;
    for (int64_t k = 0; k < n; k++) {
        mean.is += x[k].is / (double)n;
        mean.off += x[k].off / (double)n;
        size += fabs(x[k].is) / (double)n;
    }
    mean.off += ((double)n + 8) * l->e.u * size;
    return mean;
}

static about root(const layers *l, about variance) {
    const double epsilon = l->o->epsilon ? l->o->epsilon : 1e-5, low = fmax(variance.is - variance.off, 0);
    const double is = 1 / sqrt(variance.is + epsilon);
    return (about){is, 1 / sqrt(low + epsilon) - is + 8 * l->e.u * is};
}

static void normalise(layers *l) {
    const int64_t n = l->o->width;
    const about mean = mean_of(l, l->normal, n);
    about *const squares = test_abouts(n);
    for (int64_t k = 0; k < n; k++) {
        l->normal[k] = sum_of(l, l->normal[k], (about){-mean.is, mean.off});
        squares[k] = about_product(l->e, l->normal[k], l->normal[k]);
    }
    l->rate = root(l, mean_of(l, squares, n));
    for (int64_t k = 0; k < n; k++) l->normal[k] = about_product(l->e, l->normal[k], l->rate);
    free(squares);
}

static void forward(layers *l, int64_t t) {
    const tamis_edge_network_options *const o = l->o;
    const pattern *const p = &l->c->pattern;
    about *const e = test_abouts(o->edge_width);
    for (int64_t k = 0; k < o->edge_width; k++) e[k] = exactly(l->of[E][t * o->edge_width + k]);
    for (int64_t k = 0; k < o->hidden; k++) {
        const double x = input(l, P, p->row_of[t] * o->hidden + k, 0), y = input(l, B1, k, 0);
        const double z = input(l, Q, p->column_of[t] * o->hidden + k, 0);
        about a = product(l, l->of[W1] + k * o->edge_width, 1, e, o->edge_width, x + y + z);
        a.off += 8 * l->e.u * (fabs(x) + fabs(y) + fabs(z));
        l->a1[k] = a;
        l->h1[k] = activated(l, a);
    }
    free(e);
    for (int64_t k = 0; k < o->hidden && o->hidden_layers == 2; k++) {
        l->a2[k] = product(l, l->of[W2] + k * o->hidden, 1, l->h1, o->hidden, input(l, B2, k, 0));
        l->h2[k] = activated(l, l->a2[k]);
    }
    for (int64_t k = 0; k < o->width; k++)
        l->normal[k] = product(l, l->of[W3] + k * o->hidden, 1, l->h2, o->hidden, input(l, B3, k, 0));
    if (o->normalise) normalise(l);
    for (int64_t k = 0; k < o->width; k++) {
        const about scaled = about_product(l->e, l->normal[k], exactly(input(l, GAIN, k, 1)));
        l->z[k] = o->normalise ? sum_of(l, scaled, exactly(input(l, SHIFT, k, 0))) : l->normal[k];
        l->r[k] = o->residual ? sum_of(l, l->z[k], exactly(l->of[E][t * o->width + k])) : l->z[k];
    }
}

static bool is_extreme(const layers *l) { return l->o->reduce >= TAMIS_REDUCE_MAX; }

/* Adds a term to number i of a result. */
static void add(layers *l, int k, int64_t i, about term) {
    if (!l->off[k]) return;
    l->off[k][i] += term.off;
    l->size[k][i] += fabs(term.is);
}

static void reduce(layers *l, int64_t t) {
    const int64_t row = l->c->pattern.row_of[t], n = l->o->width;
    for (int64_t k = 0; k < n; k++) {
        about next = l->o->reduce_update ? l->z[k] : l->r[k];
        const int64_t i = row * n + k;
        add(l, EDGES, t * n + k, l->r[k]);
        if (!l->off[OUT]) continue;
        next.off += l->stored * fabs(next.is);
        if (!is_extreme(l)) {
            add(l, OUT, i, next);
            continue;
        }
        l->off[OUT][i] = fmax(l->off[OUT][i], next.off);
        const operand *const x = &l->c->of[ARGUMENT];
        const bool found = x->want && tamis_index_load(x->m.here.data, x->index_type, i) == t;
        /* it may be off, and so may the entry that the oracle takes */
        if (found && fabs(next.is - l->c->of[OUT].want[i]) <= 4 * next.off) l->from[i] = t;
    }
}

/* ------------------------------------------------------------------------------------------ backward */

static void seed(layers *l, int64_t t, const int64_t *count) {
    const int64_t row = l->c->pattern.row_of[t], n = l->o->width;
    for (int64_t k = 0; k < n; k++) {
        about g = exactly(l->d_out ? l->d_out[row * n + k] : 0);
        if (l->o->reduce == TAMIS_REDUCE_MEAN) g.is /= (double)count[row], g.off = 4 * l->e.u * fabs(g.is);
        if (is_extreme(l) && l->d_out && l->from[row * n + k] != t) g.is = 0;
        const about edge = exactly(l->d_edges ? l->d_edges[t * n + k] : 0);
        l->dz[k] = sum_of(l, edge, g);
        l->dr[k] = l->o->reduce_update ? edge : l->dz[k];
    }
}

static void normalise_back(layers *l) {
    const int64_t n = l->o->width;
    about *const products = test_abouts(n);
    for (int64_t k = 0; k < n; k++) {
        add(l, D_E + GAIN, k, about_product(l->e, l->dz[k], l->normal[k]));
        add(l, D_E + SHIFT, k, l->dz[k]);
        l->dy[k] = l->o->normalise ? about_product(l->e, l->dz[k], exactly(input(l, GAIN, k, 1))) : l->dz[k];
        products[k] = about_product(l->e, l->dy[k], l->normal[k]);
    }
    const about mean = mean_of(l, l->dy, n), share = mean_of(l, products, n);
    for (int64_t k = 0; k < n && l->o->normalise; k++) {
        const about part = about_product(l->e, share, l->normal[k]);
        const about centred = sum_of(l, l->dy[k], (about){-mean.is, mean.off + 2 * l->e.u * fabs(mean.is)});
        l->dy[k] = about_product(l->e, l->rate, sum_of(l, centred, (about){-part.is, part.off}));
    }
    for (int64_t k = 0; k < n; k++) l->dy[k] = store(l, l->dy[k]);
    free(products);
}

/* The gradients by a layer's bias and weights, and by its input's argument a: dx = f'(a) W^T dy. */
static void layer_back(layers *l, int weights, int bias, const about *dy, int64_t outputs, const about *h,
                       const about *a, about *da) {
    const int64_t inner = l->o->hidden;
    for (int64_t k = 0; k < outputs; k++) {
        add(l, D_E + bias, k, dy[k]);
        for (int64_t j = 0; j < inner; j++) add(l, D_E + weights, k * inner + j, about_product(l->e, dy[k], h[j]));
    }
    for (int64_t j = 0; j < inner; j++)
        da[j] = store(l, about_product(l->e, product(l, l->of[weights] + j, inner, dy, outputs, 0), slope(l, a[j])));
}

static void back(layers *l, int64_t t) {
    const tamis_edge_network_options *const o = l->o;
    const pattern *const p = &l->c->pattern;
    const bool two = o->hidden_layers == 2;
    normalise_back(l);
    layer_back(l, W3, B3, l->dy, o->width, l->h2, two ? l->a2 : l->a1, two ? l->da2 : l->da1);
    if (two) layer_back(l, W2, B2, l->da2, o->hidden, l->h1, l->a1, l->da1);
    for (int64_t k = 0; k < o->hidden; k++) {
        about kept = l->da1[k]; /* as the sums over nodes read it */
        kept.off += l->e.v * fabs(kept.is) + l->e.m;
        add(l, D_E + B1, k, l->da1[k]);
        add(l, D_E + P, p->row_of[t] * o->hidden + k, kept);
        add(l, D_E + Q, p->column_of[t] * o->hidden + k, kept);
        for (int64_t j = 0; j < o->edge_width; j++)
            add(l, D_E + W1, k * o->edge_width + j,
                about_product(l->e, l->da1[k], exactly(l->of[E][t * o->edge_width + j])));
    }
    for (int64_t j = 0; j < o->edge_width; j++) {
        const about by_layer = product(l, l->of[W1] + j, o->edge_width, l->da1, o->hidden, 0);
        add(l, D_E + E, t * o->edge_width + j, o->residual ? sum_of(l, by_layer, l->dr[j]) : by_layer);
    }
}

/* ------------------------------------------------------------------------------------------ all edges */

static void begin(layers *l, operation_case *c) {
    const tamis_edge_network_options *const o = &((own *)c->own)->o;
    const bool half = c->type == TAMIS_F16 || c->type == TAMIS_BF16;
    *l = (layers){.c = c, .o = o, .e = units_of(c->type)};
    if (half && strcmp(c->on, "cpu") != 0) l->stored = l->e.v;
    for (int k = 0; k < INPUTS; k++)
        if (c->of[k].name) l->of[k] = matrix_values(&c->of[k].m);
    if (c->of[D_EDGES].name) l->d_edges = matrix_values(&c->of[D_EDGES].m);
    if (c->of[D_OUT].name) l->d_out = matrix_values(&c->of[D_OUT].m);
    about **const hidden[] = {&l->a1, &l->h1, &l->a2, &l->h2, &l->da2, &l->da1},
                  **const wide[] = {&l->normal, &l->z, &l->r, &l->dr, &l->dz, &l->dy};
    for (int k = 0; k < 6; k++) {
        *hidden[k] = test_abouts(o->hidden);
        *wide[k] = test_abouts(o->width);
    }
    if (o->hidden_layers != 2) {
        free(l->h2);
        l->h2 = l->h1;
    }
    for (int k = EDGES; k < OPERANDS; k++)
        if (c->of[k].name && c->of[k].want && !c->of[k].indices) {
            l->off[k] = test_doubles(operand_count(c, k));
            l->size[k] = test_doubles(operand_count(c, k));
        }
    l->from = test_room(c->S.rows * o->width, sizeof *l->from);
    for (int64_t i = 0; i < c->S.rows * o->width && is_extreme(l) && c->of[ARGUMENT].want; i++)
        l->from[i] = (int64_t)c->of[ARGUMENT].want[i];
}

static void end(layers *l) {
    about *const hidden[] = {l->a1, l->h1, l->a2, l->da2, l->da1, l->normal, l->z, l->r, l->dr, l->dz, l->dy};
    if (l->h2 != l->h1) free(l->h2);
    for (size_t k = 0; k < sizeof hidden / sizeof *hidden; k++) free(hidden[k]);
    for (int k = 0; k < INPUTS; k++) free(l->of[k]);
    for (int k = 0; k < OPERANDS; k++) {
        free(l->off[k]);
        free(l->size[k]);
    }
    free(l->d_edges);
    free(l->d_out);
    free(l->from);
}

/* Sets the bounds: errors of terms, and roundings of sums. */
static void set(layers *l) {
    operation_case *const c = l->c;
    const double longest = (double)operation_longest(c);
    for (int k = EDGES; k < OPERANDS; k++) {
        if (!l->off[k]) continue;
        const double terms = k == EDGES || k == D_E + E ? 0 : k >= D_E + W1 ? (double)c->S.nnz : longest;
        const double roundings = k == OUT && is_extreme(l) ? 0 : (terms + 16) * l->e.u;
        const double mean = k == OUT && l->o->reduce == TAMIS_REDUCE_MEAN;
        for (int64_t i = 0; i < operand_count(c, k); i++) l->off[k][i] += roundings * l->size[k][i];
        if (mean) {
            int64_t *const count = test_room(c->S.rows, sizeof *count);
            for (int64_t t = 0; t < c->S.nnz; t++) count[c->pattern.row_of[t]]++;
            for (int64_t i = 0; i < operand_count(c, k); i++)
                if (count[i / l->o->width]) l->off[k][i] /= (double)count[i / l->o->width];
            free(count);
        }
        operand_within(c, k, 1, l->off[k]);
    }
}

void network_bounds(operation_case *c) {
    layers l;
    begin(&l, c);
    int64_t *const count = test_room(c->S.rows, sizeof *count);
    for (int64_t t = 0; t < c->S.nnz; t++) {
        count[c->pattern.row_of[t]]++;
        forward(&l, t);
        reduce(&l, t);
    }
    for (int64_t i = 0; c->of[ARGUMENT].name && c->of[ARGUMENT].want && i < operand_count(c, ARGUMENT); i++)
        c->of[ARGUMENT].want[i] = (double)l.from[i];
    network_gradients(c);
    for (int64_t t = 0; t < c->S.nnz && !c->forward_only; t++) {
        forward(&l, t);
        seed(&l, t, count);
        back(&l, t);
    }
    set(&l);
    free(count);
    end(&l);
}
