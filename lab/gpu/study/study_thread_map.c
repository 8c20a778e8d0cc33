/*
 * Host side of study_thread_map.simt (Lin, Hsu, Chen: SpMM, SDDMM and SDDMM_SpMM Kernels, s.5.2): the host pads the
 * rows and writes the map.
 */
#include "base/memory.h"
#include "base/papers.h"
#include "base/status.h"
#include "lab/gpu/methods.h"
#include "lab/gpu/study/study.h"
#include "sparse/index.h"
#include "sparse/structure.h"

typedef struct map_state {
    int64_t blocks;
    void *map, *block_rows; /* see thread_map */
} map_state;

static tamis_place place_of(const void *memory) { return (tamis_place){(void *)(uintptr_t)memory, 0}; }

/* The map, built on the host and then copied to the device. */
typedef struct thread_map {
    void *offsets;    /* a copy of the pattern's */
    void *map;        /* the nonzero of each work-item, of the offsets' type; -1: padding */
    void *block_rows; /* the row of each block, of the indices' type */
    int64_t blocks;
} thread_map;

static int64_t blocks_of_row(const tamis_prepared *p, const void *offsets, int64_t i) {
    const tamis_index_type type = p->problem.offset_type;
    const int64_t length = tamis_index_load(offsets, type, i + 1) - tamis_index_load(offsets, type, i);
    return tamis_study_blocks(length, p->parameters[TAMIS_STUDY_BLOCK]);
}

static void fill_map(const tamis_prepared *p, thread_map *m) {
    const int64_t block = p->parameters[TAMIS_STUDY_BLOCK];
    int64_t at = 0, item = 0;
    for (int64_t i = 0; i < p->problem.rows; i++) {
        const int64_t begin = tamis_index_load(m->offsets, p->problem.offset_type, i);
        const int64_t end = tamis_index_load(m->offsets, p->problem.offset_type, i + 1);
        const int64_t blocks = blocks_of_row(p, m->offsets, i);
        for (int64_t g = 0; g < blocks; g++) tamis_index_store(m->block_rows, p->problem.index_type, at++, i);
        for (int64_t t = begin; t < begin + blocks * block; t++)
            tamis_index_store(m->map, p->problem.offset_type, item++, t < end ? t : -1);
    }
}

static tamis_status make_map(const tamis_prepared *p, thread_map *m) {
    const size_t offset_size = tamis_index_size(p->problem.offset_type);
    TRY(tamis_allocate(p->problem.rows + 1, offset_size, "a copy of the offsets", &m->offsets));
    TRY(p->device->runtime->read(p->device, p->problem.stream, m->offsets, place_of(p->problem.offsets),
                                 (size_t)(p->problem.rows + 1) * offset_size));
    for (int64_t i = 0; i < p->problem.rows; i++) m->blocks += blocks_of_row(p, m->offsets, i);
    TRY(tamis_allocate(tamis_times(m->blocks, p->parameters[TAMIS_STUDY_BLOCK]), offset_size, "a map of threads",
                       &m->map));
    TRY(tamis_allocate(m->blocks, tamis_index_size(p->problem.index_type), "the rows of blocks", &m->block_rows));
    fill_map(p, m);
    return TAMIS_OK;
}

static tamis_status keep_map(tamis_prepared *p) {
    tamis_status status = TAMIS_OK;
    map_state *const s = p->state;
    thread_map m = {.blocks = 0};
    const size_t offset_size = tamis_index_size(p->problem.offset_type);
    const size_t index_size = tamis_index_size(p->problem.index_type);
    TRY_GOTO(done, make_map(p, &m));
    const int64_t items = m.blocks * p->parameters[TAMIS_STUDY_BLOCK];
    s->blocks = m.blocks;
    TRY_GOTO(done, tamis_gpu_add_kept(p, &s->map, items, offset_size, "a map of threads"));
    TRY_GOTO(done, tamis_gpu_add_kept(p, &s->block_rows, m.blocks, index_size, "the rows of blocks"));
    TRY_GOTO(done, p->device->runtime->write(p->device, p->problem.stream, place_of(s->map), m.map,
                                             (size_t)items * offset_size));
    TRY_GOTO(done, p->device->runtime->write(p->device, p->problem.stream, place_of(s->block_rows), m.block_rows,
                                             (size_t)m.blocks * index_size));
done:
    tamis_release(m.offsets);
    tamis_release(m.map);
    tamis_release(m.block_rows);
    return status;
}

static tamis_status prepare(tamis_prepared *p) {
    tamis_gpu_definitions definitions = {.used = 0};
    TRY(tamis_study_block(p));
    tamis_study_slice(p, 0);
    if (p->problem.nnz == 0) return TAMIS_OK;
    tamis_study_define(&definitions, p);
    tamis_gpu_define(&definitions, "SLICE", p->parameters[TAMIS_STUDY_SLICE]);
    TRY(tamis_gpu_add_split_kernel(p, 0, "study_thread_map.simt", "thread_map", &definitions, 0));
    return keep_map(p);
}

static tamis_status execute(const tamis_prepared *p, void *stream, const tamis_operands *x) {
    const map_state *const s = p->state;
    const tamis_gpu_common common = tamis_gpu_common_of(p, x);
    const tamis_gpu_launch launch = {.groups = {tamis_study_groups(p, 0, s->blocks), 1},
                                     .group_size = (int)p->parameters[TAMIS_STUDY_BLOCK]};
    return tamis_gpu_launch_kernel(p, stream, 0, launch, &common,
                                   TAMIS_GPU_ARGUMENTS(tamis_gpu_memory("map", s->map),
                                                       tamis_gpu_memory("block_rows", s->block_rows),
                                                       tamis_gpu_integer("blocks", s->blocks)));
}

static const tamis_gpu_method method = {
    .name = "study-thread-map",
    .parameters = {{"block", 16, 1024}, {"slice", 8, 4096}},
    .defaults = tamis_study_row_defaults,
    .prepare = prepare,
    .execute = execute,
    .state_bytes = sizeof(map_state),
};

const tamis_gpu_algorithm tamis_study_thread_map = {
    .common.description =
        {
            .name = "study-thread-map",
            .device = "gpu",
            .operations = TAMIS_GPU_SDDMM,
            .source = PAPER_STUDY ", s.5.2",
            .needs = "a padded map of work-items, built on the host by the plan",
            .when = "for comparison: groups that stay in one row, its row of A shared",
            .parameters = "block (16 to 1024): work-items; slice (8 to 4096): elements of A in shared memory",
        },
    .common.needs_preparation = true,
    .methods = {[TAMIS_OP_SDDMM] = &method},
    .relative = 2.8,
};
