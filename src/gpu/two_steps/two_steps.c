/*
 * Fused as an SDDMM into scratch and an SpMM from it, each by the fastest of our methods. A single pass over S would
 * save the traffic of nnz samples, but one kernel for both needs so many registers that fewer teams are resident.
 * Scratch: nnz samples, in fp32 if the operands have 16 bits, then what the two steps need in turn.
 */
#include <stdio.h>

#include "backend/edge.h"
#include "base/status.h"
#include "gpu/methods.h"
#include "gpu/model.h"
#include "gpu/plan.h"

/* The problem of the first step, or of the second. */
static tamis_problem half_of(const tamis_problem *problem, bool second) {
    tamis_problem half = *problem;
    half.parameters = "";
    if (second) {
        half.operation = TAMIS_OP_SPMM;
        half.edge = TAMIS_EDGE_SCALE;
        half.has_values = true;
        half.value_type = tamis_sum_type(problem->type);
        half.inner = 0;
        half.keep_softmax = false;
    } else {
        half.operation = TAMIS_OP_SDDMM;
        half.output_type = tamis_sum_type(problem->type);
        half.width = 0;
    }
    return half;
}

static double seconds_of(const tamis_problem *problem, const tamis_prediction *prediction) {
    const double calls = problem->evidence->expected_calls > 1 ? (double)problem->evidence->expected_calls : 1;
    return prediction->call_seconds + prediction->setup_seconds / calls;
}

/* Candidates for the two steps, beside the laboratory's methods with a predictor of their own. */
static const tamis_gpu_algorithm *const parts[] = {&tamis_gpu_nonzeros, &tamis_gpu_panels, &tamis_gpu_tensor,
                                                   &tamis_gpu_rows,     &tamis_gpu_teams,  &tamis_gpu_rounded};
enum { PARTS = sizeof parts / sizeof parts[0] };

/* Chooses the fastest candidate. */
static const tamis_gpu_algorithm *choose(const tamis_problem *half, tamis_prediction *best) {
    char reason[256];
    const tamis_gpu_algorithm *chosen = NULL;
    for (int i = 0; i < PARTS + tamis_lab_gpu_algorithm_count; i++) {
        const tamis_gpu_algorithm *const part = i < PARTS ? parts[i] : tamis_lab_gpu_algorithms[i - PARTS];
        tamis_prediction prediction = {.setup_seconds = 0};
        if (!part->predict || !part->methods[half->operation]) continue;
        if (part->common.needs_preparation && half->once) continue;
        if (part->also && !part->also(half, reason, sizeof reason)) continue;
        part->predict(half, &prediction);
        if (chosen && seconds_of(half, &prediction) >= seconds_of(half, best)) continue;
        *best = prediction;
        chosen = part;
    }
    return chosen;
}

static void predict(const tamis_problem *problem, tamis_prediction *prediction) {
    const tamis_problem first = half_of(problem, false), second = half_of(problem, true);
    tamis_prediction samples = {.setup_seconds = 0}, products = {.setup_seconds = 0};
    const tamis_gpu_algorithm *const sampler = choose(&first, &samples), *const multiplier = choose(&second, &products);
    const double softmax = problem->edge == TAMIS_EDGE_SOFTMAX ? tamis_gpu_softmax_seconds(problem) : 0;
    /* samples of 16-bit operands have 32: as many bytes more are written, and read again */
    const double more = (double)(tamis_gpu_real_size(problem->type) - tamis_type_size(problem->type));
    const double moving = tamis_gpu_streamed(problem, 2 * (double)problem->nnz * more);
    prediction->call_seconds = samples.call_seconds + products.call_seconds + softmax + moving;
    prediction->setup_seconds = samples.setup_seconds + products.setup_seconds;
    if (problem->once) return; /* single calls report no reason */
    snprintf(prediction->reason, sizeof prediction->reason, "SDDMM by %s in %.3g ms, then SpMM by %s in %.3g ms",
             sampler->common.description.name, 1e3 * samples.call_seconds, multiplier->common.description.name,
             1e3 * products.call_seconds);
}

static size_t sample_bytes(const tamis_prepared *p) {
    return ((size_t)p->problem.nnz * tamis_gpu_real_size(p->problem.type) + 63) / 64 * 64;
}

static tamis_call_bytes call_bytes(const tamis_problem *problem) {
    const tamis_problem first = half_of(problem, false), second = half_of(problem, true);
    const tamis_call_bytes samples = tamis_gpu_call_bytes_of(parts, PARTS, &first);
    const tamis_call_bytes products = tamis_gpu_call_bytes_of(parts, PARTS, &second);
    const int64_t most = samples.entry > products.entry ? samples.entry : products.entry;
    return (tamis_call_bytes){.row = samples.row > products.row ? samples.row : products.row,
                              .entry = (int64_t)tamis_gpu_real_size(problem->type) + most};
}

static tamis_status prepare(tamis_prepared *p) {
    tamis_problem first = half_of(&p->problem, false), second = half_of(&p->problem, true);
    tamis_prediction prediction;
    tamis_prepared_sizes sizes[2];
    TRY(tamis_gpu_prepare(choose(&first, &prediction)->methods[TAMIS_OP_SDDMM], &first, &p->inner));
    TRY(tamis_gpu_prepare(choose(&second, &prediction)->methods[TAMIS_OP_SPMM], &second, &p->inner_second));
    tamis_gpu_sizes(p->inner, &sizes[0]);
    tamis_gpu_sizes(p->inner_second, &sizes[1]);
    const size_t most =
        sizes[0].scratch_bytes > sizes[1].scratch_bytes ? sizes[0].scratch_bytes : sizes[1].scratch_bytes;
    p->scratch_bytes = sample_bytes(p) + most;
    return TAMIS_OK;
}

static tamis_status execute(const tamis_prepared *p, void *stream, const tamis_operands *x) {
    tamis_operands first = *x, second = *x;
    first.out = second.values =
        (tamis_matrix){x->scratch, 0, x->scratch_batch_stride / (int64_t)tamis_gpu_real_size(p->problem.type)};
    first.scratch = second.scratch = tamis_gpu_after(x->scratch, (int64_t)sample_bytes(p));
    first.alpha = 1;
    first.beta = 0;
    second.b = x->d;
    first.d = second.a = second.d = (tamis_matrix){.stride = 0};
    second.softmax_rows = (tamis_place){NULL, 0};
    TRY(tamis_gpu_execute(p->inner, stream, &first));
    return tamis_gpu_execute(p->inner_second, stream, &second);
}

static const tamis_gpu_method method = {
    .name = "gpu-two-steps",
    .prepare = prepare,
    .execute = execute,
    .call_bytes = call_bytes,
    .batches = true,
    .widens = true,
    .keeps = true,
    .keeps_bare = true,
};

const tamis_gpu_algorithm tamis_gpu_two_steps = {
    .common.description =
        {
            .name = "gpu-two-steps",
            .device = "gpu",
            .operations = TAMIS_GPU_FUSED,
            .source = "ours",
            .needs = "scratch for nnz samples, fp32 or fp64; what its parts need",
            .when =
                "where SDDMM and SpMM by themselves are faster than one pass: long rows of A and B, rows of similar length",
            .parameters = "",
        },
    .methods = {[TAMIS_OP_FUSED] = &method},
    .predict = predict,
    .by_samples = true,
};
