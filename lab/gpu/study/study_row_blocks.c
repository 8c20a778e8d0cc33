/*
 * Host side of study_row_blocks.simt (Lin, Hsu, Chen: SpMM, SDDMM and SDDMM_SpMM Kernels, s.5.4). The pattern of a plan
 * is fixed, so the plan computes the block offsets once, on the device; the host never reads them.
 */
#include "base/papers.h"
#include "base/status.h"
#include "gpu/compile/utility.h"
#include "gpu/structure/sort.h"
#include "lab/gpu/methods.h"
#include "lab/gpu/study/study.h"

enum { SAMPLE, COUNT }; /* kernels */

typedef struct row_blocks_state {
    void *block_offsets; /* int64, rows + 1 */
} row_blocks_state;

static tamis_status make_offsets(tamis_prepared *p) {
    tamis_status status = TAMIS_OK;
    const int64_t count = p->problem.rows + 1, block = p->parameters[TAMIS_STUDY_BLOCK];
    const int64_t groups = tamis_study_groups(p, 0, tamis_study_blocks(count, block));
    void *sums = NULL, *const block_offsets = ((row_blocks_state *)p->state)->block_offsets;
    const tamis_gpu_common common = {
        .members = 1, .rows = p->problem.rows, .offsets = {(void *)(uintptr_t)p->problem.offsets, 0}};
    const tamis_gpu_launch launch = {.groups = {groups, 1}, .group_size = (int)block};
    TRY_GOTO(done, tamis_gpu_allocate(p->device, p->problem.stream, tamis_gpu_scan_scratch(count),
                                      "sums of block counts", &sums));
    TRY_GOTO(done, tamis_gpu_launch_kernel(p, p->problem.stream, COUNT, launch, &common,
                                           TAMIS_GPU_ARGUMENTS(tamis_gpu_memory("blocks", block_offsets))));
    TRY_GOTO(done, tamis_gpu_scan(p->device, p->problem.stream, block_offsets, count, (tamis_place){sums, 0}));
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
    TRY(tamis_gpu_add_split_kernel(p, SAMPLE, file, "row_blocks", &definitions, 0));
    TRY(tamis_gpu_add_kernel(p, COUNT, file, "count_row_blocks", &definitions, 0));
    TRY(tamis_gpu_add_kept(p, &((row_blocks_state *)p->state)->block_offsets, p->problem.rows + 1, sizeof(int64_t),
                           "block offsets"));
    return make_offsets(p);
}

/* Upper bound of the number of blocks: whole ones and one more per row, but no more than nonzeros. */
static tamis_status execute(const tamis_prepared *p, void *stream, const tamis_operands *x) {
    const int64_t block = p->parameters[TAMIS_STUDY_BLOCK], nnz = p->problem.nnz;
    const int64_t bound = nnz / block + p->problem.rows;
    const tamis_gpu_common common = tamis_gpu_common_of(p, x);
    const tamis_gpu_launch launch = {.groups = {tamis_study_groups(p, 0, bound < nnz ? bound : nnz), 1},
                                     .group_size = (int)block};
    return tamis_gpu_launch_kernel(
        p, stream, SAMPLE, launch, &common,
        TAMIS_GPU_ARGUMENTS(tamis_gpu_memory("block_offsets", ((const row_blocks_state *)p->state)->block_offsets)));
}

static const tamis_gpu_method method = {
    .name = "study-row-blocks",
    .parameters = {{"block", 16, 1024}, {"slice", 8, 4096}},
    .defaults = tamis_study_row_defaults,
    .prepare = prepare,
    .execute = execute,
    .state_bytes = sizeof(row_blocks_state),
};

const tamis_gpu_algorithm tamis_study_row_blocks = {
    .common.description =
        {
            .name = "study-row-blocks",
            .device = "gpu",
            .operations = TAMIS_GPU_SDDMM,
            .source = PAPER_STUDY ", s.5.4",
            .needs = "blocks per row counted and summed on the device by the plan, 8 bytes per row",
            .when = "for comparison: as study-thread-map, without the host",
            .parameters = "block (16 to 1024): work-items; slice (8 to 4096): elements of A in shared memory",
        },
    .methods = {[TAMIS_OP_SDDMM] = &method},
    .relative = 3,
};
