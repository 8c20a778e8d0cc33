/* gpu-nonzeros: SDDMM by equal nonzeros, SpMM and fused by equal shares of nonzeros and rows. */
#include "base/papers.h"
#include "gpu/methods.h"
#include "gpu/nonzeros/chunks.h"
#include "gpu/nonzeros/prediction.h"
#include "gpu/nonzeros/sddmm_nonzeros.h"

const tamis_gpu_algorithm tamis_gpu_nonzeros = {
    .common.description =
        {
            .name = "gpu-nonzeros",
            .device = "gpu",
            .operations = TAMIS_GPU_ALL,
            .source = "ours; ideas of " PAPER_PREDS,
            .needs =
                "the row of each nonzero (sddmm) or the split (others), written by the plan; scratch for sums where K comes in slices",
            .when = "rows of any length, hubs; one call; rows of B that few rows of S share",
            .parameters =
                "team (1 to 32): lanes per row of B; batch (4, 8): nonzeros that a team reduces at once; loads (1 to 8): rows of B in flight; pieces (1 to 8): 16-byte pieces that a lane reads of a row at most; group (32 to 1024): work-items; chunk: nonzeros per group, run: consecutive batches per team, slice: elements of K per launch (0 by the model), walk (0 to 2): no row of A stays in registers (1), but one that a warp has alone is read once (2), registers (0 to 255): that a work-item may have at most, 0 by the compiler (sddmm); items: nonzeros and rows per team (spmm, fused)",
        },
    .methods = {[TAMIS_OP_SDDMM] = &tamis_gpu_sddmm_nonzeros,
                [TAMIS_OP_SPMM] = &tamis_gpu_spmm_chunks,
                [TAMIS_OP_FUSED] = &tamis_gpu_fused_chunks},
    .predict = tamis_gpu_predict_nonzeros,
};
