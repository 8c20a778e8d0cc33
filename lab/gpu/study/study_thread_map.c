/*
 * Host side of study_thread_map.simt (Lin, Hsu, Chen: SpMM, SDDMM and SDDMM_SpMM Kernels, s.5.2): the host pads the
 * rows and writes the map.
 */
#include "base/memory.h"
#include "base/status.h"
#include "lab/gpu/study/study.h"
#include "sparse/index.h"
#include "sparse/structure.h"

/* Built on the host and then copied to the device. */
typedef struct thread_map {
    void *offsets;    /* a copy of the pattern's */
    void *map;        /* the nonzero of each work-item, of the offsets' type; -1: padding */
    void *block_rows; /* the row of each block, of the indices' type */
    int64_t blocks;
} thread_map;

static int64_t offset_at(const tamis_prepared *p, const thread_map *m, int64_t i) {
    return tamis_index_load(m->offsets, p->problem.offset_type, i);
}

static int64_t blocks_of_row(const tamis_prepared *p, const thread_map *m, int64_t i) {
    return tamis_study_blocks(p, offset_at(p, m, i + 1) - offset_at(p, m, i));
}

static void fill_map(const tamis_prepared *p, thread_map *m) {
    const int64_t block = p->parameters[TAMIS_STUDY_BLOCK];
    int64_t at = 0, item = 0;
    for (int64_t i = 0; i < p->problem.rows; i++) {
        const int64_t begin = offset_at(p, m, i), end = offset_at(p, m, i + 1), blocks = blocks_of_row(p, m, i);
        for (int64_t g = 0; g < blocks; g++) tamis_index_store(m->block_rows, p->problem.index_type, at++, i);
        for (int64_t t = begin; t < begin + blocks * block; t++)
            tamis_index_store(m->map, p->problem.offset_type, item++, t < end ? t : -1);
    }
}

/* Copies an array to device memory that is an argument of the kernel. */
static tamis_status keep(tamis_prepared *p, const char *name, const void *array, int64_t count, size_t size,
                         const char *what) {
    void *memory = NULL;
    TRY(tamis_gpu_add_kept(p, &memory, count, size, what));
    tamis_gpu_add_arguments(p, TAMIS_GPU_ARGUMENTS(tamis_gpu_memory(name, memory)));
    return p->device->runtime->write(p->device, p->problem.stream, (tamis_place){memory, 0}, array,
                                     (size_t)count * size);
}

static tamis_status make_map(tamis_prepared *p) {
    tamis_status status = TAMIS_OK;
    thread_map m = {.blocks = 0};
    const int64_t rows = p->problem.rows, block = p->parameters[TAMIS_STUDY_BLOCK];
    const size_t offset_size = tamis_index_size(p->problem.offset_type);
    const size_t index_size = tamis_index_size(p->problem.index_type);
    const tamis_place offsets = {(void *)(uintptr_t)p->problem.offsets, 0};
    TRY_GOTO(done, tamis_allocate(rows + 1, offset_size, "a copy of the offsets", &m.offsets));
    TRY_GOTO(done, p->device->runtime->read(p->device, p->problem.stream, m.offsets, offsets,
                                            (size_t)(rows + 1) * offset_size));
    for (int64_t i = 0; i < rows; i++) m.blocks += blocks_of_row(p, &m, i);
    TRY_GOTO(done, tamis_allocate(tamis_times(m.blocks, block), offset_size, "a map of threads", &m.map));
    TRY_GOTO(done, tamis_allocate(m.blocks, index_size, "the rows of blocks", &m.block_rows));
    fill_map(p, &m);
    TRY_GOTO(done, keep(p, "map", m.map, tamis_times(m.blocks, block), offset_size, "a map of threads"));
    TRY_GOTO(done, keep(p, "block_rows", m.block_rows, m.blocks, index_size, "the rows of blocks"));
    p->launch = tamis_study_grid(p, m.blocks, 1);
    tamis_gpu_add_arguments(p, TAMIS_GPU_ARGUMENTS(tamis_gpu_integer("blocks", m.blocks)));
done:
    tamis_release(m.offsets);
    tamis_release(m.map);
    tamis_release(m.block_rows);
    return status;
}

static tamis_status prepare(tamis_prepared *p) {
    TRY(tamis_study_prepare(p));
    return p->problem.nnz > 0 ? make_map(p) : TAMIS_OK;
}

const tamis_gpu_algorithm tamis_study_thread_map = {
    TAMIS_LAB_ROW(TAMIS_OP_SDDMM, "study-thread-map", PAPER_STUDY ", s.5.2",
                  "a padded map of work-items, built on the host by the plan",
                  "for comparison: groups that stay in one row, its row of A shared", TAMIS_STUDY_SLICE_TEXT,
                  TAMIS_STUDY_SLICED, .defaults = tamis_study_row_defaults, .prepare = prepare,
                  .execute = tamis_gpu_execute_prepared,
                  .kernels = {{"study_thread_map.simt", "thread_map", .split = true}}),
    .common.needs_preparation = true,
    .relative = 2.8,
};
