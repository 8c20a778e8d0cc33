#include "gpu/papers/index.h"

#include "base/status.h"
#include "gpu/compile/utility.h"
#include "gpu/structure/order.h"

static const char *const file = "index.simt";

tamis_status tamis_gpu_index_run(const tamis_prepared *p, const char *in, const char *kernel, int64_t count,
                                 const tamis_gpu_named *arguments) {
    const tamis_gpu_kinds kinds = {TAMIS_F32, p->problem.index_type, p->problem.offset_type};
    return tamis_gpu_utility(p->device, p->problem.stream, in, kernel, kinds, tamis_gpu_groups(count), arguments);
}

static tamis_status make_keys(const tamis_prepared *p, const tamis_gpu_tiling *tiling, tamis_gpu_index *index) {
    const int64_t nnz = p->problem.nnz;
    TRY(tamis_gpu_allocate(p->device, p->problem.stream, (size_t)nnz * tamis_index_size(p->problem.index_type),
                           "rows of the nonzeros", &index->row_indices));
    TRY(tamis_gpu_allocate(p->device, p->problem.stream, (size_t)nnz * 8, "keys of tiles", &index->keys));
    TRY(tamis_gpu_allocate(p->device, p->problem.stream, (size_t)nnz * 8, "an order by tiles", &index->order));
    TRY(tamis_gpu_expand_rows(p->device, p->problem.stream, &p->problem, index->row_indices));
    TRY(tamis_gpu_index_run(
        p, file, "index_keys", nnz,
        TAMIS_GPU_ARGUMENTS(tamis_gpu_integer("nnz", nnz), tamis_gpu_memory("row_indices", index->row_indices),
                            tamis_gpu_memory("columns", p->problem.columns),
                            tamis_gpu_integer("columns_first", tiling->columns_first),
                            tamis_gpu_integer("x_tile", tiling->x_tile), tamis_gpu_integer("y_tile", tiling->y_tile),
                            tamis_gpu_integer("limit", index->limit), tamis_gpu_memory("keys", index->keys),
                            tamis_gpu_memory("order", index->order))));
    const uint64_t limit = (uint64_t)index->panels * (uint64_t)index->limit;
    void *const stream = p->problem.stream;
    return tamis_gpu_sort(p->device, stream, nnz, limit, &index->keys, &index->order, stream);
}

/* Numbers the places; their count is the one figure that the host needs. */
static tamis_status make_places(const tamis_prepared *p, tamis_gpu_index *index) {
    tamis_status status = TAMIS_OK;
    const int64_t nnz = p->problem.nnz;
    void *scratch = NULL;
    TRY_GOTO(done, tamis_gpu_allocate(p->device, p->problem.stream, (size_t)(nnz + 1) * 8, "places of tiles",
                                      &index->places));
    TRY_GOTO(done, tamis_gpu_allocate(p->device, tamis_kept_stream(&p->problem), (size_t)(index->panels + 1) * 8,
                                      "starts of panels", &index->starts));
    TRY_GOTO(done, tamis_gpu_allocate(p->device, p->problem.stream, tamis_gpu_scan_scratch(nnz + 1), "sums of a scan",
                                      &scratch));
    TRY_GOTO(done, tamis_gpu_index_run(p, file, "index_begins", nnz + 1,
                                       TAMIS_GPU_ARGUMENTS(tamis_gpu_integer("nnz", nnz),
                                                           tamis_gpu_memory("keys", index->keys),
                                                           tamis_gpu_memory("places", index->places))));
    TRY_GOTO(done, tamis_gpu_scan(p->device, p->problem.stream, index->places, nnz + 1, (tamis_place){scratch, 0}));
    TRY_GOTO(done, tamis_gpu_index_run(
                       p, file, "index_starts", index->panels + 1,
                       TAMIS_GPU_ARGUMENTS(
                           tamis_gpu_integer("panels", index->panels), tamis_gpu_integer("nnz", nnz),
                           tamis_gpu_integer("limit", index->limit), tamis_gpu_memory("keys", index->keys),
                           tamis_gpu_memory("places", index->places), tamis_gpu_memory("starts", index->starts))));
    status =
        p->device->runtime->read(p->device, p->problem.stream, &index->count, (tamis_place){index->places, nnz * 8}, 8);
done:
    tamis_gpu_release(p->device, p->problem.stream, scratch);
    return status;
}

static tamis_status make_list(const tamis_prepared *p, tamis_gpu_index *index) {
    TRY(tamis_gpu_allocate(p->device, tamis_kept_stream(&p->problem),
                           (size_t)index->count * tamis_index_size(p->problem.index_type), "the places of panels",
                           &index->list));
    TRY(tamis_gpu_allocate(p->device, tamis_kept_stream(&p->problem), (size_t)(index->count + 1) * 8,
                           "the entries of places", &index->entries));
    return tamis_gpu_index_run(
        p, file, "index_list", p->problem.nnz,
        TAMIS_GPU_ARGUMENTS(tamis_gpu_integer("nnz", p->problem.nnz), tamis_gpu_integer("limit", index->limit),
                            tamis_gpu_memory("keys", index->keys), tamis_gpu_memory("places", index->places),
                            tamis_gpu_memory("list", index->list), tamis_gpu_memory("entries", index->entries)));
}

static tamis_status build(const tamis_prepared *p, const tamis_gpu_tiling *tiling, tamis_gpu_index *index) {
    TRY(make_keys(p, tiling, index));
    TRY(make_places(p, index));
    return make_list(p, index);
}

tamis_status tamis_gpu_index_build(tamis_prepared *p, const tamis_gpu_tiling *tiling, tamis_gpu_index *index) {
    const int64_t x = tiling->columns_first ? p->problem.cols : p->problem.rows;
    const int64_t y = tiling->columns_first ? p->problem.rows : p->problem.cols;
    *index = (tamis_gpu_index){.panels = (x - 1) / tiling->x_tile + 1, .limit = (y - 1) / tiling->y_tile + 1};
    if (index->panels > INT64_MAX / index->limit)
        return tamis_fail(TAMIS_ERROR_OVERFLOW, "%s: %lld panels of %lld places each do not fit 64-bit keys",
                          p->method->name, (long long)index->panels, (long long)index->limit);
    const tamis_status status = build(p, tiling, index);
    if (status != TAMIS_OK) tamis_gpu_index_release(p, index);
    return status;
}

void tamis_gpu_index_release(tamis_prepared *p, tamis_gpu_index *index) {
    void *const passing[] = {index->row_indices, index->keys, index->order, index->places};
    void *const kept[] = {index->starts, index->list, index->entries};
    for (int i = 0; i < 4; i++) tamis_gpu_release(p->device, p->problem.stream, passing[i]);
    for (int i = 0; i < 3; i++) tamis_gpu_release(p->device, tamis_kept_stream(&p->problem), kept[i]);
    *index = (tamis_gpu_index){.panels = 0};
}

tamis_status tamis_gpu_index_within(tamis_prepared *p, const tamis_gpu_index *index, void *within) {
    return tamis_gpu_index_run(
        p, file, "index_within", p->problem.nnz,
        TAMIS_GPU_ARGUMENTS(tamis_gpu_integer("nnz", p->problem.nnz), tamis_gpu_integer("limit", index->limit),
                            tamis_gpu_memory("keys", index->keys), tamis_gpu_memory("order", index->order),
                            tamis_gpu_memory("places", index->places), tamis_gpu_memory("starts", index->starts),
                            tamis_gpu_memory("within", within)));
}

void *tamis_gpu_index_keep(tamis_prepared *p, void **array, int64_t count, size_t size) {
    void *const taken = *array;
    tamis_gpu_keep(p, taken, (size_t)count * size);
    *array = NULL;
    return taken;
}
