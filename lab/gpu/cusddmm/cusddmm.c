#include "lab/gpu/cusddmm/cusddmm.h"

#include "base/status.h"

enum { WHOLE, FIRST, MIDDLE, LAST }; /* modes of the kernels */

void tamis_cusddmm_set(tamis_prepared *p, int64_t tk, int64_t stream, int64_t block, int64_t shared_bytes) {
    tamis_cusddmm_state *const s = p->state;
    *s = (tamis_cusddmm_state){
        .tk = tk, .slices = tamis_cusddmm_slices(&p->problem, tk), .swap = tamis_cusddmm_swaps(&p->problem, stream)};
    if (s->slices > 1) p->scratch_bytes = tamis_gpu_sample_bytes(&p->problem);
    p->launch = (tamis_gpu_launch){.groups = {0, 1}, .group_size = (int)block, .shared_bytes = shared_bytes};
}

tamis_status tamis_cusddmm_execute(const tamis_prepared *p, void *stream, const tamis_operands *x) {
    if (p->inner) return tamis_cusddmm_execute(p->inner, stream, x);
    const tamis_cusddmm_state *const s = p->state;
    const tamis_gpu_common common = tamis_gpu_common_of(p, x);
    for (int64_t i = 0; i < s->slices; i++) {
        const int mode = s->slices == 1 ? WHOLE : i == 0 ? FIRST : i == s->slices - 1 ? LAST : MIDDLE;
        TRY(tamis_gpu_launch_prepared(
            p, stream, &common,
            TAMIS_GPU_ARGUMENTS(tamis_gpu_place("panel", s->swap ? x->b.at : x->a.at),
                                tamis_gpu_integer("panel_stride", s->swap ? x->b.stride : x->a.stride),
                                tamis_gpu_place("tiled", s->swap ? x->a.at : x->b.at),
                                tamis_gpu_integer("tiled_stride", s->swap ? x->a.stride : x->b.stride),
                                tamis_gpu_integer("slice", i * s->tk),
                                tamis_gpu_place("sums", s->slices > 1 ? x->scratch : (tamis_place){NULL, 0}),
                                tamis_gpu_integer("mode", mode))));
    }
    return TAMIS_OK;
}
