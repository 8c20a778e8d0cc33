/* Host side of staging.simt. */
#include "gpu/staging/staging.h"

#include "base/status.h"
#include "gpu/compile/utility.h"

static const char *const file = "staging.simt";

static tamis_gpu_kinds kinds_of(tamis_type type) { return (tamis_gpu_kinds){type, TAMIS_I32, TAMIS_I32}; }

tamis_status tamis_gpu_ready(void *device, tamis_type type, bool transposes, bool permutes) {
    if (transposes) TRY(tamis_gpu_utility_ready(device, file, "transpose", kinds_of(type)));
    if (permutes) TRY(tamis_gpu_utility_ready(device, file, "permute", kinds_of(type)));
    return TAMIS_OK;
}

tamis_status tamis_gpu_transpose(void *device, void *stream, const tamis_transposition *x) {
    const int64_t tiles = (x->rows + 15) / 16 * ((x->cols + 15) / 16);
    if (tiles == 0) return TAMIS_OK;
    return tamis_gpu_utility(
        device, stream, file, "transpose", kinds_of(x->type), tiles * x->members,
        TAMIS_GPU_ARGUMENTS(
            tamis_gpu_integer("rows", x->rows), tamis_gpu_integer("cols", x->cols),
            tamis_gpu_place("from", x->out ? x->packed : x->strided),
            tamis_gpu_place("to", x->out ? x->strided : x->packed), tamis_gpu_integer("stride", x->stride),
            tamis_gpu_integer("from_step", x->out ? x->packed_step : x->strided_step),
            tamis_gpu_integer("to_step", x->out ? x->strided_step : x->packed_step), tamis_gpu_integer("out", x->out)));
}

tamis_status tamis_gpu_permute(void *device, void *stream, const tamis_permutation *x) {
    if (x->nnz == 0) return TAMIS_OK;
    return tamis_gpu_utility(
        device, stream, file, "permute", kinds_of(x->type), tamis_gpu_groups(x->nnz * x->members),
        TAMIS_GPU_ARGUMENTS(
            tamis_gpu_integer("count", x->nnz), tamis_gpu_integer("members", x->members),
            tamis_gpu_integer("from_step", x->out ? x->packed_step : x->scattered_step),
            tamis_gpu_integer("to_step", x->out ? x->scattered_step : x->packed_step),
            tamis_gpu_memory("permutation", x->permutation), tamis_gpu_place("from", x->out ? x->packed : x->scattered),
            tamis_gpu_place("to", x->out ? x->scattered : x->packed), tamis_gpu_integer("out", x->out)));
}

/* Treats rows as 8-byte elements if all are aligned to that: it halves the instructions, and fp64 moves preserve all
   bits. */
static tamis_gathering in_wide_pieces(const tamis_gpu_device *device, const tamis_gathering *x) {
    tamis_gathering wide = *x;
    const int64_t per = 8 / (int64_t)tamis_type_size(x->type);
    const uint64_t bases = (uint64_t)(x->from.bytes | x->to.bytes) |
                           (device->runtime == &tamis_gpu_opencl ? 0 : (uintptr_t)x->from.base | (uintptr_t)x->to.base);
    if (!device->limits.has_fp64 || per == 1 || x->layout != TAMIS_ROW_MAJOR || bases % 8 != 0 || x->cols % per != 0 ||
        x->stride % per != 0 || x->to_stride % per != 0)
        return wide;
    wide.type = TAMIS_F64;
    wide.cols /= per;
    wide.stride /= per;
    wide.to_stride /= per;
    return wide;
}

tamis_status tamis_gpu_gather(void *device, void *stream, const tamis_gathering *gathering) {
    const tamis_gathering x = in_wide_pieces(device, gathering);
    const bool by_rows = x.layout == TAMIS_ROW_MAJOR;
    if (x.count == 0 || x.cols == 0) return TAMIS_OK;
    return tamis_gpu_utility(
        device, stream, file, "gather_rows", kinds_of(x.type), tamis_gpu_groups(x.count * x.cols),
        TAMIS_GPU_ARGUMENTS(tamis_gpu_integer("count", x.count), tamis_gpu_integer("cols", x.cols),
                            tamis_gpu_integer("listed", x.rows != NULL),
                            tamis_gpu_memory("rows", x.rows ? x.rows : x.from.base), tamis_gpu_place("from", x.from),
                            tamis_gpu_integer("row_step", by_rows ? x.stride : 1),
                            tamis_gpu_integer("col_step", by_rows ? 1 : x.stride), tamis_gpu_place("to", x.to),
                            tamis_gpu_integer("to_stride", x.to_stride)));
}

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
        TAMIS_GPU_ARGUMENTS(
            tamis_gpu_integer("count", x->count), tamis_gpu_integer("cols", x->cols),
            tamis_gpu_memory("starts", x->starts), tamis_gpu_memory("places", x->places),
            tamis_gpu_integer("owned", x->own.base != NULL), tamis_gpu_place("own", x->own.base ? x->own : x->others),
            tamis_gpu_place("others", x->others), tamis_gpu_integer("part_stride", x->part_stride),
            tamis_gpu_integer("weighted", x->weighted), tamis_gpu_integer("pair", x->pair),
            tamis_gpu_place("to", x->to), tamis_gpu_integer("row_step", by_rows ? x->stride : 1),
            tamis_gpu_integer("col_step", by_rows ? 1 : x->stride), tamis_gpu_real("factor", x->factor),
            tamis_gpu_real("keep", x->keep), tamis_gpu_place("merged", x->merged.base ? x->merged : x->others),
            tamis_gpu_integer("merges", x->merged.base != NULL)));
}
