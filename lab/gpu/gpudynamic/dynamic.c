/*
 * `gpudynamic-dynamic` (Costa et al.: Efficient SDDMM Algorithms on GPU, s.7) chooses by density: a method that shares
 * rows of B, or `gpudynamic-convert`. On request it tries several tile, group and grid sizes. Above the threshold the
 * paper's text takes `gpudynamic-shared`, but its authors' public code `gpudynamic-preprocessing`: parameter `dense`.
 */
#include <stdio.h>

#include "base/status.h"
#include "lab/gpu/methods.h"
#include "lab/gpu/trial.h"

enum { THRESHOLD, DENSE, BLOCK, GRID, TUNE };
enum { AS_CODED, AS_WRITTEN }; /* values of DENSE */

static void defaults(const tamis_problem *problem, const tamis_gpu_device *device, int64_t *parameters) {
    (void)device;
    parameters[THRESHOLD] = 100; /* parts per million: 0.01 per cent */
    parameters[DENSE] = problem->once ? AS_WRITTEN : AS_CODED;
    parameters[BLOCK] = parameters[GRID] = 0; /* the method chooses */
    parameters[TUNE] = 0;
}

/* Tiles need sorted columns. */
static bool is_dense(const tamis_prepared *p) {
    return p->profile.sorted && p->profile.density * 1e6 > (double)p->parameters[THRESHOLD];
}

/* The paper's candidates for equal nonzeros: sizes of groups and grids. */
static void sweep_grids(const tamis_prepared *p, tamis_gpu_candidates *candidates) {
    for (int block = 32; block <= 1024 && block <= p->device->limits.group_most; block *= 2) {
        tamis_gpu_candidate(candidates, "block=%d,grid=0", block);
        for (int grid = 32; grid <= 2048; grid *= 2) tamis_gpu_candidate(candidates, "block=%d,grid=%d", block, grid);
    }
}

/* The paper's candidates for tiles: slices of K, rows in shared memory, sizes of groups. */
static void sweep_tiles(const tamis_prepared *p, const char *reduce, tamis_gpu_candidates *candidates) {
    static const int heights[] = {0, 32, 64, 128, 256};
    for (int block = 64; block <= 1024 && block <= p->device->limits.group_most; block *= 2)
        for (int tk = 16; tk <= 64; tk *= 2)
            for (size_t i = 0; i < sizeof heights / sizeof heights[0]; i++)
                tamis_gpu_candidate(candidates, "tk=%d,tj=%d,block=%d%s", tk, heights[i], block, reduce);
}

static tamis_status prepare(tamis_prepared *p) {
    int64_t *const v = p->parameters;
    const bool dense = is_dense(p);
    const tamis_gpu_algorithm *const chosen = !dense                   ? &tamis_gpudynamic_convert
                                              : v[DENSE] == AS_WRITTEN ? &tamis_gpudynamic_shared
                                                                       : &tamis_gpudynamic_preprocessing;
    tamis_gpu_candidates candidates = {.count = 0};
    /* floating-point atomics only if any order is allowed */
    const char *const reduce = !dense ? "" : p->problem.deterministic ? ",reduce=1" : ",reduce=0";
    if (!v[TUNE] || p->problem.once) {
        char block[32] = "";
        if (v[BLOCK]) snprintf(block, sizeof block, ",block=%lld", (long long)v[BLOCK]);
        tamis_gpu_candidate(&candidates, "grid=%lld%s%s", (long long)v[GRID], block, reduce);
    } else if (dense) {
        sweep_tiles(p, reduce, &candidates);
    } else {
        sweep_grids(p, &candidates);
    }
    TRY(tamis_gpu_rank(p, chosen->methods[TAMIS_OP_SDDMM], &candidates));
    if (!p->inner) return TAMIS_OK;
    v[BLOCK] = tamis_gpu_parameter(p->inner, "block");
    v[GRID] = tamis_gpu_parameter(p->inner, "grid");
    return TAMIS_OK;
}

const tamis_gpu_algorithm tamis_gpudynamic_dynamic = {
    TAMIS_LAB_ROW(
        TAMIS_OP_SDDMM, "gpudynamic-dynamic", PAPER_GPU_DYNAMIC ", s.7", "as the method that it chooses",
        "for comparison: by density gpudynamic-preprocessing, as the authors' code does, or gpudynamic-shared, as their text says, or gpudynamic-convert",
        "threshold: density in parts per million from which tiles are taken (100); dense (0, 1): 0 gpudynamic-preprocessing, 1 gpudynamic-shared; block, grid: see those, 0: their own; tune (0, 1): sweep them, and the sizes of tiles, when planning",
        .parameters =
            {{"threshold", 0, 1000000}, {"dense", 0, 1}, {"block", 0, 1024}, {"grid", 0, 1 << 30}, {"tune", 0, 1}},
        .defaults = defaults, .prepare = prepare, .execute = tamis_gpu_execute_prepared),
    .common.description.any_order = true,
    .relative = 50,
    .orders = true,
};
