#include "topics_reference.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/random.h"
#include "sparse/index.h"
#include "support/call.h"
#include "support/problem.h"

static int64_t offset_of(const tamis_sparse *S, int64_t i) { return tamis_index_load(S->offsets, S->offset_type, i); }
static int64_t column_of(const tamis_sparse *S, int64_t t) { return tamis_index_load(S->columns, S->index_type, t); }
static double value_of(const tamis_sparse *S, int64_t t) { return test_load(S->values, S->value_type, t); }

/* ------------------------------------------------------------------------------------------ counts */

/* Place of a word among those of its topic. */
static double rank_of(int64_t word, int64_t topics) { return (double)(word / topics); }

static void draw_phi(corpus *c, int64_t words) {
    const int64_t used = words - 3;
    for (int64_t k = 0; k < c->topics; k++) {
        double sum = 0;
        for (int64_t w = k; w < used; w += c->topics) sum += 1 / sqrt(1 + rank_of(w, c->topics));
        for (int64_t w = 0; w < used; w++) {
            c->phi[k * words + w] = 0.1 / (double)used;
            if (w % c->topics == k) c->phi[k * words + w] += 0.9 / (sqrt(1 + rank_of(w, c->topics)) * sum);
        }
    }
}

static int64_t draw_word(const double *phi, int64_t words, double u) {
    for (int64_t w = 0; w < words; w++) {
        u -= phi[w];
        if (u < 0) return w;
    }
    return 0;
}

corpus corpus_make(int64_t documents, int64_t words, int64_t topics, int64_t length, bool holes, uint64_t seed) {
    corpus c = {.topics = topics, .phi = test_doubles(topics * words), .tokens = test_doubles(topics)};
    tamis_random dice = tamis_random_start(seed, 99);
    float *const counts = calloc((size_t)words, sizeof *counts);
    c.offsets = calloc((size_t)documents + 1, sizeof *c.offsets);
    c.columns = calloc((size_t)(documents * length + 1), sizeof *c.columns);
    c.values = calloc((size_t)(documents * length + 1), sizeof *c.values);
    draw_phi(&c, words);
    int64_t nnz = 0;
    for (int64_t d = 0; d < documents; d++) {
        const int64_t a = tamis_random_below(&dice, topics), b = tamis_random_below(&dice, topics);
        const double share = tamis_random_uniform(&dice);
        memset(counts, 0, (size_t)words * sizeof *counts);
        for (int64_t i = 0; i < length && !(holes && d % 7 == 3); i++) {
            const int64_t k = tamis_random_uniform(&dice) < share ? a : b;
            c.tokens[k]++;
            counts[draw_word(c.phi + k * words, words, tamis_random_uniform(&dice))]++;
        }
        for (int64_t w = 0; w < words; w++) {
            if (counts[w] <= 0) continue;
            c.columns[nnz] = (int32_t)w;
            c.values[nnz++] = counts[w];
        }
        c.offsets[d + 1] = nnz;
    }
    free(counts);
    c.S = CSR(documents, words, c.offsets, c.columns, c.values);
    return c;
}

void corpus_free(corpus *c) {
    free(c->offsets);
    free(c->columns);
    free(c->values);
    free(c->phi);
    free(c->tokens);
}

double corpus_total(const tamis_sparse *S) {
    double total = 0;
    for (int64_t t = 0; t < S->nnz; t++) total += value_of(S, t);
    return total;
}

/* ------------------------------------------------------------------------------------------ LDA */

bool history_notes(void *context, const tamis_iteration *iteration) {
    history *const h = context;
    if (iteration->batch != iteration->batches || h->count == 64) return true;
    h->loss[h->count] = iteration->loss;
    h->elbo[h->count++] = iteration->elbo;
    return true;
}

double reference_digamma(double x) {
    double result = 0;
    while (x < 12) {
        result -= 1 / x;
        x += 1;
    }
    const double i = 1 / (x * x);
    return result + log(x) - 0.5 / x - i * (1.0 / 12 - i * (1.0 / 120 - i * (1.0 / 252 - i * (1.0 / 240 - i / 132))));
}

/* L with normalised columns. */
static double *weights_of(const double *L, int64_t words, int64_t topics) {
    double *const M = test_doubles(words * topics);
    for (int64_t k = 0; k < topics; k++) {
        double sum = 0;
        for (int64_t w = 0; w < words; w++) sum += L[w * topics + k];
        for (int64_t w = 0; w < words; w++) M[w * topics + k] = L[w * topics + k] / sum;
    }
    return M;
}

/* E_k = sum of S_w / P_w M_wk for one document; u the weights of its topics. */
static void responsibilities(const tamis_sparse *S, int64_t d, const double *M, int64_t topics, const double *u,
                             double *E) {
    for (int64_t k = 0; k < topics; k++) E[k] = 0;
    for (int64_t t = offset_of(S, d); t < offset_of(S, d + 1); t++) {
        const double *const m = M + column_of(S, t) * topics;
        double P = 0;
        for (int64_t k = 0; k < topics; k++) P += u[k] * m[k];
        for (int64_t k = 0; k < topics; k++) E[k] += value_of(S, t) / P * m[k];
    }
}

void reference_lda_infer_for(const tamis_sparse *S, const double *M, int64_t topics, const reference_lda *o, double *G,
                             double *U) {
    OWN(double) *const E = test_doubles(topics);
    for (int64_t d = 0; d < S->rows; d++) {
        double *const u = U + d * topics, *const g = G + d * topics;
        for (int64_t k = 0; k < topics; k++) u[k] = 1;
        for (int i = 0; i < o->rounds; i++) {
            responsibilities(S, d, M, topics, u, E);
            for (int64_t k = 0; k < topics; k++) {
                g[k] = u[k] * E[k] + (o->alphas ? o->alphas[k] : o->alpha);
                u[k] = o->maximum_a_posteriori ? g[k] : exp(reference_digamma(g[k]));
            }
        }
    }
}

void reference_lda_infer(const tamis_sparse *S, const double *L, int64_t topics, const reference_lda *o, double *G) {
    OWN(double) *const M = weights_of(L, S->cols, topics), *const U = test_doubles(S->rows * topics);
    reference_lda_infer_for(S, M, topics, o, G, U);
}

static double log_likelihood(const tamis_sparse *S, const double *G, const double *L, int64_t topics) {
    OWN(double) *const masses = test_doubles(topics);
    double sum = 0;
    for (int64_t i = 0; i < S->cols * topics; i++) masses[i % topics] += L[i];
    for (int64_t d = 0; d < S->rows; d++) {
        double all = 0;
        for (int64_t k = 0; k < topics; k++) all += G[d * topics + k];
        for (int64_t t = offset_of(S, d); t < offset_of(S, d + 1); t++) {
            double P = 0;
            for (int64_t k = 0; k < topics; k++)
                P += G[d * topics + k] / all * L[column_of(S, t) * topics + k] / masses[k];
            sum += value_of(S, t) * log(P);
        }
    }
    return sum;
}

double reference_lda_learn(const tamis_sparse *S, double *L, int64_t topics, const reference_lda *o) {
    OWN(double) *const M = weights_of(L, S->cols, topics), *const U = test_doubles(S->rows * topics),
                       *const G = test_doubles(S->rows * topics), *const N = test_doubles(S->cols * topics);
    reference_lda_infer_for(S, M, topics, o, G, U);
    const double loss = -log_likelihood(S, G, L, topics);
    for (int64_t d = 0; d < S->rows; d++)
        for (int64_t t = offset_of(S, d); t < offset_of(S, d + 1); t++) {
            const int64_t w = column_of(S, t) * topics;
            double P = 0;
            for (int64_t k = 0; k < topics; k++) P += U[d * topics + k] * M[w + k];
            for (int64_t k = 0; k < topics; k++) N[w + k] += value_of(S, t) / P * U[d * topics + k] * M[w + k];
        }
    for (int64_t i = 0; i < S->cols * topics; i++) L[i] = (1 - o->rate) * L[i] + o->rate * (o->scale * N[i] + o->beta);
    return loss;
}

/* ------------------------------------------------------------------------------------------ GaP */

static double product(const double *X, const double *Y, int64_t d, int64_t w, int64_t topics) {
    double P = 0;
    for (int64_t k = 0; k < topics; k++) P += X[d * topics + k] * Y[w * topics + k];
    return P;
}

void reference_gap_rows(const tamis_sparse *F, double *X, const double *Y, int64_t topics, double a, double inverse,
                        int rounds) {
    OWN(double) *const sums = test_doubles(topics), *const E = test_doubles(topics);
    for (int64_t i = 0; i < F->cols * topics; i++) sums[i % topics] += Y[i];
    for (int i = 0; i < rounds; i++)
        for (int64_t d = 0; d < F->rows; d++) {
            for (int64_t k = 0; k < topics; k++) E[k] = 0;
            for (int64_t t = offset_of(F, d); t < offset_of(F, d + 1); t++) {
                const int64_t w = column_of(F, t);
                const double quotient = value_of(F, t) / product(X, Y, d, w, topics);
                for (int64_t k = 0; k < topics; k++) E[k] += quotient * Y[w * topics + k];
            }
            for (int64_t k = 0; k < topics; k++)
                X[d * topics + k] = fmax(X[d * topics + k] * E[k] + a - 1, 0) / (sums[k] + inverse);
        }
}

void reference_gap_columns(const tamis_sparse *F, const double *X, double *Y, int64_t topics) {
    OWN(double) *const sums = test_doubles(topics), *const N = test_doubles(F->cols * topics);
    for (int64_t i = 0; i < F->rows * topics; i++) sums[i % topics] += X[i];
    for (int64_t d = 0; d < F->rows; d++)
        for (int64_t t = offset_of(F, d); t < offset_of(F, d + 1); t++) {
            const int64_t w = column_of(F, t);
            const double quotient = value_of(F, t) / product(X, Y, d, w, topics);
            for (int64_t k = 0; k < topics; k++) N[w * topics + k] += quotient * X[d * topics + k];
        }
    for (int64_t i = 0; i < F->cols * topics; i++) Y[i] *= N[i] / sums[i % topics];
}

double reference_gap_loss(const tamis_sparse *F, const double *X, const double *Y, int64_t topics, double a,
                          double inverse) {
    double sum = 0, total = 0;
    for (int64_t d = 0; d < F->rows; d++) {
        for (int64_t w = 0; w < F->cols; w++) sum += product(X, Y, d, w, topics);
        for (int64_t k = 0; k < topics; k++) {
            const double x = X[d * topics + k];
            sum += inverse * x - (a - 1) * log(fmax(x, 1e-30));
        }
    }
    for (int64_t d = 0; d < F->rows; d++)
        for (int64_t t = offset_of(F, d); t < offset_of(F, d + 1); t++) {
            const double f = value_of(F, t);
            if (f > 0) sum += f * log(f / product(X, Y, d, column_of(F, t), topics)) - f;
            total += f;
        }
    return sum / total;
}

/* ------------------------------------------------------------------------------------------ matching */

double least_match(const double *phi, const double *factors, int64_t words, int64_t topics) {
    OWN(bool) *const taken = calloc((size_t)topics, sizeof *taken);
    double least = 1;
    for (int64_t k = 0; k < topics; k++) {
        double best = -1;
        int64_t which = 0;
        for (int64_t j = 0; j < topics; j++) {
            double dot = 0, a = 0, b = 0;
            for (int64_t w = 0; w < words; w++) {
                dot += phi[k * words + w] * factors[w * topics + j];
                a += phi[k * words + w] * phi[k * words + w];
                b += factors[w * topics + j] * factors[w * topics + j];
            }
            if (!taken[j] && dot / sqrt(a * b) > best) {
                best = dot / sqrt(a * b);
                which = j;
            }
        }
        taken[which] = true;
        least = fmin(least, best);
    }
    return least;
}
