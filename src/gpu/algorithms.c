/*
 * The GPU's algorithms: one row each in the table at the end, in the order of the catalogue. A row says what it needs
 * of the problem and the device; how it works is in its method (src/gpu/methods) and its kernel (src/gpu/kernels).
 */
#include "gpu/algorithms.h"

#include <stdio.h>
#include <string.h>

#include "gpu/methods/methods.h"
#include "gpu/predict.h"

enum {
    SDDMM = 1u << TAMIS_OP_SDDMM,
    SPMM = 1u << TAMIS_OP_SPMM,
    FUSED = 1u << TAMIS_OP_FUSED,
    ALL = SDDMM | SPMM | FUSED
};

/* What a row needs, beside its methods by operation. */
typedef struct traits {
    const tamis_gpu_method *methods[3];
    bool sorted;     /* columns must rise within rows */
    bool cuda_only;  /* launches kernels from a kernel */
    bool no_softmax; /* of fused: rows are not seen as a whole */
    tamis_gpu_predictor *predict;
} traits;

static bool decline(char *reason, size_t bytes, const char *why) {
    snprintf(reason, bytes, "%s", why);
    return false;
}

static bool accepts(const tamis_algorithm *self, const tamis_problem *problem, char *reason, size_t bytes) {
    const traits *const t = self->method;
    const tamis_gpu_device *const device = problem->device;
    if (problem->type == TAMIS_F64 && !device->limits.has_fp64)
        return decline(reason, bytes, "the device has no fp64 arithmetic");
    if (t->cuda_only && strcmp(device->runtime->name, "cuda") != 0)
        return decline(reason, bytes, "kernels that launch kernels exist on CUDA only, not in OpenCL 1.2");
    if (self->description.any_order && problem->deterministic)
        return decline(reason, bytes,
                       "it adds floats atomically, in whatever order: ask for it with deterministic = false");
    if (t->sorted && !problem->profile->sorted)
        return decline(reason, bytes, "it walks tiles of columns: they must rise within every row (tamis_sort)");
    if (t->no_softmax && problem->operation == TAMIS_OP_FUSED && problem->edge == TAMIS_EDGE_SOFTMAX)
        return decline(reason, bytes, "a row's softmax needs the whole row, and it sees blocks of rows by themselves");
    return true;
}

static void predict(const tamis_algorithm *self, const tamis_problem *problem, tamis_prediction *prediction) {
    const traits *const t = self->method;
    t->predict(problem, prediction);
}

static tamis_status prepare(const tamis_algorithm *self, const tamis_problem *problem, bool dry,
                            tamis_prepared **prepared) {
    const traits *const t = self->method;
    return tamis_gpu_prepare(t->methods[problem->operation], problem, dry, prepared);
}

static const traits nonzeros = {.methods = {&tamis_gpu_sddmm_nonzeros, &tamis_gpu_spmm_chunks, &tamis_gpu_fused_chunks},
                                .predict = tamis_gpu_predict_nonzeros};

static const traits panels = {.methods = {&tamis_gpu_sddmm_panels}, .predict = tamis_gpu_predict_panels};

static const tamis_algorithm algorithms[] = {
    {{"gpu-nonzeros", "gpu", ALL, "ours; ideas of paper 001",
      "the row of each nonzero (sddmm) or the split (others), written by the plan",
      "rows of any length, hubs; one call; rows of B that few rows of S share",
      "team (1 to 32): lanes a row of B; batch (4, 8): nonzeros a team reduces at once; loads (1 to 8): rows of B under "
      "way; pieces (1 to 8): 16-byte pieces a lane reads of a row; group (32 to 1024): work-items; chunk: nonzeros a "
      "group (sddmm); items: nonzeros and rows a team (spmm, fused)",
      false, false},
     false,
     &nonzeros,
     accepts,
     predict,
     prepare},
    {{"gpu-panels", "gpu", SDDMM, "ours; ideas of papers 000 and 004",
      "nonzeros sorted into cells by the plan, on the device: 12 bytes a nonzero",
      "rows near each other share columns: densities of some per cent, meshes; a plan of several calls",
      "panel (1 to 65536): rows of a panel; columns: rows of B in shared memory; part: nonzeros a group; team (1 to 32): "
      "lanes a row of B; batch (4 to 16): nonzeros a team reduces at once; pieces (1 to 8): 16-byte pieces a lane holds "
      "of a row; group (32 to 1024): work-items",
      false, false},
     true,
     &panels,
     accepts,
     predict,
     prepare},
};

const tamis_algorithm *tamis_gpu_algorithm_table(int *count) {
    *count = (int)(sizeof algorithms / sizeof algorithms[0]);
    return algorithms;
}
