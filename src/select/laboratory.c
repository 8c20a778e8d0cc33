#include "select/laboratory.h"

#include <string.h>

static const char *const of_cpu[] = {"esimd-row-simd", NULL};
static const char *const of_gpu[] = {"gpudynamic-shared",
                                     "gpudynamic-preprocessing",
                                     "gpudynamic-convert",
                                     "gpudynamic-dynamic",
                                     "preds",
                                     "study-nnz-threads",
                                     "study-thread-map",
                                     "study-nnz-threads-shared",
                                     "study-row-blocks",
                                     "study-dense-grid",
                                     "study-child-kernels",
                                     "study-spmm-row",
                                     "study-spmm-shared",
                                     "study-spmm-shared-swapped",
                                     "study-fused-back-to-back",
                                     "study-fused-dense-grid",
                                     "esimd-row-simd",
                                     "cusddmm-sm-l2",
                                     "cusddmm-sm-sm",
                                     NULL};

bool tamis_laboratory_has(tamis_location location, const char *name) {
    const char *const *names = location == TAMIS_HOST ? of_cpu : of_gpu;
    while (*names && strcmp(*names, name) != 0) names++;
    return *names != NULL;
}
