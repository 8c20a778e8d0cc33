#include "lab/gpu/cusddmm/cusddmm.h"

#include "base/status.h"

enum { WHOLE, FIRST, MIDDLE, LAST }; /* modes of the kernels */

tamis_status tamis_cusddmm_execute(const tamis_prepared *p, void *stream, const tamis_operands *x,
                                   const tamis_cusddmm_launch *launch) {
    enum { PREPARED_MOST = 16, MORE = 10 };
    const tamis_gpu_common common = tamis_gpu_common_of(p, x);
    const int64_t slices = tamis_cusddmm_slices(&p->problem, launch->tk);
    const bool swap = launch->swap;
    for (int64_t i = 0; i < slices; i++) {
        const int mode = slices == 1 ? WHOLE : i == 0 ? FIRST : i == slices - 1 ? LAST : MIDDLE;
        tamis_gpu_named own[PREPARED_MOST + MORE];
        int count = 0;
        for (const tamis_gpu_named *from = launch->prepared; from->name; from++) own[count++] = *from;
        own[count++] = tamis_gpu_place("panel", swap ? x->b : x->a);
        own[count++] = tamis_gpu_integer("panel_stride", swap ? x->b_stride : x->a_stride);
        if (launch->with_rows) own[count++] = tamis_gpu_integer("panel_rows", swap ? common.cols : common.rows);
        own[count++] = tamis_gpu_place("tiled", swap ? x->a : x->b);
        own[count++] = tamis_gpu_integer("tiled_stride", swap ? x->a_stride : x->b_stride);
        if (launch->with_rows) own[count++] = tamis_gpu_integer("tiled_rows", swap ? common.rows : common.cols);
        own[count++] = tamis_gpu_integer("slice", i * launch->tk);
        own[count++] = tamis_gpu_place("sums", slices > 1 ? x->scratch : (tamis_place){NULL, 0});
        own[count++] = tamis_gpu_integer("mode", mode);
        own[count] = (tamis_gpu_named){.name = NULL};
        TRY(tamis_gpu_launch_kernel(p, stream, 0, launch->grid, &common, own));
    }
    return TAMIS_OK;
}
