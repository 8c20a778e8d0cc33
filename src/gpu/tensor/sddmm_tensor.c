/* Host side of cuda/sddmm_tensor.cu: ours, panels on tensor cores with fp32 split into three products, or rounded to
   TF32 for one where math allows it. */
#include "base/status.h"
#include "gpu/methods.h"
#include "gpu/panels/panels_build.h"

enum { PART_COUNT }; /* numbers */
enum { SIDE = 128, GROUP = 256, SHARED_BYTES = 2 * 2 * SIDE * 36 * 4, WHOLE_CELLS = 1 << 30 };

static tamis_status prepare(tamis_prepared *p) {
    tamis_gpu_definitions definitions = {.used = 0};
    p->math = p->problem.math;
    if (p->problem.nnz == 0) return TAMIS_OK;
    tamis_gpu_define_problem(&definitions, p, GROUP, 32);
    tamis_gpu_define(&definitions, "PRODUCTS", p->math == TAMIS_MATH_TF32 ? 1 : 3);
    TRY(tamis_gpu_add_kernel(p, 0, "sddmm_tensor.cu", "sddmm_tensor", &definitions, SHARED_BYTES));
    return tamis_gpu_panels_keep(p, SIDE, SIDE, WHOLE_CELLS, &p->numbers[PART_COUNT]);
}

static tamis_status execute(const tamis_prepared *p, void *stream, const tamis_operands *x) {
    tamis_gpu_call call = {.count = 0};
    tamis_gpu_sddmm_arguments(p, x, &call);
    tamis_gpu_add_batch(p, x, &call);
    tamis_gpu_panels_arguments(p, SIDE, &call);
    return tamis_gpu_launch_kernel(p, stream, 0, p->numbers[PART_COUNT], 1, GROUP, SHARED_BYTES, &call);
}

const tamis_gpu_method tamis_gpu_sddmm_tensor = {
    .name = "gpu-tensor", .prepare = prepare, .execute = execute, .batches = true};
