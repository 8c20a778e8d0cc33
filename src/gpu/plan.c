/*
 * Prepares a method for one problem: parameters, softmax, kernels. Runs batches one member at a time if the method has
 * no batches.
 */
#include "gpu/plan.h"

#include <stdio.h>
#include <string.h>

#include "base/memory.h"
#include "base/sizes.h"
#include "base/status.h"
#include "gpu/compile/requests.h"
#include "gpu/compile/utility.h"
#include "gpu/gradient/gradient.h"
#include "gpu/softmax/softmax.h"

/* ------------------------------------------------------------------------------------------ making */

static int parameter_count(const tamis_gpu_method *method) {
    int count = 0;
    while (count < TAMIS_GPU_PARAMETERS && method->parameters[count].name) count++;
    return count;
}

static int64_t unit_of(const tamis_prepared *p) {
    int64_t unit = 16 / (int64_t)tamis_type_size(p->problem.type);
    while (tamis_gpu_compiles_fast(p) && (p->problem.inner % unit != 0 || p->problem.width % unit != 0)) unit /= 2;
    return unit;
}

static _Thread_local int depth; /* nesting depth: methods that prepare others */

/* An edge over products in scratch, for all or some members of a batch; `x` may be NULL. */
static tamis_edge_job finishing_job(const tamis_prepared *p, void *stream, const tamis_operands *x) {
    const tamis_problem *const problem = &p->problem;
    const tamis_type sums = tamis_sum_type(problem->type);
    tamis_edge_job job = {.device = p->device,
                          .stream = stream,
                          .type = problem->type,
                          .edge = TAMIS_EDGE_TEXT,
                          .constants = problem->edge_constants,
                          .rows = problem->rows,
                          .nnz = problem->nnz,
                          .offsets = problem->offsets,
                          .columns = problem->columns,
                          .offset_type = problem->offset_type,
                          .index_type = problem->index_type};
    if (!x) return job;
    job.batch = x->batch;
    job.first_member = x->first_member;
    if (problem->has_values)
        job.values = (tamis_edge_array){x->values.at, x->values.batch_stride, problem->value_type, false};
    job.named = x->named;
    job.permutation = x->permutation;
    job.x = (tamis_edge_array){x->scratch, x->scratch_batch_stride / (int64_t)tamis_type_size(sums), sums, false};
    job.p = job.x; /* softmax's scores */
    job.p_factor = 1;
    if (problem->edge == TAMIS_EDGE_SOFTMAX) return job;
    job.p = (tamis_edge_array){x->out.at, x->out.batch_stride, problem->output_type, false};
    job.p_factor = x->alpha;
    job.p_keep = x->beta;
    return job;
}

/* Prepares the pass after the method, or the code of the edge in its kernels. */
static tamis_status prepare_edge(tamis_prepared *p) {
    const tamis_edge_text *const text = p->problem.edge_constants.text;
    if (tamis_gpu_finishes_text(&p->problem)) {
        const tamis_edge_job job = finishing_job(p, NULL, NULL);
        p->softmax_scratch = (tamis_bytes(p->problem.nnz, tamis_gpu_real_size(p->problem.type)) + 63) / 64 * 64;
        TRY(tamis_gpu_edge_functions.ready(&job, false));
        return p->problem.edge == TAMIS_EDGE_SOFTMAX ? tamis_gpu_softmax_prepare(p) : TAMIS_OK;
    }
    if (tamis_gpu_scores(p)) return tamis_gpu_softmax_prepare(p);
    const bool places = p->method->texts && text;
    if ((p->problem.edge != TAMIS_EDGE_TEXT && !places) || p->problem.operation == TAMIS_OP_SPMM) return TAMIS_OK;
    char *declarations;
    TRY(tamis_edge_text_declare(p->method->slopes ? &text->all : &text->value, text->scalars, &declarations));
    const tamis_status status = tamis_gpu_edge_code(declarations, places, &p->edge_code);
    tamis_release(declarations);
    return status;
}

/* Makes the method's kernels and memory. The outermost call waits for outstanding compilations. */
static tamis_status prepare(tamis_prepared *p) {
    depth++;
    tamis_status status = prepare_edge(p);
    if (status == TAMIS_OK) status = p->method->prepare(p);
    depth--;
    return status == TAMIS_OK && depth == 0 ? tamis_gpu_await_requests() : status;
}

tamis_status tamis_gpu_prepare(const tamis_gpu_method *method, const tamis_problem *problem,
                               tamis_prepared **prepared) {
    tamis_status status = TAMIS_OK;
    tamis_prepared *p = NULL;
    TRY(tamis_allocate_zeroed(1, sizeof *p, "a plan", (void **)&p));
    p->method = method;
    p->device = problem->device;
    p->problem = *problem;
    p->profile = problem->evidence->profile;
    p->unit = unit_of(p);
    TRY_GOTO(failed, tamis_allocate_zeroed((int64_t)method->state_bytes, 1, "a plan's state", &p->state));
    if (method->defaults) method->defaults(problem, p->device, p->parameters);
    TRY_GOTO(failed, tamis_parameters_parse(method->name, problem->parameters, method->parameters,
                                            parameter_count(method), p->parameters));
    TRY_GOTO(failed, prepare(p));
    p->problem.evidence = NULL;
    p->problem.mask = NULL;
    p->problem.parameters = "";
    *prepared = p;
    return TAMIS_OK;
failed:
    tamis_gpu_prepared_release(p);
    return status;
}

tamis_status tamis_gpu_prepare_two(const tamis_gpu_method *const methods[2], const tamis_problem *const problems[2],
                                   tamis_prepared *prepared[2]) {
    prepared[0] = prepared[1] = NULL;
    depth++;
    tamis_status status = tamis_gpu_prepare(methods[0], problems[0], &prepared[0]);
    if (status == TAMIS_OK) status = tamis_gpu_prepare(methods[1], problems[1], &prepared[1]);
    depth--;
    if (status == TAMIS_OK && depth == 0) status = tamis_gpu_await_requests();
    for (int i = 0; i < 2 && status != TAMIS_OK; i++) {
        tamis_gpu_prepared_release(prepared[i]);
        prepared[i] = NULL;
    }
    return status;
}

void tamis_gpu_prepared_release(tamis_prepared *p) {
    if (!p) return;
    tamis_gpu_cancel_requests(p, sizeof *p);
    for (int i = 0; i < TAMIS_GPU_KERNELS; i++) {
        tamis_gpu_kernel_release(p->kernels[i]);
        tamis_gpu_kernel_release(p->narrow[i]);
    }
    for (int i = 0; i < 3; i++) tamis_gpu_kernel_release(p->softmax[i]);
    for (int i = 0; i < p->kept_count; i++) tamis_gpu_release(p->device, tamis_kept_stream(&p->problem), p->kept[i]);
    tamis_gpu_prepared_release(p->inner);
    tamis_gpu_prepared_release(p->inner_second);
    tamis_release(p->state);
    tamis_release(p->edge_code);
    tamis_release(p);
}

void tamis_gpu_sizes(const tamis_prepared *p, tamis_prepared_sizes *sizes) {
    size_t used = 0;
    *sizes = (tamis_prepared_sizes){.scratch_bytes = p->softmax_scratch + p->scratch_bytes,
                                    .own_scratch = p->method->batches,
                                    .prepared_bytes = p->prepared_bytes,
                                    .math = p->math};
    for (int i = 0; i < parameter_count(p->method) && used < sizeof sizes->parameters; i++) {
        const int n = snprintf(sizes->parameters + used, sizeof sizes->parameters - used, "%s%s=%lld", i ? "," : "",
                               p->method->parameters[i].name, (long long)p->parameters[i]);
        if (n > 0) used += (size_t)n;
    }
    const tamis_prepared *const others[] = {p->inner, p->inner_second};
    for (int i = 0; i < 2; i++) {
        tamis_prepared_sizes of_other;
        if (!others[i]) continue;
        tamis_gpu_sizes(others[i], &of_other);
        sizes->prepared_bytes += of_other.prepared_bytes;
        if (of_other.math != TAMIS_MATH_EXACT) sizes->math = of_other.math;
    }
}

tamis_call_bytes tamis_gpu_call_bytes_of(const tamis_gpu_algorithm *const *algorithms, size_t count,
                                         const tamis_problem *problem) {
    tamis_call_bytes most = {0, 0};
    for (size_t i = 0; i < count; i++) {
        const tamis_gpu_method *const method = algorithms[i]->methods[problem->operation];
        if (!method || !method->call_bytes || algorithms[i]->common.needs_preparation) continue;
        const tamis_call_bytes bytes = method->call_bytes(problem);
        if (bytes.row > most.row) most.row = bytes.row;
        if (bytes.entry > most.entry) most.entry = bytes.entry;
    }
    if (problem->operation == TAMIS_OP_SDDMM &&
        (problem->edge == TAMIS_EDGE_SOFTMAX || problem->edge == TAMIS_EDGE_TEXT)) /* a text may read places */
        most.entry += tamis_gpu_softmax_entry_bytes(problem);
    return most;
}

/* Members first .. first + count - 1 of a batch. */
static tamis_operands members_of(const tamis_prepared *p, const tamis_operands *x, int64_t first, int64_t count) {
    tamis_operands part = *x;
    const struct {
        tamis_matrix *x;
        tamis_type type;
    } all[] = {{&part.values, p->problem.value_type},
               {&part.a, p->problem.type},
               {&part.b, p->problem.type},
               {&part.d, p->problem.type},
               {&part.out, p->problem.output_type}};
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
        tamis_matrix_advance(all[i].x, first, all[i].type);
        if (count == 1) all[i].x->batch_stride = 0; /* then no kernel reads it */
    }
    part.softmax_rows =
        tamis_gpu_after(x->softmax_rows, 2 * p->problem.rows * first * (int64_t)tamis_gpu_real_size(p->problem.type));
    part.scratch = tamis_gpu_after(x->scratch, x->scratch_batch_stride * first);
    part.batch = count;
    part.first_member = x->first_member + first;
    return part;
}

/* The method's own `execute` launches its kernels; gpu-nonzeros', for example, is in nonzeros/sddmm_nonzeros.c. */
static tamis_status execute_members(const tamis_prepared *p, void *stream, const tamis_operands *operands) {
    if (!tamis_gpu_scores(p)) return p->method->execute(p, stream, operands);
    tamis_operands scores = *operands; /* the method writes them to the start of scratch */
    scores.out = (tamis_matrix){operands->scratch, 0,
                                operands->scratch_batch_stride / (int64_t)tamis_gpu_real_size(p->problem.type)};
    scores.alpha = 1;
    scores.beta = 0;
    scores.scratch = tamis_gpu_after(operands->scratch, (int64_t)p->softmax_scratch);
    if (p->problem.nnz > 0) TRY(p->method->execute(p, stream, &scores));
    if (tamis_gpu_finishes_text(&p->problem)) {
        const tamis_edge_job job = finishing_job(p, stream, operands);
        if (p->problem.nnz > 0) TRY(tamis_gpu_edge_functions.run(&job));
    }
    return p->problem.edge == TAMIS_EDGE_SOFTMAX ? tamis_gpu_softmax_execute(p, stream, operands) : TAMIS_OK;
}

/* Runs the members of a batch together, up to the launch limit of the grid's z; or one by one, if the method has no
   batches. */
tamis_status tamis_gpu_execute(const tamis_prepared *p, void *stream, const tamis_operands *operands) {
    const tamis_problem *const problem = &p->problem;
    const bool nothing = problem->operation == TAMIS_OP_SDDMM ? problem->nnz == 0 : problem->width == 0;
    const bool empty = problem->rows == 0 || (nothing && !operands->softmax_rows.base);
    const int64_t highest = p->device->limits.groups_most[2], batch = operands->batch;
    const int64_t most = p->method->batches && highest > 1 ? highest : 1;
    if (empty) return TAMIS_OK;
    for (int64_t first = 0; first < batch; first += most) {
        const tamis_operands part = members_of(p, operands, first, batch - first < most ? batch - first : most);
        TRY(execute_members(p, stream, &part));
    }
    return TAMIS_OK;
}
