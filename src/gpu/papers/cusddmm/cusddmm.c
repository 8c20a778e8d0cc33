#include "gpu/papers/cusddmm/cusddmm.h"

#include "base/status.h"

enum { WHOLE, FIRST, MIDDLE, LAST }; /* modes of the kernels */

tamis_status tamis_cusddmm_execute(const tamis_prepared *p, void *stream, const tamis_operands *x,
                                   const tamis_cusddmm_launch *launch) {
    const tamis_problem *const problem = &p->problem;
    const int64_t slices = tamis_cusddmm_slices(problem, launch->tk);
    for (int64_t i = 0; i < slices; i++) {
        const int mode = slices == 1 ? WHOLE : i == 0 ? FIRST : i == slices - 1 ? LAST : MIDDLE;
        tamis_gpu_call call = launch->arguments;
        tamis_gpu_add_place(&call, x->values);
        tamis_gpu_add_place(&call, launch->swap ? x->b : x->a);
        tamis_gpu_add_int64(&call, launch->swap ? x->b_stride : x->a_stride);
        if (launch->with_rows) tamis_gpu_add_int64(&call, launch->swap ? problem->cols : problem->rows);
        tamis_gpu_add_place(&call, launch->swap ? x->a : x->b);
        tamis_gpu_add_int64(&call, launch->swap ? x->a_stride : x->b_stride);
        if (launch->with_rows) tamis_gpu_add_int64(&call, launch->swap ? problem->rows : problem->cols);
        tamis_gpu_add_int64(&call, problem->inner);
        tamis_gpu_add_int64(&call, i * launch->tk);
        tamis_gpu_add_place(&call, x->out);
        tamis_gpu_add_place(&call, slices > 1 ? x->scratch : (tamis_place){NULL, 0});
        tamis_gpu_add_int32(&call, mode);
        tamis_gpu_add_edge(p, x, &call);
        tamis_gpu_add_int32(&call, tamis_gpu_wide(p, x));
        TRY(tamis_gpu_launch_kernel(p, stream, 0, launch->groups, 1, launch->group, launch->shared_bytes, &call));
    }
    return TAMIS_OK;
}
