/*
 * Host side of study_row_blocks.simt (Lin, Hsu, Chen: SpMM, SDDMM and SDDMM_SpMM Kernels, s.5.4). The pattern of a plan
 * is fixed, so the block offsets are made with the plan, on the device; the host never sees them.
 */
#include "base/status.h"
#include "gpu/launch/utility.h"
#include "gpu/methods.h"
#include "gpu/papers/study/study.h"
#include "gpu/structure/sort.h"

enum { SAMPLE, COUNT }; /* kernels */
enum { BLOCK_OFFSETS }; /* kept memory: int64, rows + 1 of them */

static tamis_status make_offsets(tamis_prepared *p) {
    tamis_status status = TAMIS_OK;
    const int64_t count = p->problem.rows + 1, block = p->parameters[TAMIS_STUDY_BLOCK];
    const int64_t groups = tamis_study_groups(p, 0, tamis_study_blocks(count, block));
    void *sums = NULL;
    tamis_gpu_call call = {.count = 0};
    TRY_GOTO(done, tamis_gpu_allocate(p->device, p->problem.stream, tamis_gpu_scan_scratch(count),
                                      "sums of block counts", &sums));
    tamis_gpu_add_int64(&call, p->problem.rows);
    tamis_gpu_add_memory(&call, p->problem.offsets);
    tamis_gpu_add_memory(&call, p->memories[BLOCK_OFFSETS]);
    TRY_GOTO(done, tamis_gpu_launch_kernel(p, p->problem.stream, COUNT, groups, 1, (int)block, 0, &call));
    TRY_GOTO(done,
             tamis_gpu_scan(p->device, p->problem.stream, p->memories[BLOCK_OFFSETS], count, (tamis_place){sums, 0}));
done:
    tamis_gpu_release(p->device, p->problem.stream, sums);
    return status;
}

static tamis_status prepare(tamis_prepared *p) {
    static const char *const file = "study_row_blocks.simt";
    tamis_gpu_definitions definitions = {.used = 0};
    TRY(tamis_study_block(p));
    tamis_study_slice(p, 0);
    if (p->problem.nnz == 0) return TAMIS_OK;
    tamis_study_define(&definitions, p);
    tamis_gpu_define(&definitions, "SLICE", p->parameters[TAMIS_STUDY_SLICE]);
    TRY(tamis_gpu_add_kernel(p, SAMPLE, file, "row_blocks", &definitions, 0));
    TRY(tamis_gpu_add_kernel(p, COUNT, file, "count_row_blocks", &definitions, 0));
    TRY(tamis_gpu_add_kept(p, BLOCK_OFFSETS, p->problem.rows + 1, sizeof(int64_t), "block offsets"));
    return make_offsets(p);
}

/* At most as many blocks as whole ones and one more a row, and never more than nonzeros. */
static tamis_status execute(const tamis_prepared *p, void *stream, const tamis_operands *x) {
    const int64_t block = p->parameters[TAMIS_STUDY_BLOCK], nnz = p->problem.nnz;
    const int64_t bound = nnz / block + p->problem.rows;
    tamis_gpu_call call = {.count = 0};
    tamis_gpu_sddmm_arguments(p, x, &call);
    tamis_gpu_add_memory(&call, p->memories[BLOCK_OFFSETS]);
    return tamis_gpu_launch_kernel(p, stream, SAMPLE, tamis_study_groups(p, 0, bound < nnz ? bound : nnz), 1,
                                   (int)block, 0, &call);
}

const tamis_gpu_method tamis_gpu_row_blocks = {
    .name = "study-row-blocks",
    .parameters = {{"block", 16, 1024}, {"slice", 8, 4096}},
    .defaults = tamis_study_row_defaults,
    .prepare = prepare,
    .execute = execute,
};
