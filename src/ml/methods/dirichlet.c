/*
 * See dirichlet.h. From 10 on, functions of gamma are computed by their asymptotic series, whose first omitted term is
 * below 1e-13 there; below 10, by recurrences.
 */
#include "ml/methods/dirichlet.h"

#include <math.h>

static const double FROM = 10;

double ml_log_gamma(double x) {
    if (!(x > 0)) return NAN; /* bounds the loops below to ten steps */
    double product = 1;       /* at most 10! */
    while (x < FROM) {
        product *= x;
        x += 1;
    }
    const double i = 1 / (x * x);
    const double series =
        (1.0 / 12 - i * (1.0 / 360 - i * (1.0 / 1260 - i * (1.0 / 1680 - i * (1.0 / 1188 - i * 691 / 360360))))) / x;
    return (x - 0.5) * log(x) - x + 0.91893853320467274178 + series - log(product); /* ln(2 pi) / 2 */
}

double ml_digamma(double x) {
    if (!(x > 0)) return NAN;
    double sum = 0;
    while (x < FROM) {
        sum -= 1 / x;
        x += 1;
    }
    const double i = 1 / (x * x);
    const double series =
        i * (1.0 / 12 - i * (1.0 / 120 - i * (1.0 / 252 - i * (1.0 / 240 - i * (1.0 / 132 - i * 691 / 32760)))));
    return sum + log(x) - 0.5 / x - series;
}

double ml_trigamma(double x) {
    if (!(x > 0)) return NAN;
    double sum = 0;
    while (x < FROM) {
        sum += 1 / (x * x);
        x += 1;
    }
    const double i = 1 / (x * x);
    const double series =
        i * (1.0 / 6 - i * (1.0 / 30 - i * (1.0 / 42 - i * (1.0 / 30 - i * (5.0 / 66 - i * 691 / 2730)))));
    return sum + (1 + 0.5 / x + series) / x;
}

double ml_dirichlet_gain(const double *prior, const double *posterior, int64_t n, double *logs) {
    double of_prior = 0, of_posterior = 0, gain = 0;
    for (int64_t k = 0; k < n; k++) {
        of_prior += prior[k];
        of_posterior += posterior[k];
    }
    const double all = ml_digamma(of_posterior);
    for (int64_t k = 0; k < n; k++) {
        const double mean = ml_digamma(posterior[k]) - all;
        gain += (prior[k] - posterior[k]) * mean + ml_log_gamma(posterior[k]) - ml_log_gamma(prior[k]);
        if (logs) logs[k] = mean;
    }
    return gain + ml_log_gamma(of_prior) - ml_log_gamma(of_posterior);
}

/* Returns ln Dirichlet(theta; prior + t step) of a document, with mean_logs for ln theta. */
static double likelihood(const double *prior, const double *step, double t, const double *mean_logs, int64_t n) {
    double sum = 0, result = 0;
    for (int64_t k = 0; k < n; k++) {
        const double moved = fmax(prior[k] + t * step[k], ML_PRIOR_LEAST);
        sum += moved;
        result += (moved - 1) * mean_logs[k] - ml_log_gamma(moved);
    }
    return result + ml_log_gamma(sum);
}

/* Computes Newton's step from `prior`. */
static void newton(const double *prior, const double *mean_logs, int64_t n, double *step) {
    double sum = 0, above = 0, below = 0;
    for (int64_t k = 0; k < n; k++) sum += prior[k];
    const double all = ml_digamma(sum);
    for (int64_t k = 0; k < n; k++) {
        const double gradient = all - ml_digamma(prior[k]) + mean_logs[k], curvature = -ml_trigamma(prior[k]);
        above += gradient / curvature;
        below += 1 / curvature;
    }
    const double shift = above / (1 / ml_trigamma(sum) + below);
    for (int64_t k = 0; k < n; k++)
        step[k] = (all - ml_digamma(prior[k]) + mean_logs[k] - shift) / ml_trigamma(prior[k]);
}

void ml_dirichlet_step(double *prior, const double *mean_logs, int64_t n, double rate) {
    double step[1024]; /* topics are no more */
    newton(prior, mean_logs, n, step);
    const double before = likelihood(prior, step, 0, mean_logs, n);
    for (int halves = 0; halves < 30; halves++, rate /= 2) {
        if (!(likelihood(prior, step, rate, mean_logs, n) >= before)) continue;
        for (int64_t k = 0; k < n; k++) prior[k] = fmax(prior[k] + rate * step[k], ML_PRIOR_LEAST);
        return;
    }
}
