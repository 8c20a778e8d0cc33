/* The CPU's table of algorithms (the rows of methods.def), and the preparation of a method for a problem. */
#include "cpu/algorithms.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/memory.h"
#include "base/status.h"
#include "cpu/method.h"
#include "cpu/predict.h"
#include "cpu/variants.h"

#define ROW(method, kernels) &(method),
static const tamis_cpu_method *const methods[] = {
#include "cpu/methods.def"
};

const tamis_algorithm *tamis_cpu_algorithm(int number) {
    const int count = (int)(sizeof methods / sizeof methods[0]);
    return number >= 0 && number < count ? &methods[number]->common : NULL;
}

/* Valid because the common part is the first member. */
static const tamis_cpu_method *method_of(const tamis_algorithm *algorithm) {
    return (const tamis_cpu_method *)(const void *)algorithm;
}

bool tamis_cpu_accepts(const tamis_algorithm *algorithm, const tamis_problem *problem, char *reason, size_t bytes) {
    const tamis_cpu_method *const method = method_of(algorithm);
    return !method->accepts || method->accepts(problem, reason, bytes);
}

void tamis_cpu_predict(const tamis_algorithm *algorithm, const tamis_problem *problem, tamis_prediction *prediction) {
    method_of(algorithm)->predict(problem, prediction);
}

/* Bytes of the samples of softmax; in fused a thread keeps a chunk's, at most all. */
tamis_call_bytes tamis_cpu_call_bytes(const tamis_problem *problem) {
    const bool samples = problem->operation == TAMIS_OP_FUSED ||
                         (problem->operation == TAMIS_OP_SDDMM && problem->edge == TAMIS_EDGE_SOFTMAX);
    return (tamis_call_bytes){.entry = samples ? (problem->type == TAMIS_F64 ? 8 : 4) : 0};
}

/* ------------------------------------------------------------------------------------------ preparing */

enum {
    FUSED_CHUNK = 4096,
    RANGE_BYTES =
        256 << 10,  /* a range reads at least this many bytes of rows of B and D, if a thread has several ranges */
    RANGES_MOST = 8 /* per thread */
};

void tamis_cpu_release(tamis_prepared *prepared) {
    if (!prepared) return;
    for (int i = 0; i < prepared->kept_count; i++) tamis_release(prepared->kept[i]);
    tamis_release(prepared);
}

/* The part of the job that all executions share. */
static tamis_cpu_job job_of(const tamis_problem *problem) {
    return (tamis_cpu_job){.rows = problem->rows,
                           .cols = problem->cols,
                           .nnz = problem->nnz,
                           .offsets = problem->offsets,
                           .columns = problem->columns,
                           .wide_offsets = problem->offset_type == TAMIS_I64,
                           .wide_columns = problem->index_type == TAMIS_I64,
                           .real_values = problem->value_type != problem->type,
                           .inner = problem->inner,
                           .width = problem->width,
                           .real_out = problem->output_type != problem->type,
                           .edge = problem->edge,
                           .edge_constants = problem->edge_constants,
                           .stream = tamis_cpu_choose_stream(problem),
                           .prefetch = tamis_cpu_choose_prefetch(problem),
                           .chunk = tamis_cpu_choose_chunk(problem, FUSED_CHUNK)};
}

static tamis_status parse_parameters(tamis_prepared *p) {
    const tamis_cpu_method *const method = p->method;
    tamis_parameter parameters[TAMIS_CPU_PARAMETERS];
    int count = 0;
    for (; method->parameters[count].name; count++) {
        parameters[count] = method->parameters[count];
        if (parameters[count].most == TAMIS_CPU_CHUNK_MOST)
            parameters[count].most = p->problem.operation == TAMIS_OP_FUSED ? 1 << 20 : TAMIS_CPU_CHUNK;
    }
    if (method->defaults) method->defaults(p);
    return tamis_parameters_parse(method->common.description.name, p->problem.parameters, parameters, count,
                                  p->parameters);
}

static void size_scratch(tamis_prepared *p) {
    const tamis_problem *const problem = &p->problem;
    const bool sddmm = problem->operation == TAMIS_OP_SDDMM, softmax = problem->edge == TAMIS_EDGE_SOFTMAX;
    const int64_t ranges = p->cuts || softmax ? tamis_cpu_range_count(p) : 0;
    if (!sddmm || softmax) p->partial_stride = p->kernels->partial_bytes(sddmm ? 0 : problem->width);
    if (p->chunk_bytes == 0 && problem->operation == TAMIS_OP_FUSED) {
        /* if rows are short, the list of segments fills up first */
        p->job.segments = p->job.chunk / 4 < 256 ? 256 : p->job.chunk / 4;
        p->chunk_bytes =
            tamis_cpu_chunk_bytes(p, p->job.chunk) + (p->job.segments * p->kernels->segment_bytes + 63) / 64 * 64;
    }
    p->thread_scratch = tamis_times(p->partial_stride, p->rows_kept) + p->chunk_bytes;
    p->packed_at = tamis_times(p->threads, p->thread_scratch) + tamis_times(2 * ranges, p->partial_stride);
    p->samples_at = p->packed_at + p->packed_bytes;
    p->scratch_bytes = (size_t)p->samples_at;
    if (sddmm && softmax) p->scratch_bytes += (size_t)problem->nnz * (size_t)p->kernels->real_bytes;
}

/* Ranges per thread: enough that a late thread leaves some to others, but each large enough to be worth taking. Fused
   beyond L3 goes through B once per range, and then through D. */
static int choose_ranges(const tamis_prepared *p) {
    if (p->threads == 1 || p->method->blocks || p->job.chunk > FUSED_CHUNK) return 1;
    const int fit = TAMIS_CPU_RANGES / p->threads, most = fit < RANGES_MOST ? fit : RANGES_MOST;
    const double bytes = (double)p->problem.nnz * tamis_cpu_row_bytes(&p->problem) / p->threads;
    const int worthwhile = (int)fmin(bytes / RANGE_BYTES, most);
    return worthwhile < 1 ? 1 : worthwhile;
}

static tamis_status split(tamis_prepared *p) {
    const tamis_problem *const problem = &p->problem;
    /* enough blocks that the last one is short, but few enough that scheduling costs nothing */
    const int64_t pieces = (int64_t)p->threads * 64;
    p->grain = problem->rows / pieces < 1 ? 1 : problem->rows / pieces > 1024 ? 1024 : problem->rows / pieces;
    p->ranges_of_thread = choose_ranges(p);
    const int ranges = tamis_cpu_range_count(p);
    TRY(tamis_cpu_keep(p, ranges, sizeof *p->ranges, "the split between threads", (void **)&p->ranges));
    if (p->method->split)
        p->method->split(p, p->ranges);
    else if (p->together)
        tamis_cpu_split_whole(p, p->together, p->ranges);
    else
        tamis_cpu_partition(p, p->ranges);
    for (int i = 0; i < ranges; i++)
        p->cuts |= p->ranges[i].tail_cut && !p->method->blocks && problem->operation != TAMIS_OP_SDDMM;
    return TAMIS_OK;
}

static tamis_status prepare(tamis_prepared *p) {
    const size_t state_bytes = p->method->state_bytes;
    if (state_bytes > 0) {
        TRY(tamis_cpu_keep(p, 1, state_bytes, "a plan", &p->state));
        memset(p->state, 0, state_bytes);
    }
    p->job.state = p->state;
    TRY(parse_parameters(p));
    if (p->method->prepare) TRY(p->method->prepare(p));
    TRY(split(p));
    size_scratch(p);
    return TAMIS_OK;
}

tamis_status tamis_cpu_prepare(const tamis_algorithm *algorithm, const tamis_problem *problem,
                               tamis_prepared **prepared) {
    const tamis_cpu_method *const method = method_of(algorithm);
    const tamis_cpu_variant *variant;
    tamis_prepared *p = NULL;
    int number = 0;
    TRY(tamis_cpu_variant_choose(&variant));
    while (methods[number] != method) number++;
    const tamis_cpu_kernels *const kernels = variant->kernels[problem->type];
    TRY(tamis_allocate_zeroed(1, sizeof *p, "a plan", (void **)&p));
    *p = (tamis_prepared){.method = method,
                          .problem = *problem,
                          .kernels = kernels,
                          .kernel = kernels->methods[number][problem->operation],
                          .job = job_of(problem),
                          .threads = problem->threads < TAMIS_CPU_RANGES ? problem->threads : TAMIS_CPU_RANGES,
                          .rows_kept = 1,
                          .prepared_bytes = sizeof *p};
    const tamis_status status = prepare(p);
    if (status != TAMIS_OK) {
        tamis_cpu_release(p);
        return status;
    }
    p->problem.evidence = NULL;
    p->problem.parameters = NULL;
    *prepared = p;
    return TAMIS_OK;
}

void tamis_cpu_sizes(const tamis_prepared *p, tamis_prepared_sizes *sizes) {
    *sizes = (tamis_prepared_sizes){
        .scratch_bytes = p->scratch_bytes, .prepared_bytes = p->prepared_bytes, .math = TAMIS_MATH_EXACT};
    char *const text = sizes->parameters;
    for (int i = 0; i < p->method->reported && !p->problem.once; i++) { /* single calls report nothing */
        const tamis_parameter *const parameter = &p->method->parameters[i];
        const size_t used = strlen(text);
        if (p->parameters[i] < parameter->least) continue; /* not set */
        snprintf(text + used, sizeof sizes->parameters - used, "%s%s=%lld", used > 0 ? "," : "", parameter->name,
                 (long long)p->parameters[i]);
    }
}
