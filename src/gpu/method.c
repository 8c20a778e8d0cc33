/* Parameters, definitions, memory and launches of all GPU methods. */
#include "gpu/method.h"

#include <string.h>

#include "base/memory.h"
#include "base/sizes.h"
#include "base/status.h"
#include "gpu/compile/definitions.h"
#include "gpu/compile/requests.h"
#include "gpu/compile/utility.h"

int64_t tamis_gpu_parameter(const tamis_prepared *p, const char *name) {
    int i = 0;
    while (strcmp(p->method->parameters[i].name, name) != 0) i++;
    return p->parameters[i];
}

tamis_status tamis_gpu_check_powers(const tamis_prepared *p, int first, int last) {
    for (int i = first; i <= last; i++)
        if (p->parameters[i] & (p->parameters[i] - 1))
            return tamis_fail(TAMIS_ERROR_ARGUMENT, "parameters: %s = %lld is not a power of two",
                              p->method->parameters[i].name, (long long)p->parameters[i]);
    return TAMIS_OK;
}

/* ------------------------------------------------------------------------------------------ kernels */

void tamis_gpu_define_problem(tamis_gpu_definitions *definitions, const tamis_prepared *p, int group, int team) {
    const tamis_problem *const problem = &p->problem;
    tamis_gpu_define(definitions, "GROUP", group);
    tamis_gpu_define(definitions, "TEAM", team);
    tamis_gpu_define_kinds(definitions, (tamis_gpu_kinds){problem->type, problem->index_type, problem->offset_type});
    tamis_gpu_define(definitions, "VALUE", tamis_gpu_element(problem->value_type));
    tamis_gpu_define(definitions, "OUTPUT", tamis_gpu_element(problem->output_type));
    if (problem->edge == TAMIS_EDGE_TEXT || tamis_gpu_finishes_text(problem) || tamis_gpu_compiles_fast(p)) {
        tamis_gpu_define(definitions, "EDGE", tamis_gpu_finishes_text(problem) ? TAMIS_EDGE_MASK : problem->edge);
        tamis_gpu_define(definitions, "HAS_VALUES", problem->has_values);
    } else {
        tamis_gpu_define_text(definitions, "EDGE", "edge_kind");
        tamis_gpu_define_text(definitions, "HAS_VALUES", "has_values");
    }
    tamis_gpu_define(definitions, "BATCHED", problem->batch > 1 || !tamis_gpu_compiles_fast(p));
    tamis_gpu_define(definitions, "SAMPLES_REAL", tamis_gpu_scores(p));
    tamis_gpu_define(definitions, "UNIT", p->unit);
    if (p->method->texts && problem->edge_constants.text)
        tamis_gpu_define_arrays(definitions, &problem->edge_constants.text->value);
    for (int i = 0; i < TAMIS_GPU_PARAMETERS; i++)
        if (p->method->defined[i]) tamis_gpu_define(definitions, p->method->defined[i], p->parameters[i]);
}

int64_t tamis_gpu_lane_pieces(int64_t pieces, int64_t team, int64_t pieces_most) {
    const int64_t steps = (pieces + team * pieces_most - 1) / (team * pieces_most);
    return steps > 0 ? (pieces + team * steps - 1) / (team * steps) : 1;
}

/* A constant K makes the fastest code, with a third fewer registers, at the price of one more kernel to compile. Longer
   rows than 1024 take a loop anyway, which hides the difference. */
int tamis_gpu_define_inner(tamis_gpu_definitions *definitions, const tamis_prepared *p, int64_t inner, int team,
                           int pieces_most) {
    const int64_t piece = 16 / (int64_t)tamis_type_size(p->problem.type);
    const int64_t pieces = (inner + piece - 1) / piece;
    const bool quick = tamis_gpu_compiles_fast(p);
    const int64_t lane = quick ? tamis_gpu_lane_pieces(pieces, team, pieces_most) : pieces_most;
    const bool exact = quick && inner > 0 && inner % (team * piece * lane) == 0;
    const bool one_step = inner <= team * piece * lane;
    tamis_gpu_define(definitions, "K", quick && inner > 0 && inner <= 1024 ? inner : 0);
    tamis_gpu_define(definitions, "WHOLE_UNITS", quick);
    tamis_gpu_define(definitions, "PIECES", lane);
    tamis_gpu_define(definitions, "EXACT", exact);
    tamis_gpu_define(definitions, "UNITS_FULL",
                     exact               ? lane * piece / p->unit
                     : quick && one_step ? inner / (team * p->unit)
                                         : 0);
    tamis_gpu_define(definitions, "ONE_STEP", one_step);
    return (int)lane;
}

/* Requests a kernel under the definitions, with the code of the plan's edge. */
static tamis_status request(const tamis_prepared *p, const char *file, const char *kernel,
                            const tamis_gpu_definitions *definitions, int64_t shared_bytes, tamis_gpu_kernel **made) {
    char *all;
    if (!p->edge_code) return tamis_gpu_request_kernel(p->device, file, definitions->text, kernel, shared_bytes, made);
    TRY(tamis_gpu_with_code(definitions, p->edge_code, &all));
    const tamis_status status = tamis_gpu_request_kernel(p->device, file, all, kernel, shared_bytes, made);
    tamis_release(all);
    return status;
}

tamis_status tamis_gpu_add_kernel(tamis_prepared *p, int number, const char *file, const char *kernel,
                                  const tamis_gpu_definitions *definitions, int64_t shared_bytes) {
    return request(p, file, kernel, definitions, shared_bytes, &p->kernels[number]);
}

tamis_status tamis_gpu_add_split_kernel(tamis_prepared *p, int number, const char *file, const char *kernel,
                                        const tamis_gpu_definitions *definitions, int64_t shared_bytes) {
    tamis_gpu_kernel **const kernels[2] = {&p->narrow[number], &p->kernels[number]};
    if (strcmp(p->device->runtime->name, "cuda") != 0)
        return tamis_gpu_add_kernel(p, number, file, kernel, definitions, shared_bytes);
    for (int wide = 1; wide >= 0; wide--) {
        tamis_gpu_definitions one = *definitions;
        tamis_gpu_define(&one, "WIDE", wide);
        TRY(request(p, file, kernel, &one, shared_bytes, kernels[wide]));
    }
    return TAMIS_OK;
}

tamis_status tamis_gpu_prepare_kernel(tamis_prepared *p, int number, int64_t group, int64_t team,
                                      const tamis_gpu_definitions *own) {
    const tamis_gpu_kernel_row *const row = &p->method->kernels[number];
    const int64_t shared_bytes = number == 0 ? p->launch.shared_bytes : 0;
    tamis_gpu_definitions definitions = own ? *own : (tamis_gpu_definitions){.used = 0};
    tamis_gpu_define_problem(&definitions, p, (int)group, (int)team);
    for (size_t i = 0; i < sizeof row->definitions / sizeof row->definitions[0] && row->definitions[i].name; i++)
        tamis_gpu_define(&definitions, row->definitions[i].name, row->definitions[i].value);
    if (shared_bytes > 0) tamis_gpu_define(&definitions, "SHARED_BYTES", shared_bytes);
    return (row->split ? tamis_gpu_add_split_kernel : tamis_gpu_add_kernel)(p, number, row->file, row->name,
                                                                            &definitions, shared_bytes);
}

void tamis_gpu_keep(tamis_prepared *p, void *memory, size_t bytes) {
    if (!memory) return;
    p->kept[p->kept_count++] = memory;
    p->prepared_bytes += bytes;
}

tamis_status tamis_gpu_add_kept(tamis_prepared *p, void **memory, int64_t count, size_t size, const char *what) {
    const size_t bytes = tamis_bytes(count, size);
    TRY(tamis_gpu_allocate(p->device, tamis_kept_stream(&p->problem), bytes, what, memory));
    tamis_gpu_keep(p, *memory, bytes);
    return TAMIS_OK;
}

/* ------------------------------------------------------------------------------------------ arguments */

bool tamis_gpu_aligned(const tamis_gpu_device *device, const tamis_matrix *x, size_t size, size_t bytes) {
    /* OpenCL buffers are aligned to 128 bytes or more; a CUDA place is an address */
    const uintptr_t base = strcmp(device->runtime->name, "cuda") == 0 ? (uintptr_t)x->at.base : 0;
    const uint64_t stride = (uint64_t)x->stride * size;
    return (base + (uintptr_t)x->at.bytes) % bytes == 0 && stride % bytes == 0 &&
           (uint64_t)x->batch_stride * size % bytes == 0 && stride <= INT32_MAX;
}

int tamis_gpu_wide(const tamis_prepared *p, const tamis_operands *x) {
    const size_t size = tamis_type_size(p->problem.type);
    const tamis_matrix columns = {.at = {(void *)(uintptr_t)p->problem.columns, 0}};
    const size_t bytes = (size_t)p->unit * size;
    const bool rows = tamis_gpu_aligned(p->device, &x->a, size, bytes) &&
                      tamis_gpu_aligned(p->device, &x->b, size, bytes) &&
                      tamis_gpu_aligned(p->device, &x->d, size, bytes);
    return (rows ? 1 : 0) | (tamis_gpu_aligned(p->device, &columns, 1, 16) ? 2 : 0);
}

tamis_gpu_common tamis_gpu_common_of(const tamis_prepared *p, const tamis_operands *x) {
    const tamis_problem *const problem = &p->problem;
    const tamis_edge_text *const text = problem->edge_constants.text;
    return (tamis_gpu_common){
        .rows = problem->rows,
        .cols = problem->cols,
        .nnz = problem->nnz,
        .inner = problem->inner,
        .width = problem->width,
        .offsets = {(void *)(uintptr_t)problem->offsets, 0},
        .columns = {(void *)(uintptr_t)problem->columns, 0},
        .values = x->values.at,
        .a = x->a.at,
        .b = x->b.at,
        .d = x->d.at,
        .out = x->out.at,
        .pairs = x->softmax_rows,
        .a_stride = x->a.stride,
        .b_stride = x->b.stride,
        .d_stride = x->d.stride,
        .out_stride = x->out.stride,
        .values_batch_stride = x->values.batch_stride,
        .a_batch_stride = x->a.batch_stride,
        .b_batch_stride = x->b.batch_stride,
        .d_batch_stride = x->d.batch_stride,
        .out_batch_stride = x->out.batch_stride,
        .scratch_batch_stride = x->scratch_batch_stride / (int64_t)tamis_gpu_real_size(problem->type),
        .pairs_batch_stride = 2 * problem->rows,
        .edge_kind = problem->edge,
        .has_values = problem->has_values,
        .wide = tamis_gpu_wide(p, x),
        .keeps = x->softmax_rows.base != NULL,
        .edge_scale = text ? text->scalars[0] : problem->edge_constants.scale,
        .edge_slope = text ? text->scalars[1] : problem->edge_constants.slope,
        .edge_epsilon = text ? text->scalars[2] : problem->edge_constants.epsilon,
        .alpha = x->alpha,
        .beta = x->beta,
        .members = x->batch,
        .first_member = x->first_member,
        .arrays = tamis_gpu_arrays_of(text, x->named, problem->type),
    };
}

tamis_status tamis_gpu_launch_kernel(const tamis_prepared *p, void *stream, int number, tamis_gpu_launch launch,
                                     const tamis_gpu_common *common, const tamis_gpu_named *own) {
    const tamis_gpu_limits *const limits = &p->device->limits;
    tamis_gpu_argument values[TAMIS_GPU_PARAMETERS_MOST];
    if (launch.groups[0] > limits->groups_most[0] || launch.groups[1] > limits->groups_most[1])
        return tamis_fail(TAMIS_ERROR_OVERFLOW, "%s: %lld x %lld groups exceed the %lld x %lld of a launch on %s",
                          p->method->name, (long long)launch.groups[0], (long long)launch.groups[1],
                          (long long)limits->groups_most[0], (long long)limits->groups_most[1], limits->name);
    TRY(tamis_gpu_await_requests()); /* a plan that is still being made measures with its kernels */
    tamis_gpu_kernel *const kernel = p->narrow[number] && !(common->wide & 1) ? p->narrow[number] : p->kernels[number];
    TRY(tamis_gpu_bind(kernel, common, own, values));
    launch.members = common->members;
    return p->device->runtime->launch(p->device, stream, kernel, &launch, values, kernel->signature->count);
}

void tamis_gpu_add_arguments(tamis_prepared *p, const tamis_gpu_named *arguments) {
    while (arguments->name) p->made[p->made_count++] = *arguments++;
}

tamis_status tamis_gpu_launch_prepared(const tamis_prepared *p, void *stream, const tamis_gpu_common *common,
                                       const tamis_gpu_named *own) {
    tamis_gpu_named all[TAMIS_GPU_PARAMETERS_MOST + 1];
    int count = 0;
    while (count < p->made_count) {
        all[count] = p->made[count];
        count++;
    }
    while (own && own->name) all[count++] = *own++;
    all[count].name = NULL;
    return tamis_gpu_launch_kernel(p, stream, 0, p->launch, common, all);
}

tamis_status tamis_gpu_execute_prepared(const tamis_prepared *p, void *stream, const tamis_operands *x) {
    if (p->inner) return p->inner->method->execute(p->inner, stream, x);
    const tamis_gpu_common common = tamis_gpu_common_of(p, x);
    return tamis_gpu_launch_prepared(p, stream, &common, NULL);
}
