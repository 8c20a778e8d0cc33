/*
 * The fit of rates: nonlinear least squares (Levenberg: A method for the solution of certain non-linear problems in
 * least squares; Marquardt: An algorithm for least-squares estimation of nonlinear parameters) over the logarithms of
 * the rates and of the predicted times, with derivatives by differences.
 *
 * A residual is log(predicted / measured). It weighs more the nearer an algorithm is to the fastest of its case, since
 * a choice depends on those; far residuals count less than their squares, so that a disturbed timing does not turn the
 * fit. Rates that no timing depends on stay as they were.
 */
#include "select/fit.h"

#include <math.h>
#include <string.h>

#include "base/memory.h"
#include "base/status.h"

enum { STEPS = 40 };
static const double step = 1e-4, /* of a difference, in logarithms */
    far = 0.3,                   /* residual beyond which its weight falls */
    common = 0.3,                /* share that counts of what the residuals of a case have in common */
    of_setup = 0.1,              /* weight of a set-up */
    hold = 0.3,                  /* strength with which a rate keeps its value, in residuals */
    least_gain = 1e-5;           /* share of the sum of squares below which a step is the last */

typedef struct fit {
    tamis_timing_list *list;
    const tamis_rate_table *table;
    double begin[TAMIS_RATES_MOST], at[TAMIS_RATES_MOST]; /* logarithms of the rates */
    int free[TAMIS_RATES_MOST], free_count;               /* the rates that are fitted */
    bool fixed[TAMIS_RATES_MOST];
    uint64_t readers[TAMIS_RATES_MOST]; /* the algorithms that depend on a rate, as bits; 0: not known */
    int64_t count;                      /* residuals */
    double *raw, *residuals, *weights;  /* of `count`: at the rates */
    double *raw_moved, *moved;          /* at other rates */
    double *slopes;                     /* of free_count times `count` */
    double *squares;                    /* of free_count times free_count */
} fit;

static void take(const tamis_rate_table *table, tamis_timed_case *one, const double *rates) {
    memcpy(one->evidence.rates, rates, (size_t)table->count * sizeof *rates);
}

static tamis_prediction predicted(const tamis_timing_list *list, const tamis_timed_case *one,
                                  const tamis_algorithm *algorithm) {
    tamis_prediction prediction = {.reason = ""};
    list->backend->predict(algorithm, &one->problem, &prediction);
    return prediction;
}

static double fastest(const tamis_timed_case *one) {
    double best = INFINITY;
    for (int k = 0; k < one->count; k++) best = fmin(best, one->at[k].seconds);
    return best;
}

/* The least set-up of a case: a plan's own part of it. */
static double common_setup(const tamis_timed_case *one) {
    double least = INFINITY;
    for (int k = 0; k < one->count; k++) least = fmin(least, one->at[k].setup_seconds);
    return least;
}

/* An algorithm's part in a choice: 1 for the fastest. */
static double part_of(const tamis_timed_case *one, int k) { return fastest(one) / one->at[k].seconds; }

/* The place of an algorithm in its backend's table. */
static int number_of(const tamis_backend *backend, const tamis_algorithm *algorithm) {
    int number = 0;
    while (number < 63 && backend->algorithm(number) != algorithm) number++;
    return number;
}

/* Two raw residuals of each timing that counts: log(predicted / measured) of its call and of its set-up; 0 without a
   prediction. Only for the algorithms in `which`. */
static void predict_all(const fit *f, const double *logs, uint64_t which, double *raw) {
    double rates[TAMIS_RATES_MOST];
    for (int k = 0; k < f->table->count; k++) rates[k] = isfinite(logs[k]) ? exp(logs[k]) : 0;
    for (int64_t c = 0; c < f->list->count; c++) {
        tamis_timed_case *const one = f->list->cases[c];
        if (one->held_back) continue;
        const double setup = common_setup(one);
        take(f->table, one, rates);
        for (int k = 0; k < one->count; k++, raw += 2) {
            if (!(which >> one->at[k].number & 1)) continue;
            const tamis_prediction p = predicted(f->list, one, one->at[k].algorithm);
            const bool usable = p.call_seconds > 0 && isfinite(p.call_seconds);
            raw[0] = usable ? log(p.call_seconds / one->at[k].seconds) : 0;
            raw[1] = setup > 0 && p.setup_seconds > 0 ? log((setup + p.setup_seconds) / one->at[k].setup_seconds) : 0;
        }
    }
}

/* The residuals of calls, less most of what a case's residuals have in common: no choice depends on that. */
static void centre(const fit *f, const double *raw, double *to) {
    for (int64_t c = 0; c < f->list->count; c++) {
        const tamis_timed_case *const one = f->list->cases[c];
        if (one->held_back) continue;
        double sum = 0, parts = 0;
        for (int k = 0; k < one->count; k++) sum += raw[2 * k] * part_of(one, k), parts += part_of(one, k);
        for (int k = 0; k < one->count; k++) {
            to[2 * k] = raw[2 * k] - (1 - common) * sum / parts;
            to[2 * k + 1] = raw[2 * k + 1];
        }
        raw += 2 * one->count;
        to += 2 * one->count;
    }
}

static void weights_of(const fit *f) {
    int64_t i = 0;
    for (int64_t c = 0; c < f->list->count; c++) {
        const tamis_timed_case *const one = f->list->cases[c];
        if (one->held_back) continue;
        for (int k = 0; k < one->count; k++, i += 2) {
            f->weights[i] = part_of(one, k) / (1 + fabs(f->residuals[i]) / far);
            f->weights[i + 1] = of_setup / (1 + fabs(f->residuals[i + 1]) / far);
        }
    }
}

/* The weighted squares of the residuals, and the squares of the rates' ways from where they began. */
static double all_squares(const fit *f, const double *logs, const double *residuals) {
    double sum = 0;
    for (int64_t i = 0; i < f->count; i++) sum += f->weights[i] * residuals[i] * residuals[i];
    for (int k = 0; k < f->free_count; k++) {
        const double way = logs[f->free[k]] - f->begin[f->free[k]];
        sum += hold * hold * way * way;
    }
    return sum;
}

/* Notes the algorithms whose predictions a step of a rate has changed. */
static uint64_t readers_of(const fit *f) {
    uint64_t readers = 0;
    int64_t i = 0;
    for (int64_t c = 0; c < f->list->count; c++) {
        const tamis_timed_case *const one = f->list->cases[c];
        for (int k = 0; !one->held_back && k < one->count; k++, i += 2)
            if (f->raw[i] != f->raw_moved[i] || f->raw[i + 1] != f->raw_moved[i + 1])
                readers |= (uint64_t)1 << one->at[k].number;
    }
    return readers;
}

/* Finds the rates that the timings depend on, and the slopes by them. */
static void differentiate(fit *f, bool first) {
    double logs[TAMIS_RATES_MOST];
    f->free_count = 0;
    for (int r = 0; r < f->table->count; r++) {
        double *const to = f->slopes + f->free_count * f->count;
        if (!isfinite(f->at[r]) || f->fixed[r] || (!first && f->readers[r] == 0)) continue; /* 0, or of no timing */
        memcpy(logs, f->at, sizeof logs);
        logs[r] += step;
        memcpy(f->raw_moved, f->raw, (size_t)f->count * sizeof *f->raw);
        predict_all(f, logs, first ? UINT64_MAX : f->readers[r], f->raw_moved);
        if (first) f->readers[r] = readers_of(f);
        if (f->readers[r] == 0) continue;
        centre(f, f->raw_moved, f->moved);
        for (int64_t i = 0; i < f->count; i++) to[i] = (f->moved[i] - f->residuals[i]) / step;
        f->free[f->free_count++] = r;
    }
}

/* Solves A x = b for a symmetric A, by its Cholesky factor, which replaces A. False if A is not positive. */
static bool solve(int n, double *A, double *b) {
    for (int j = 0; j < n; j++) {
        for (int i = j; i < n; i++) {
            double sum = A[i * n + j];
            for (int k = 0; k < j; k++) sum -= A[i * n + k] * A[j * n + k];
            if (i == j && !(sum > 0)) return false;
            A[i * n + j] = i == j ? sqrt(sum) : sum / A[j * n + j];
        }
        for (int k = 0; k < j; k++) b[j] -= A[j * n + k] * b[k];
        b[j] /= A[j * n + j];
    }
    for (int j = n - 1; j >= 0; j--) {
        for (int k = j + 1; k < n; k++) b[j] -= A[k * n + j] * b[k];
        b[j] /= A[j * n + j];
    }
    return true;
}

/* The step of the logarithms with damping `damping`; false if there is none. */
static bool find_step(const fit *f, double damping, double *way) {
    const int n = f->free_count;
    double *const A = f->squares;
    for (int a = 0; a < n; a++) {
        const double *const slope = f->slopes + a * f->count;
        way[a] = -hold * hold * (f->at[f->free[a]] - f->begin[f->free[a]]);
        for (int64_t i = 0; i < f->count; i++) way[a] -= f->weights[i] * slope[i] * f->residuals[i];
        for (int b = 0; b <= a; b++) {
            const double *const other = f->slopes + b * f->count;
            double sum = 0;
            for (int64_t i = 0; i < f->count; i++) sum += f->weights[i] * slope[i] * other[i];
            A[a * n + b] = sum;
        }
        A[a * n + a] = (A[a * n + a] + hold * hold) * (1 + damping);
    }
    return solve(n, A, way);
}

static void descend(fit *f) {
    double damping = 1e-2;
    predict_all(f, f->at, UINT64_MAX, f->raw);
    centre(f, f->raw, f->residuals);
    for (int i = 0; i < STEPS; i++) {
        double way[TAMIS_RATES_MOST], next[TAMIS_RATES_MOST], before, after = INFINITY;
        weights_of(f);
        differentiate(f, i == 0);
        before = all_squares(f, f->at, f->residuals);
        while (!(after < before) && damping < 1e6) {
            if (find_step(f, damping, way)) {
                memcpy(next, f->at, sizeof next);
                for (int k = 0; k < f->free_count; k++) next[f->free[k]] += fmax(fmin(way[k], 1), -1);
                predict_all(f, next, UINT64_MAX, f->raw_moved);
                centre(f, f->raw_moved, f->moved);
                after = all_squares(f, next, f->moved);
            }
            damping *= 4;
        }
        if (!(after < before)) return;
        memcpy(f->at, next, sizeof next);
        memcpy(f->raw, f->raw_moved, (size_t)f->count * sizeof *f->raw);
        memcpy(f->residuals, f->moved, (size_t)f->count * sizeof *f->moved);
        damping /= 32;
        if (before - after < least_gain * before) return;
    }
}

tamis_status tamis_rates_fit(tamis_timing_list *list, double *rates, int *fitted) {
    fit f = {.list = list, .table = list->backend->rates};
    const int count = f.table->count;
    tamis_status status = TAMIS_OK;
    for (int64_t c = 0; c < list->count; c++) f.count += list->cases[c]->held_back ? 0 : 2 * list->cases[c]->count;
    *fitted = 0;
    if (f.count == 0) return tamis_fail(TAMIS_ERROR_ARGUMENT, "there are no timings to fit the rates to");
    for (int r = 0; r < count; r++) {
        f.begin[r] = f.at[r] = rates[r] > 0 ? log(rates[r]) : -INFINITY;
        f.fixed[f.table->rows[r].place] = f.table->rows[r].kind != TAMIS_RATE_FITTED;
    }
    for (int64_t c = 0; c < list->count; c++)
        for (int k = 0; k < list->cases[c]->count; k++)
            list->cases[c]->at[k].number = number_of(list->backend, list->cases[c]->at[k].algorithm);
    double **const arrays[] = {&f.raw, &f.residuals, &f.weights, &f.raw_moved, &f.moved};
    for (size_t i = 0; i < sizeof arrays / sizeof arrays[0]; i++)
        TRY_GOTO(done, tamis_allocate(f.count, sizeof(double), "residuals", (void **)arrays[i]));
    TRY_GOTO(done, tamis_allocate(f.count * count, sizeof(double), "slopes of residuals", (void **)&f.slopes));
    TRY_GOTO(done, tamis_allocate((int64_t)count * count, sizeof(double), "products of slopes", (void **)&f.squares));
    descend(&f);
    for (int r = 0; r < count; r++)
        if (isfinite(f.at[r])) rates[r] = exp(f.at[r]);
    *fitted = f.free_count;
done:
    for (size_t i = 0; i < sizeof arrays / sizeof arrays[0]; i++) tamis_release(*arrays[i]);
    tamis_release(f.slopes);
    tamis_release(f.squares);
    return status;
}

/* ------------------------------------------------------------------------------------------ judging */

/* Adds the cases that are held back, or the others. */
static void judge(tamis_timing_list *list, const double *rates, bool held_back, tamis_regret *regret) {
    for (int64_t c = 0; c < list->count; c++) {
        tamis_timed_case *const one = list->cases[c];
        if (one->held_back != held_back || one->count < 2) continue;
        double least = INFINITY, second = INFINITY, chosen = INFINITY;
        take(list->backend->rates, one, rates);
        for (int k = 0; k < one->count; k++) {
            const double seconds = predicted(list, one, one->at[k].algorithm).call_seconds;
            const double error = log(seconds / one->at[k].seconds);
            if (seconds < least)
                second = least, least = seconds, chosen = one->at[k].seconds;
            else if (seconds < second)
                second = seconds;
            if (!isfinite(error)) continue;
            regret->squares += error * error;
            regret->timings++;
        }
        const double ratio = chosen / fastest(one);
        regret->logs += log(ratio);
        const bool near = ratio <= 1.1;
        const int lead = tamis_lead_of(second / least);
        regret->near += near;
        regret->led[lead]++;
        regret->led_near[lead] += near;
        regret->most = fmax(regret->most, ratio);
        regret->cases++;
    }
}

tamis_regret tamis_rates_judge(tamis_timing_list *list, const double *rates) {
    tamis_regret regret = {.most = 1};
    judge(list, rates, false, &regret);
    return regret;
}

static bool same_pattern(const tamis_timed_case *a, const tamis_timed_case *b) {
    const tamis_problem *const p = &a->problem, *const q = &b->problem;
    return p->rows == q->rows && p->cols == q->cols && p->nnz == q->nnz &&
           a->evidence.profile.max == b->evidence.profile.max;
}

/* Numbers the patterns; all cases of one have its number. */
static void number_patterns(tamis_timing_list *list) {
    int patterns = 0;
    for (int64_t c = 0; c < list->count; c++) {
        int64_t before = 0;
        while (before < c && !same_pattern(list->cases[before], list->cases[c])) before++;
        list->cases[c]->pattern = before < c ? list->cases[before]->pattern : patterns++;
    }
}

tamis_status tamis_rates_cross(tamis_timing_list *list, const double *rates, tamis_regret *regret) {
    enum { FOLDS = 3 };
    tamis_status status = TAMIS_OK;
    *regret = (tamis_regret){.most = 1};
    number_patterns(list);
    for (int fold = 0; fold < FOLDS && status == TAMIS_OK; fold++) {
        double others[TAMIS_RATES_MOST];
        int64_t kept = 0;
        int fitted;
        memcpy(others, rates, sizeof others);
        for (int64_t c = 0; c < list->count; c++) {
            list->cases[c]->held_back = list->cases[c]->pattern % FOLDS == fold;
            kept += !list->cases[c]->held_back;
        }
        if (kept > 0) status = tamis_rates_fit(list, others, &fitted);
        judge(list, others, true, regret);
    }
    for (int64_t c = 0; c < list->count; c++) list->cases[c]->held_back = false;
    return status;
}

void tamis_rates_note(const tamis_rate_table *table, const tamis_regret *regret, double *rates) {
    enum { CASES_LEAST = 20 }; /* a share of fewer says little */
    for (int i = 0; i < TAMIS_LEADS; i++) {
        const bool many = regret->led[i] >= CASES_LEAST;
        rates[table->sure + i] = many ? (double)regret->led_near[i] / (double)regret->led[i] : 0;
    }
}
