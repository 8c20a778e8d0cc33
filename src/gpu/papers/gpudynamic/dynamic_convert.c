/*
 * Host side of dynamic_convert.simt: CSR becomes COO at every call, then equal nonzeros a work-item (Costa et al.:
 * Efficient SDDMM Algorithms on GPU, s.5).
 */
#include "base/status.h"
#include "gpu/launch/utility.h"
#include "gpu/methods.h"
#include "gpu/structure/sort.h"

enum { BLOCK, GRID };
enum { SHARE = 0 }; /* numbers: nonzeros a work-item */
enum { AT_ONCE = 4 };

static void defaults(const tamis_problem *problem, const tamis_gpu_device *device, int64_t *parameters) {
    (void)problem;
    parameters[BLOCK] = device->limits.is_cpu ? 32 : 128;
    parameters[GRID] = 0; /* as many as give each work-item one step */
}

static tamis_status prepare(tamis_prepared *p) {
    int64_t *const v = p->parameters;
    const tamis_problem *const problem = &p->problem;
    tamis_gpu_definitions definitions = {.used = 0};
    TRY(tamis_gpu_check_powers(p, BLOCK, BLOCK));
    if (v[BLOCK] > p->device->limits.group_most) v[BLOCK] = p->device->limits.group_most;
    const int64_t most = p->device->limits.groups_most[0], grid = v[GRID] && v[GRID] < most ? v[GRID] : most;
    const int64_t each = (problem->nnz - 1) / (grid * v[BLOCK]) + 1; /* AT_ONCE, if groups are not counted */
    p->numbers[SHARE] = problem->nnz > 0 ? (each + AT_ONCE - 1) / AT_ONCE * AT_ONCE : AT_ONCE;
    p->scratch_bytes = (size_t)problem->nnz * tamis_index_size(problem->index_type);
    if (problem->nnz == 0) return TAMIS_OK;
    tamis_gpu_define_problem(&definitions, p, (int)v[BLOCK], 1);
    tamis_gpu_define_inner(&definitions, p, problem->inner, 1, 1);
    TRY(tamis_gpu_add_kernel(p, 0, "dynamic_convert.simt", "dynamic_convert", &definitions, 0));
    return tamis_gpu_utility_ready(p->device, "expand.simt", "expand_rows",
                                   (tamis_gpu_kinds){TAMIS_F32, problem->index_type, problem->offset_type});
}

/* The conversion, on the caller's stream and into scratch that may begin at a distance within a buffer. */
static tamis_status write_rows(const tamis_prepared *p, void *stream, tamis_place rows) {
    const tamis_problem *const problem = &p->problem;
    const int64_t chunk = 8 * TAMIS_GPU_GROUP;
    tamis_gpu_call call = {.count = 0};
    tamis_gpu_add_int64(&call, problem->rows);
    tamis_gpu_add_int64(&call, problem->nnz);
    tamis_gpu_add_memory(&call, problem->offsets);
    tamis_gpu_add_place(&call, rows);
    return tamis_gpu_utility(p->device, stream, "expand.simt", "expand_rows",
                             (tamis_gpu_kinds){TAMIS_F32, problem->index_type, problem->offset_type},
                             (problem->nnz + chunk - 1) / chunk, &call);
}

static tamis_status execute(const tamis_prepared *p, void *stream, const tamis_operands *x) {
    const int64_t group = p->parameters[BLOCK], each = p->numbers[SHARE] * group;
    tamis_gpu_call call = {.count = 0};
    TRY(write_rows(p, stream, x->scratch));
    tamis_gpu_sddmm_arguments(p, x, &call);
    tamis_gpu_add_place(&call, x->scratch);
    tamis_gpu_add_int64(&call, p->numbers[SHARE]);
    return tamis_gpu_launch_kernel(p, stream, 0, (p->problem.nnz + each - 1) / each, 1, (int)group, 0, &call);
}

const tamis_gpu_method tamis_gpu_convert = {
    .name = "gpudynamic-convert",
    .parameters = {{"block", 32, 1024}, {"grid", 0, 1 << 30}},
    .defaults = defaults,
    .prepare = prepare,
    .execute = execute,
};
