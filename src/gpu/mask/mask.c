/* Host side of mask.simt. */
#include "gpu/mask/mask.h"

#include "base/sizes.h"
#include "base/status.h"
#include "gpu/compile/utility.h"
#include "gpu/structure/sort.h"
#include "sparse/index.h"
#include "sparse/mask_runs.h"

static const char *const file = "mask.simt";

/* Work-items per row: about one for each 32-column word that may have kept columns. */
static int64_t lanes_of(const tamis_mask *m) {
    const int64_t right = m->causal ? 0 : m->right, near = m->left + right + m->globals;
    const bool window = m->left >= 0 && right >= 0 && !m->every && !m->global_count && !m->blocks;
    int64_t columns = m->cols, lanes = 8;
    if (window && near < columns) columns = near + 64;
    while (lanes < TAMIS_GPU_GROUP && 32 * lanes < columns) lanes *= 2;
    return lanes;
}

static bool wide(tamis_index_type type) { return type == TAMIS_I64; }

/* `any`: a buffer in place of arrays that the mask does not have. */
static tamis_status launch(tamis_gpu_device *device, void *stream, const tamis_mask *m, tamis_gpu_kinds kinds,
                           bool fill, void *counts, const void *offsets, void *columns, const void *any) {
    const tamis_sparse *const blocks = m->blocks;
    const bool has_blocks = blocks && blocks->nnz > 0;
    const int64_t lanes = lanes_of(m), in_group = TAMIS_GPU_GROUP / lanes;
    return tamis_gpu_utility(
        device, stream, file, "mask_rows", kinds,
        tamis_gpu_groups((m->members * m->rows + in_group - 1) / in_group * TAMIS_GPU_GROUP),
        TAMIS_GPU_ARGUMENTS(tamis_gpu_integer("rows", m->rows), tamis_gpu_integer("cols", m->cols),
                            tamis_gpu_integer("members", m->members), tamis_gpu_integer("from_place", m->offset),
                            tamis_gpu_integer("from_end", m->from_end), tamis_gpu_integer("causal", m->causal),
                            tamis_gpu_integer("everything", tamis_mask_keeps_all(m)),
                            tamis_gpu_integer("left", m->left), tamis_gpu_integer("right", m->right),
                            tamis_gpu_integer("dilation", m->dilation), tamis_gpu_integer("every", m->every),
                            tamis_gpu_integer("globals", m->globals), tamis_gpu_integer("sinks", m->sinks),
                            tamis_gpu_memory("global_list", m->global_count ? m->global_list : any),
                            tamis_gpu_integer("global_count", m->global_count),
                            tamis_gpu_integer("global_wide", wide(m->global_type)),
                            tamis_gpu_memory("block_offsets", has_blocks ? blocks->offsets : any),
                            tamis_gpu_integer("block_offsets_wide", has_blocks && wide(blocks->offset_type)),
                            tamis_gpu_memory("block_columns", has_blocks ? blocks->columns : any),
                            tamis_gpu_integer("block_columns_wide", has_blocks && wide(blocks->index_type)),
                            tamis_gpu_integer("block", has_blocks ? m->block : 0),
                            tamis_gpu_memory("lengths", m->lengths ? m->lengths : any),
                            tamis_gpu_integer("has_lengths", m->lengths != NULL),
                            tamis_gpu_memory("row_lengths", m->row_lengths ? m->row_lengths : any),
                            tamis_gpu_integer("has_row_lengths", m->row_lengths != NULL),
                            tamis_gpu_integer("length_wide", wide(m->length_type)), tamis_gpu_integer("lanes", lanes),
                            tamis_gpu_integer("fill", fill), tamis_gpu_memory("counts", counts),
                            tamis_gpu_memory("offsets", offsets), tamis_gpu_memory("columns", columns)));
}

/* Turns the counts in `sums` into offsets (prefix sum). */
static tamis_status add_up(tamis_gpu_device *device, void *stream, const tamis_mask *m, void *sums) {
    tamis_status status = TAMIS_OK;
    const int64_t count = m->members * m->rows + 1;
    const tamis_gpu_kinds kinds = {TAMIS_F32, TAMIS_I32, TAMIS_I32};
    void *scratch = NULL;
    TRY(tamis_gpu_allocate(device, stream, tamis_gpu_scan_scratch(count), "the offsets of a mask", &scratch));
    if (m->rows == 0 || m->members == 0) /* no row: the kernel would divide by zero */
        TRY_GOTO(done, device->runtime->write(device, stream, (tamis_place){sums, 0}, &(int64_t){0}, 8));
    else
        TRY_GOTO(done, launch(device, stream, m, kinds, false, sums, scratch, scratch, scratch));
    TRY_GOTO(done, tamis_gpu_scan(device, stream, (tamis_place){sums, 0}, count, (tamis_place){scratch, 0}));
done:
    tamis_gpu_release(device, stream, scratch);
    return status;
}

/* Reads the last offset, the number of nonzeros. */
static tamis_status tell(tamis_gpu_device *device, void *stream, const tamis_mask *m, tamis_index_type offset_type,
                         void *sums, int64_t *nnz) {
    const tamis_place last = {sums, m->members * m->rows * (int64_t)sizeof *nnz};
    TRY(device->runtime->read(device, stream, nnz, last, sizeof *nnz));
    if (tamis_index_holds(offset_type, *nnz)) return TAMIS_OK;
    return tamis_fail(TAMIS_ERROR_OVERFLOW, "mask: %lld columns are kept, which an offset_type of %s cannot hold",
                      (long long)*nnz, tamis_index_type_name(offset_type));
}

tamis_status tamis_gpu_mask_offsets(void *handle, void *stream, int threads, const tamis_mask *m,
                                    tamis_index_type offset_type, void *offsets, int64_t *nnz) {
    tamis_status status = TAMIS_OK;
    tamis_gpu_device *const device = handle;
    const int64_t count = m->members * m->rows + 1;
    void *own = NULL;
    (void)threads;
    if (offset_type == TAMIS_I32)
        TRY(tamis_gpu_allocate(device, stream, tamis_bytes(count, sizeof(int64_t)), "the counts of a mask", &own));
    void *const sums = own ? own : offsets;
    TRY_GOTO(done, add_up(device, stream, m, sums));
    if (own)
        TRY_GOTO(done, tamis_gpu_utility(device, stream, file, "mask_narrow",
                                         (tamis_gpu_kinds){TAMIS_F32, TAMIS_I32, offset_type}, tamis_gpu_groups(count),
                                         TAMIS_GPU_ARGUMENTS(tamis_gpu_integer("count", count),
                                                             tamis_gpu_memory("counts", own),
                                                             tamis_gpu_memory("offsets", offsets))));
    if (nnz) TRY_GOTO(done, tell(device, stream, m, offset_type, sums, nnz));
done:
    tamis_gpu_release(device, stream, own);
    return status;
}

tamis_status tamis_gpu_mask_columns(void *device, void *stream, int threads, const tamis_mask *m,
                                    tamis_index_type offset_type, const void *offsets, tamis_index_type index_type,
                                    void *columns) {
    (void)threads;
    if (m->rows == 0 || m->cols == 0 || m->members == 0) return TAMIS_OK;
    return launch(device, stream, m, (tamis_gpu_kinds){TAMIS_F32, index_type, offset_type}, true, columns, offsets,
                  columns, offsets);
}
