/* Autotuning: candidates of a method are prepared and timed with device events, and the fastest is kept. */
#ifndef TAMIS_LAB_GPU_TRIAL_H
#define TAMIS_LAB_GPU_TRIAL_H

#include "gpu/method.h"

enum { TAMIS_GPU_CANDIDATES = 128 };

typedef struct tamis_gpu_candidates {
    char text[TAMIS_GPU_CANDIDATES][96]; /* parameters of the method */
    int count;
} tamis_gpu_candidates;

/* Adds a candidate. The table keeps the first TAMIS_GPU_CANDIDATES. */
void tamis_gpu_candidate(tamis_gpu_candidates *candidates, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/*
 * Makes the fastest candidate p->inner, and sets p->scratch_bytes to its needs. Operands are random, of the right
 * shapes, in temporary memory (backend/trial.h). Candidates whose parameters the device refuses are skipped. A single
 * candidate is not measured.
 */
tamis_status tamis_gpu_rank(tamis_prepared *p, const tamis_gpu_method *method, const tamis_gpu_candidates *candidates);

#endif
