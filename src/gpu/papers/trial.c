#include "gpu/papers/trial.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>

#include "base/memory.h"
#include "base/status.h"
#include "gpu/compile/utility.h"
#include "gpu/plan.h"

enum { TIMES = 3, ARRAYS = 4 };

void tamis_gpu_candidate(tamis_gpu_candidates *candidates, const char *format, ...) {
    va_list arguments;
    if (candidates->count == TAMIS_GPU_CANDIDATES) return;
    va_start(arguments, format);
    vsnprintf(candidates->text[candidates->count++], sizeof candidates->text[0], format, arguments);
    va_end(arguments);
}

/* --- operands */

static tamis_status add_zeros(const tamis_prepared *p, int64_t count, size_t size, void **memory, tamis_place *place) {
    const size_t bytes = (size_t)count * size;
    TRY(tamis_gpu_allocate(p->device, p->problem.stream, bytes, "operands to measure with", memory));
    *place = (tamis_place){*memory, 0};
    return bytes ? p->device->runtime->fill(p->device, p->problem.stream, *place, 0, bytes) : TAMIS_OK;
}

static tamis_status make_operands(const tamis_prepared *p, tamis_operands *x, void **arrays) {
    const tamis_problem *const problem = &p->problem;
    const size_t size = tamis_type_size(problem->type);
    /* rows as they usually come: their ends are aligned */
    const int64_t stride = (problem->inner + 7) / 8 * 8;
    *x = (tamis_operands){.a_stride = stride, .b_stride = stride, .batch = 1, .alpha = 1};
    TRY(add_zeros(p, problem->rows * stride, size, &arrays[0], &x->a));
    TRY(add_zeros(p, problem->cols * stride, size, &arrays[1], &x->b));
    TRY(add_zeros(p, problem->nnz, tamis_gpu_real_size(problem->type), &arrays[2], &x->out));
    return add_zeros(p, problem->has_values ? problem->nnz : 0, size, &arrays[3], &x->values);
}

/* --- candidates */

static tamis_status make(const tamis_prepared *p, const tamis_gpu_method *method, const char *text,
                         tamis_prepared **made) {
    tamis_problem problem = p->problem;
    problem.parameters = text;
    return tamis_gpu_prepare(method, &problem, made);
}

static tamis_status time_once(tamis_prepared *candidate, const tamis_operands *x, void **marks, double *seconds) {
    const tamis_gpu_runtime *const runtime = candidate->device->runtime;
    void *const stream = candidate->problem.stream;
    TRY(runtime->mark(candidate->device, stream, &marks[0]));
    TRY(candidate->method->execute(candidate, stream, x));
    TRY(runtime->mark(candidate->device, stream, &marks[1]));
    return runtime->between(candidate->device, marks[0], marks[1], seconds);
}

/* The least of a few, after one that is not counted. */
static tamis_status measure(tamis_prepared *candidate, const tamis_operands *x, double *least) {
    tamis_status status = TAMIS_OK;
    void *marks[2] = {NULL, NULL};
    *least = INFINITY;
    for (int i = 0; i <= TIMES; i++) {
        double seconds = 0;
        TRY_GOTO(done, time_once(candidate, x, marks, &seconds));
        if (i > 0 && seconds < *least) *least = seconds;
    }
done:
    for (int i = 0; i < 2; i++)
        if (marks[i]) candidate->device->runtime->release_mark(candidate->device, marks[i]);
    return status;
}

/* The same with scratch of its own. */
static tamis_status try_out(tamis_prepared *candidate, const tamis_operands *x, double *least) {
    tamis_operands own = *x;
    void *scratch = NULL;
    TRY(add_zeros(candidate, (int64_t)candidate->scratch_bytes, 1, &scratch, &own.scratch));
    const tamis_status status = measure(candidate, &own, least);
    tamis_gpu_release(candidate->device, candidate->problem.stream, scratch);
    return status;
}

static tamis_status choose(tamis_prepared *p, const tamis_gpu_method *method, const tamis_gpu_candidates *candidates,
                           const tamis_operands *x) {
    double best = INFINITY;
    tamis_status last = TAMIS_OK;
    for (int i = 0; i < candidates->count; i++) {
        tamis_prepared *candidate = NULL;
        double seconds = INFINITY;
        tamis_status status = last = make(p, method, candidates->text[i], &candidate);
        if (status == TAMIS_ERROR_ARGUMENT) continue; /* too large for the device */
        if (status == TAMIS_OK) status = try_out(candidate, x, &seconds);
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
    tamis_operands x;
    void *arrays[ARRAYS] = {NULL, NULL, NULL, NULL};
    if (candidates->count == 1 || p->problem.nnz == 0) {
        TRY_GOTO(done, make(p, method, candidates->text[0], &p->inner));
    } else {
        TRY_GOTO(done, make_operands(p, &x, arrays));
        TRY_GOTO(done, choose(p, method, candidates, &x));
    }
    p->scratch_bytes = p->inner->scratch_bytes;
done:
    for (int i = 0; i < ARRAYS; i++) tamis_gpu_release(p->device, p->problem.stream, arrays[i]);
    return status;
}
