/*
 * Plans and their executions, with the time of each: the device's stream records an event before and after, and the
 * events are read at the end of an iteration, so that nothing waits in between.
 */
#include "ml/fit/calls.h"

#include "base/scope.h"
#include "ml/fit/group.h"
#include "ml/model.h"

static void destroy_plan(void *plan) { tamis_plan_destroy(plan); }

tamis_status ml_plan(const tamis_model *model, const tamis_sparse *S, tamis_operation operation, tamis_edge edge,
                     int64_t inner, int64_t width, int64_t calls, tamis_plan **plan) {
    tamis_options options = TAMIS_OPTIONS_INIT;
    options.operation = operation;
    options.edge = edge;
    options.type = model->options.type;
    options.inner = inner;
    options.width = width;
    options.d_is_b = operation == TAMIS_OP_FUSED;
    options.expected_calls = calls;
    options.trust_input = true; /* ml_sparse_place made it */
    options.threads = ml_threads(model);
    if (model->algorithms[operation][0]) options.algorithm = model->algorithms[operation];
    TRY(tamis_plan_create(model->device, S, &options, plan));
    return tamis_scope_own(destroy_plan, *plan);
}

/* ------------------------------------------------------------------------------------------ time */

/* The most calls whose events are pending. When they are reached, all events are read, which waits for the device. */
enum { CALLS_MOST = 1 << 16 };

static tamis_status make_room(ml_times *times, int capacity) {
    TRY(tamis_reallocate(2 * times->capacity, 2 * capacity, sizeof *times->events, "events", (void **)&times->events));
    for (int i = 2 * times->capacity; i < 2 * capacity; i++) times->events[i] = NULL;
    TRY(tamis_reallocate(times->capacity, capacity, sizeof *times->operation, "events", (void **)&times->operation));
    times->capacity = capacity;
    return TAMIS_OK;
}

tamis_status ml_times_reserve(tamis_model *model, double calls) {
    ml_times *const times = &model->times;
    const int capacity = calls < CALLS_MOST ? (int)calls : CALLS_MOST;
    if (capacity > times->capacity) TRY(make_room(times, capacity));
    for (int i = 0; i < 2 * capacity; i++)
        if (!times->events[i]) TRY(tamis_event_record(model->device, NULL, &times->events[i]));
    return TAMIS_OK;
}

static tamis_status room_for_call(tamis_model *model) {
    ml_times *const times = &model->times;
    if (times->calls < times->capacity) return TAMIS_OK;
    if (times->capacity >= CALLS_MOST) return ml_times_add(model);
    const int requested = times->capacity > 0 ? 2 * times->capacity : 64;
    return make_room(times, requested < CALLS_MOST ? requested : CALLS_MOST);
}

static tamis_status begin_call(tamis_model *model, tamis_operation operation) {
    ml_times *const times = &model->times;
    TRY(room_for_call(model));
    times->operation[times->calls] = (int8_t)operation;
    return tamis_event_record(model->device, NULL, &times->events[2 * times->calls]);
}

static tamis_status end_call(tamis_model *model) {
    ml_times *const times = &model->times;
    TRY(tamis_event_record(model->device, NULL, &times->events[2 * times->calls + 1]));
    times->calls++;
    return TAMIS_OK;
}

tamis_status ml_times_add(tamis_model *model) {
    ml_times *const times = &model->times;
    for (int i = 0; i < times->calls; i++) {
        double took;
        TRY(tamis_event_elapsed(model->device, times->events[2 * i], times->events[2 * i + 1], &took));
        times->seconds[times->operation[i]] += took;
    }
    times->calls = 0;
    return TAMIS_OK;
}

tamis_status ml_times_take(tamis_model *model, double seconds[3]) {
    TRY(ml_times_add(model));
    for (int i = 0; i < 3; i++) {
        seconds[i] = model->times.seconds[i];
        model->times.seconds[i] = 0;
    }
    return TAMIS_OK;
}

void ml_times_free(tamis_model *model) {
    ml_times *const times = &model->times;
    for (int i = 0; i < 2 * times->capacity; i++)
        if (times->events[i]) tamis_event_destroy(model->device, times->events[i]);
    tamis_release(times->events);
    tamis_release(times->operation);
    *times = (ml_times){0};
}

/* ------------------------------------------------------------------------------------------ executions */

static tamis_execution scaled(double alpha, double beta) {
    tamis_execution execution = TAMIS_EXECUTION_INIT;
    execution.alpha = alpha;
    execution.beta = beta;
    return execution;
}

tamis_status ml_sddmm(tamis_model *model, const tamis_plan *plan, const tamis_dense *A, const tamis_dense *B,
                      double alpha, double beta, const tamis_dense *P) {
    const tamis_execution execution = scaled(alpha, beta);
    TRY(begin_call(model, TAMIS_OP_SDDMM));
    TRY(tamis_plan_sddmm(plan, A, B, P, &execution));
    return end_call(model);
}

tamis_status ml_spmm(tamis_model *model, const tamis_plan *plan, const tamis_dense *B, double alpha, double beta,
                     const tamis_dense *C) {
    const tamis_execution execution = scaled(alpha, beta);
    TRY(begin_call(model, TAMIS_OP_SPMM));
    TRY(tamis_plan_spmm(plan, B, C, &execution));
    return end_call(model);
}

tamis_status ml_fused(tamis_model *model, const tamis_plan *plan, const tamis_dense *A, const tamis_dense *B,
                      double alpha, double beta, const tamis_dense *E) {
    const tamis_execution execution = scaled(alpha, beta);
    TRY(begin_call(model, TAMIS_OP_FUSED));
    TRY(tamis_plan_fused(plan, A, B, B, E, &execution));
    return end_call(model);
}
