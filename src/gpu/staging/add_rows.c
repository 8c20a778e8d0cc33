/* Host side of add_rows.simt. */
#include "gpu/compile/utility.h"
#include "gpu/staging/staging.h"

tamis_status tamis_gpu_add_rows_ready(void *device, tamis_type type) {
    return tamis_gpu_utility_ready(device, "add_rows.simt", "add_rows", (tamis_gpu_kinds){type, TAMIS_I32, TAMIS_I32});
}

tamis_status tamis_gpu_add_rows(void *device, void *stream, const tamis_row_sum *x) {
    const bool by_rows = x->layout == TAMIS_ROW_MAJOR;
    const int64_t items = x->count * (x->cols > 0 ? x->cols : 1);
    if (items == 0) return TAMIS_OK;
    return tamis_gpu_utility(
        device, stream, "add_rows.simt", "add_rows", (tamis_gpu_kinds){x->type, TAMIS_I32, TAMIS_I32},
        tamis_gpu_groups(items),
        TAMIS_GPU_ARGUMENTS(tamis_gpu_integer("count", x->count), tamis_gpu_integer("cols", x->cols),
                            tamis_gpu_memory("starts", x->starts), tamis_gpu_memory("places", x->places),
                            tamis_gpu_place("own", x->own), tamis_gpu_place("others", x->others),
                            tamis_gpu_integer("part_stride", x->part_stride),
                            tamis_gpu_integer("weighted", x->weighted), tamis_gpu_integer("pair", x->pair),
                            tamis_gpu_place("to", x->to), tamis_gpu_integer("row_step", by_rows ? x->stride : 1),
                            tamis_gpu_integer("col_step", by_rows ? 1 : x->stride), tamis_gpu_real("factor", x->factor),
                            tamis_gpu_real("keep", x->keep),
                            tamis_gpu_place("merged", x->merged.base ? x->merged : x->own),
                            tamis_gpu_integer("merges", x->merged.base != NULL)));
}
