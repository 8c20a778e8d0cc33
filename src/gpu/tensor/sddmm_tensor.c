/*
 * gpu-tensor, our own method: panels on tensor cores with the accuracy of fp32, or rounded to TF32 if math allows it.
 * If columns are sorted, by cells with sddmm_wgmma.cu, spmm_wgmma.cu, fused_wgmma.cu and fused_narrow.cu, whose
 * products are wgmma or mma.sync (form.h). SDDMM in fp32 with unsorted columns uses sddmm_tensor.cu, whose host side is
 * here.
 */
#include <stdio.h>
#include <string.h>

#include "base/status.h"
#include "gpu/methods.h"
#include "gpu/model.h"
#include "gpu/panels/panels_build.h"
#include "gpu/tensor/wgmma.h"

enum { SIDE = 128, GROUP = 256, SHARED_BYTES = 2 * 2 * SIDE * 36 * 4, WHOLE_CELLS = 1 << 30 };

static bool accepts(const tamis_problem *problem, char *reason, size_t bytes) {
    const tamis_gpu_device *const device = problem->device;
    enum { ARCHITECTURE = 80, SHARED = 72 << 10 };
    const char *why = NULL;
    if (strcmp(device->runtime->name, "cuda") != 0)
        why = "tensor cores are programmed for CUDA only";
    else if (problem->type == TAMIS_F64)
        why = "fp16 numbers do not hold those of fp64: it does not support the type";
    else if (tamis_gpu_compute_capability(device) < ARCHITECTURE || device->limits.shared_most < SHARED)
        why = "it needs tensor cores for TF32 and 72 KiB of shared memory: compute capability 8.0 and up";
    else if (problem->operation == TAMIS_OP_SPMM && !tamis_wgmma_takes(problem, &problem->evidence->profile))
        why = "SpMM needs a nonzero, and sorted columns without duplicates";
    else if (problem->operation == TAMIS_OP_FUSED && !tamis_wgmma_takes(problem, &problem->evidence->profile))
        why =
            "fused needs the edge softmax, or that of a text of up to 48 steps without entry arrays, K and L up to 128 (256 "
            "in 16 bits without values, on compute capability 9.0), a nonzero, and sorted columns without duplicates";
    else if (problem->type != TAMIS_F32 && !tamis_wgmma_takes(problem, &problem->evidence->profile))
        why = "SDDMM of 16 bits needs sorted columns";
    const bool unlisted = problem->mask && problem->operation == TAMIS_OP_FUSED && tamis_fused_wgmma.unlisted(problem);
    if (!why && unlisted) return true; /* no place of an entry is kept */
    if (!why) return tamis_gpu_cells_accept(problem, reason, bytes);
    snprintf(reason, bytes, "%s", why);
    return false;
}

/* With one product of TF32 instead of three, the time is derived, not measured: a third of the products, two fifths of
   the instructions and all of the copies. */
static double seconds_of(const tamis_problem *p, double cells) {
    enum { CELL = 8, COLUMN = 12 }; /* over the cells of 64 x 64 of wgmma: its own are of 128 x 128, by mma.sync */
    static const double HALF = 0.5;
    const tamis_gpu_rates *const f = tamis_gpu_rates_of(p);
    const double inner = (double)p->inner, share = p->math == TAMIS_MATH_TF32 ? HALF : 1;
    const double cell = CELL * f->cell.cell_ps + share * COLUMN * f->cell.column_ps * inner;
    const double picoseconds = cells * cell + (double)p->nnz * f->cell_nonzero_ps;
    return tamis_gpu_launched(p, tamis_gpu_issue(p, picoseconds)) + f->begin;
}

static void predict(const tamis_problem *p, tamis_prediction *prediction) {
    if (p->operation == TAMIS_OP_FUSED) {
        double cells;
        prediction->call_seconds = tamis_fused_wgmma_seconds(p, &cells);
        prediction->setup_seconds = tamis_gpu_cells_seconds(p);
        if (p->once) return;
        snprintf(prediction->reason, sizeof prediction->reason,
                 "about %.3g cells of 64 x 64 scores%s, %.1f %% of them wanted, in one pass; the cells are sorted once",
                 cells, p->type == TAMIS_F32 ? " of inputs split into two of eleven bits" : "",
                 100 * (double)p->nnz / (64 * 64 * cells));
        return;
    }
    const bool by_wgmma = tamis_wgmma_takes(p, &p->evidence->profile), spmm = p->operation == TAMIS_OP_SPMM;
    tamis_wgmma_cells cells = {.side = SIDE, .count = tamis_gpu_cells_about(p, SIDE)};
    if (spmm)
        cells.seconds = tamis_spmm_wgmma_seconds(p, cells.count);
    else if (by_wgmma)
        cells = tamis_wgmma_predict(p);
    else
        cells.seconds = seconds_of(p, cells.count);
    prediction->call_seconds = cells.seconds;
    prediction->setup_seconds = tamis_gpu_cells_seconds(p);
    if (p->once) return; /* single calls report no reason */
    snprintf(prediction->reason, sizeof prediction->reason,
             "about %.3g cells of %d x %d %s%s, %.1f %% of them %s; the cells are sorted once", cells.count, cells.side,
             cells.side, spmm ? "numbers of S" : "products",
             p->type != TAMIS_F32         ? ""
             : p->math == TAMIS_MATH_TF32 ? " of inputs rounded to TF32"
                                          : " of inputs split into two of eleven bits",
             cells.count > 0 ? 100 * (double)p->nnz / (cells.side * cells.side * cells.count) : 0,
             spmm ? "not 0" : "wanted");
}

typedef struct tensor_state {
    bool by_wgmma;
    tamis_wgmma wgmma;
    tamis_gpu_cells cells; /* if not by_wgmma */
} tensor_state;

static tamis_status prepare(tamis_prepared *p) {
    tamis_gpu_definitions definitions = {.used = 0};
    tensor_state *const state = p->state;
    p->math = p->problem.math;
    if (p->problem.nnz == 0) return TAMIS_OK;
    state->by_wgmma = tamis_wgmma_takes(&p->problem, &p->profile);
    if (state->by_wgmma) return tamis_wgmma_prepare(p, &state->wgmma);
    tamis_gpu_define_problem(&definitions, p, GROUP, 32);
    tamis_gpu_define(&definitions, "PRODUCTS", p->math == TAMIS_MATH_TF32 ? 1 : 3);
    TRY(tamis_gpu_add_kernel(p, 0, "sddmm_tensor.cu", "sddmm_tensor", &definitions, SHARED_BYTES));
    return tamis_gpu_cells_build(p, SIDE, SIDE, WHOLE_CELLS, &state->cells);
}

static tamis_status execute(const tamis_prepared *p, void *stream, const tamis_operands *x) {
    const tensor_state *const state = p->state;
    if (state->by_wgmma) return tamis_wgmma_execute(p, stream, x, &state->wgmma);
    const tamis_gpu_common common = tamis_gpu_common_of(p, x);
    const tamis_gpu_launch launch = {
        .groups = {state->cells.part_count, 1}, .group_size = GROUP, .shared_bytes = SHARED_BYTES};
    return tamis_gpu_launch_kernel(p, stream, 0, launch, &common, TAMIS_GPU_CELLS_ARGUMENTS(&state->cells));
}

static const tamis_gpu_method method = {
    .name = "gpu-tensor", .prepare = prepare, .execute = execute, .state_bytes = sizeof(tensor_state), .batches = true};

const tamis_gpu_algorithm tamis_gpu_tensor = {
    .common.description =
        {
            .name = "gpu-tensor",
            .device = "gpu",
            .operations = TAMIS_GPU_ALL,
            .source = "ours",
            .needs =
                "the cells of gpu-panels; CUDA of compute capability 8.0 and up; fp32, fp16 and bf16; sorted columns, except for SDDMM in "
                "fp32, and scratch of the size of A, B and D; fused: softmax, also of an expression, K and L up to 128, on 9.0 in 16 bits without values 256",
            .when =
                "panels of 128 rows in which one product in fifteen or more is needed, on compute capability 9.0 one in "
                "forty: meshes, attention, genes, densities from 3 per cent on; SpMM: genes, densities from 10 per cent on; "
                "fused: attention, in one pass",
            .parameters = "",
        },
    .common.needs_preparation = true,
    .methods = {[TAMIS_OP_SDDMM] = &method, [TAMIS_OP_SPMM] = &tamis_spmm_wgmma, [TAMIS_OP_FUSED] = &tamis_fused_wgmma},
    .predict = predict,
    .also = accepts,
};
