/* Timing of algorithms on synthetic operands. */
#include "backend/trial.h"

#include "base/clock.h"
#include "base/half.h"
#include "base/memory.h"
#include "base/random.h"
#include "base/status.h"

enum { BLOCK = 1 << 14 }; /* elements copied from the host; the rest of an array repeats them */

/* ------------------------------------------------------------------------------------------ operands */

/* Random numbers with full mantissas, since zeros may be faster: in [-1, 1), or in [0.1, 1) for quotients, whose
   denominators must not vanish. */
static void fill_block(tamis_type type, bool positive, uint64_t seed, void *block) {
    const double low = positive ? 0.1 : -1;
    for (int i = 0; i < BLOCK; i++) {
        const double x = low + (1 - low) * tamis_random_uniform_at(seed, 0, (uint64_t)i);
        switch (type) {
        case TAMIS_F32: ((float *)block)[i] = (float)x; break;
        case TAMIS_F64: ((double *)block)[i] = x; break;
        case TAMIS_F16: ((uint16_t *)block)[i] = tamis_f16_store((float)x); break;
        case TAMIS_BF16: ((uint16_t *)block)[i] = tamis_bf16_store((float)x); break;
        }
    }
}

static tamis_status fill(const tamis_problem *p, tamis_place place, int64_t bytes, const void *block, size_t size) {
    int64_t filled = BLOCK * (int64_t)size;
    if (filled > bytes) filled = bytes;
    TRY(p->backend->copy_in(p->device, p->stream, place, block, (size_t)filled));
    while (filled < bytes) {
        const int64_t more = filled < bytes - filled ? filled : bytes - filled;
        const tamis_place to = {place.base, place.bytes + filled};
        TRY(p->backend->copy_within(p->device, p->stream, to, place, (size_t)more));
        filled += more;
    }
    return TAMIS_OK;
}

static tamis_status add(tamis_trial *trial, int number, tamis_type type, int64_t elements, int64_t members,
                        tamis_matrix *x) {
    const tamis_problem *const p = trial->problem;
    const size_t size = tamis_type_size(type);
    const bool positive = p->edge == TAMIS_EDGE_QUOTIENT && p->operation != TAMIS_OP_SPMM;
    tamis_status status = TAMIS_OK;
    void *block = NULL;
    int64_t bytes;
    x->batch_stride = elements;
    if (__builtin_mul_overflow(elements, members, &bytes) || __builtin_mul_overflow(bytes, (int64_t)size, &bytes))
        return tamis_fail(TAMIS_ERROR_OVERFLOW, "operands to measure with: %lld x %lld elements do not fit 64 bits",
                          (long long)members, (long long)elements);
    if (bytes == 0) return TAMIS_OK;
    TRY(tamis_allocate(BLOCK, size, "numbers to measure with", &block));
    fill_block(type, positive, (uint64_t)number, block);
    TRY_GOTO(done, p->backend->allocate(p->device, p->stream, (size_t)bytes, "operands to measure with",
                                        &trial->arrays[number]));
    x->at = (tamis_place){trial->arrays[number], 0};
    trial->bytes += bytes;
    TRY_GOTO(done, fill(p, x->at, bytes, block, size));
done:
    tamis_release(block);
    return status;
}

tamis_status tamis_trial_begin(const tamis_problem *problem, int64_t members, tamis_trial *trial) {
    const tamis_problem *const p = problem;
    const bool sddmm = p->operation == TAMIS_OP_SDDMM, spmm = p->operation == TAMIS_OP_SPMM;
    const int64_t b_width = spmm ? p->width : p->inner, out = sddmm ? p->nnz : p->rows * p->width;
    *trial = (tamis_trial){.problem = problem};
    tamis_operands *const x = &trial->operands;
    *x = (tamis_operands){.a.stride = p->inner,
                          .b.stride = b_width,
                          .d.stride = p->width,
                          .out.stride = sddmm ? 0 : p->width,
                          .batch = members,
                          .alpha = 1};
    if (!spmm) TRY(add(trial, 0, p->type, p->rows * p->inner, members, &x->a));
    TRY(add(trial, 1, p->type, p->cols * b_width, members, &x->b));
    if (p->operation == TAMIS_OP_FUSED && !p->d_is_b) TRY(add(trial, 2, p->type, p->cols * p->width, members, &x->d));
    if (p->d_is_b) x->d = x->b;
    TRY(add(trial, 3, p->output_type, out, members, &x->out));
    return p->has_values ? add(trial, 4, p->value_type, p->nnz, members, &x->values) : TAMIS_OK;
}

void tamis_trial_end(tamis_trial *trial) {
    const tamis_problem *const p = trial->problem;
    for (int i = 0; i < TAMIS_TRIAL_ARRAYS; i++)
        if (trial->arrays[i]) p->backend->release_memory(p->device, p->stream, trial->arrays[i]);
    if (trial->scratch) p->backend->release_memory(p->device, p->stream, trial->scratch);
    for (int i = 0; i < 2; i++)
        if (trial->events[i]) p->backend->release_event(p->device, trial->events[i]);
}

/* ------------------------------------------------------------------------------------------ timing */

static tamis_status take_scratch(tamis_trial *trial, int64_t bytes) {
    const tamis_problem *const p = trial->problem;
    if (bytes > trial->scratch_bytes) {
        if (trial->scratch) p->backend->release_memory(p->device, p->stream, trial->scratch);
        trial->scratch = NULL;
        trial->scratch_bytes = 0;
        TRY(p->backend->allocate(p->device, p->stream, (size_t)bytes, "scratch to measure with", &trial->scratch));
        trial->scratch_bytes = bytes;
    }
    trial->operands.scratch = (tamis_place){trial->scratch, 0};
    return TAMIS_OK;
}

/* One of the two is not NULL. */
typedef struct timed {
    const tamis_prepared *prepared;
    const tamis_rival *rival;
    int64_t at_once;
} timed;

/* Executes all members, as many at once as an execution of a plan. */
static tamis_status execute(const tamis_trial *trial, const timed *what) {
    const tamis_problem *const p = trial->problem;
    const int64_t members = trial->operands.batch, at_once = what->at_once;
    if (what->rival) return what->rival->run(what->rival->context, &trial->operands);
    for (int64_t first = 0; first < members; first += at_once) {
        tamis_operands x = trial->operands;
        x.batch = members - first < at_once ? members - first : at_once;
        tamis_matrix_advance(&x.a, first, p->type);
        tamis_matrix_advance(&x.b, first, p->type);
        tamis_matrix_advance(&x.d, first, p->type);
        tamis_matrix_advance(&x.out, first, p->output_type);
        tamis_matrix_advance(&x.values, first, p->value_type);
        TRY(p->backend->execute(what->prepared, p->stream, &x));
    }
    return TAMIS_OK;
}

static tamis_status repeat(const tamis_trial *trial, const timed *what, int calls) {
    for (int i = 0; i < calls; i++) TRY(execute(trial, what));
    return TAMIS_OK;
}

static tamis_status time_by_clock(const tamis_trial *trial, const timed *what, int calls, double *seconds) {
    const tamis_problem *const p = trial->problem;
    TRY(p->backend->finish(p->device, p->stream));
    const double start = tamis_clock_seconds();
    TRY(repeat(trial, what, calls));
    TRY(p->backend->finish(p->device, p->stream));
    *seconds = tamis_clock_seconds() - start;
    return TAMIS_OK;
}

static tamis_status take_scratch_of(tamis_trial *trial, timed *what) {
    tamis_prepared_sizes sizes;
    if (!what->prepared) return TAMIS_OK;
    trial->problem->backend->sizes(what->prepared, &sizes);
    const int64_t scratch = ((int64_t)sizes.scratch_bytes + 63) / 64 * 64;
    what->at_once = tamis_members_at_once(&sizes, trial->problem);
    trial->operands.scratch_batch_stride = sizes.own_scratch ? scratch : 0;
    return take_scratch(trial, sizes.own_scratch ? what->at_once * scratch : scratch);
}

tamis_status tamis_trial_time(tamis_trial *trial, const tamis_prepared *prepared, const tamis_rival *rival, int calls,
                              double *seconds) {
    const tamis_problem *const p = trial->problem;
    const tamis_backend *const backend = p->backend;
    void **const events = trial->events;
    timed what = {.prepared = prepared, .rival = rival};
    TRY(take_scratch_of(trial, &what));
    if (!trial->by_clock) {
        TRY(backend->record(p->device, p->stream, &events[0]));
        TRY(repeat(trial, &what, calls));
        TRY(backend->record(p->device, p->stream, &events[1]));
        trial->by_clock = backend->elapsed(p->device, events[0], events[1], seconds) != TAMIS_OK;
        if (trial->by_clock) tamis_clear_error(); /* an error of the device itself will show again */
    }
    if (trial->by_clock) TRY(time_by_clock(trial, &what, calls, seconds));
    *seconds /= calls;
    return TAMIS_OK;
}
