/* A GPU's ceilings. */
#include "gpu/ceilings.h"

#include "base/status.h"

tamis_status tamis_gpu_measure_ceilings(const tamis_gpu_runtime *runtime, int number, tamis_ceilings *ceilings) {
    (void)number;
    (void)ceilings;
    return tamis_fail(TAMIS_ERROR_UNSUPPORTED, "%s: no probe yet", runtime->name);
}

tamis_ceilings tamis_gpu_default_ceilings(void) {
    return (tamis_ceilings){.threads = 1,
                            .fp32_gflops = {50000, 50000},
                            .fp64_gflops = {25000, 25000},
                            .l1_gbs = {25000, 25000},
                            .l2_gbs = {8000, 8000},
                            .l3_gbs = {8000, 8000},
                            .memory_gbs = {4000, 4000},
                            .gather_gbs = {{9000, 9000, 8500, 6000, 4500, 4000}, {9000, 9000, 8500, 6000, 4500, 4000}},
                            .gather_bytes = {1 << 20, 16 << 20, 50 << 20, 100 << 20, 512 << 20, 1 << 30}};
}
