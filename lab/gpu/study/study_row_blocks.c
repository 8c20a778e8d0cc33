/*
 * Host side of study_row_blocks.simt (Lin, Hsu, Chen: SpMM, SDDMM and SDDMM_SpMM Kernels, s.5.4). The pattern of a plan
 * is fixed, so the plan computes the block offsets once, on the device; the host never reads them.
 */
#include "base/status.h"
#include "gpu/compile/utility.h"
#include "gpu/structure/sort.h"
#include "lab/gpu/study/study.h"

enum { SAMPLE, COUNT }; /* kernels */

static tamis_status make_offsets(tamis_prepared *p, void *block_offsets) {
    tamis_status status = TAMIS_OK;
    const int64_t count = p->problem.rows + 1;
    void *sums = NULL;
    const tamis_gpu_common common = {
        .members = 1, .rows = p->problem.rows, .offsets = {(void *)(uintptr_t)p->problem.offsets, 0}};
    const tamis_gpu_launch launch = tamis_study_grid(p, tamis_study_blocks(p, count), 1);
    TRY_GOTO(done, tamis_gpu_allocate(p->device, p->problem.stream, tamis_gpu_scan_scratch(count),
                                      "sums of block counts", &sums));
    TRY_GOTO(done, tamis_gpu_launch_kernel(p, p->problem.stream, COUNT, launch, &common,
                                           TAMIS_GPU_ARGUMENTS(tamis_gpu_memory("blocks", block_offsets))));
    TRY_GOTO(done, tamis_gpu_scan(p->device, p->problem.stream, (tamis_place){block_offsets, 0}, count,
                                  (tamis_place){sums, 0}));
done:
    tamis_gpu_release(p->device, p->problem.stream, sums);
    return status;
}

static tamis_status prepare(tamis_prepared *p) {
    void *block_offsets = NULL; /* int64, rows + 1 */
    const int64_t nnz = p->problem.nnz;
    TRY(tamis_study_prepare(p));
    if (nnz == 0) return TAMIS_OK;
    TRY(tamis_study_kernel(p, COUNT));
    TRY(tamis_gpu_add_kept(p, &block_offsets, p->problem.rows + 1, sizeof(int64_t), "block offsets"));
    tamis_gpu_add_arguments(p, TAMIS_GPU_ARGUMENTS(tamis_gpu_memory("block_offsets", block_offsets)));
    /* upper bound of the number of blocks: whole ones and one more per row, but no more than nonzeros */
    p->launch = tamis_study_grid(p, tamis_gpu_min(nnz / p->parameters[TAMIS_STUDY_BLOCK] + p->problem.rows, nnz), 1);
    return make_offsets(p, block_offsets);
}

const tamis_gpu_algorithm tamis_study_row_blocks = {
    TAMIS_LAB_ROW(TAMIS_OP_SDDMM, "study-row-blocks", PAPER_STUDY ", s.5.4",
                  "blocks per row counted and summed on the device by the plan, 8 bytes per row",
                  "for comparison: as study-thread-map, without the host", TAMIS_STUDY_SLICE_TEXT, TAMIS_STUDY_SLICED,
                  .defaults = tamis_study_row_defaults, .prepare = prepare, .execute = tamis_gpu_execute_prepared,
                  .kernels = {[SAMPLE] = {"study_row_blocks.simt", "row_blocks", .split = true},
                              [COUNT] = {"study_row_blocks.simt", "count_row_blocks"}}),
    .relative = 3,
};
