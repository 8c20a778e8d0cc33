#include "lab/gpu/trial.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>

#include "backend/trial.h"
#include "base/status.h"
#include "gpu/plan.h"

enum { TIMES = 3 };

void tamis_gpu_candidate(tamis_gpu_candidates *candidates, const char *format, ...) {
    va_list arguments;
    if (candidates->count == TAMIS_GPU_CANDIDATES) return;
    va_start(arguments, format);
    vsnprintf(candidates->text[candidates->count++], sizeof candidates->text[0], format, arguments);
    va_end(arguments);
}

/* --- candidates */

static tamis_status make(const tamis_prepared *p, const tamis_gpu_method *method, const char *text,
                         tamis_prepared **made) {
    tamis_problem problem = p->problem;
    problem.parameters = text;
    return tamis_gpu_prepare(method, &problem, made);
}

/* Measures a few executions after a warm-up, and returns the shortest. */
static tamis_status measure(tamis_trial *trial, const tamis_prepared *candidate, double *least) {
    *least = INFINITY;
    for (int i = 0; i <= TIMES; i++) {
        double seconds = 0;
        TRY(tamis_trial_time(trial, candidate, NULL, 1, &seconds));
        if (i > 0 && seconds < *least) *least = seconds;
    }
    return TAMIS_OK;
}

static tamis_status choose(tamis_prepared *p, const tamis_gpu_method *method, const tamis_gpu_candidates *candidates,
                           tamis_trial *trial) {
    double best = INFINITY;
    tamis_status last = TAMIS_OK;
    for (int i = 0; i < candidates->count; i++) {
        tamis_prepared *candidate = NULL;
        double seconds = INFINITY;
        tamis_status status = last = make(p, method, candidates->text[i], &candidate);
        if (status == TAMIS_ERROR_ARGUMENT) continue; /* too large for the device */
        if (status == TAMIS_OK) status = measure(trial, candidate, &seconds);
        if (status == TAMIS_OK && (!p->inner || seconds < best)) {
            tamis_gpu_prepared_release(p->inner);
            p->inner = candidate;
            best = seconds;
        } else {
            tamis_gpu_prepared_release(candidate);
        }
        TRY(status);
    }
    return p->inner ? TAMIS_OK : last;
}

tamis_status tamis_gpu_rank(tamis_prepared *p, const tamis_gpu_method *method, const tamis_gpu_candidates *candidates) {
    tamis_status status = TAMIS_OK;
    tamis_trial trial;
    if (candidates->count == 1 || p->problem.nnz == 0) {
        TRY(make(p, method, candidates->text[0], &p->inner));
    } else {
        status = tamis_trial_begin(&p->problem, 1, &trial);
        if (status == TAMIS_OK) status = choose(p, method, candidates, &trial);
        tamis_trial_end(&trial);
        TRY(status);
    }
    p->scratch_bytes = p->inner->scratch_bytes;
    return TAMIS_OK;
}
