/*
 * `gpudynamic-dynamic` (Costa et al.: Efficient SDDMM Algorithms on GPU, s.7): by density `gpudynamic-shared` or
 * `gpudynamic-convert`, their group and grid sizes swept if asked for.
 */
#include "base/status.h"
#include "gpu/methods.h"
#include "gpu/papers/trial.h"

enum { THRESHOLD, BLOCK, GRID, TUNE };

/* The methods' own where they name it themselves. */
static void defaults(const tamis_problem *problem, const tamis_gpu_device *device, int64_t *parameters) {
    (void)problem;
    parameters[THRESHOLD] = 100; /* parts per million: 0.01 per cent */
    parameters[BLOCK] = device->limits.is_cpu ? 32 : 128;
    parameters[GRID] = 0;
    parameters[TUNE] = 0;
}

/* Tiles need sorted columns; without them there is no reuse to capture either. */
static bool is_dense(const tamis_prepared *p) {
    return p->profile.sorted && p->profile.density * 1e6 > (double)p->parameters[THRESHOLD];
}

static tamis_status prepare(tamis_prepared *p) {
    const int64_t *const v = p->parameters;
    const bool dense = is_dense(p);
    tamis_gpu_candidates candidates = {.count = 0};
    /* fp atomics only where any order is welcome */
    const char *const reduce = !dense ? "" : p->problem.deterministic ? ",reduce=1" : ",reduce=0";
    if (v[TUNE] && !p->problem.once) {
        for (int block = 32; block <= 1024 && block <= p->device->limits.group_most; block *= 2) {
            tamis_gpu_candidate(&candidates, "block=%d,grid=0%s", block, reduce);
            for (int grid = 32; grid <= 2048; grid *= 2)
                tamis_gpu_candidate(&candidates, "block=%d,grid=%d%s", block, grid, reduce);
        }
    } else {
        tamis_gpu_candidate(&candidates, "block=%lld,grid=%lld%s", (long long)v[BLOCK], (long long)v[GRID], reduce);
    }
    TRY(tamis_gpu_rank(p, dense ? &tamis_gpu_shared : &tamis_gpu_convert, &candidates));
    if (!p->inner) return TAMIS_OK;
    /* what was chosen: the places of block and grid are 2 and 3 in `gpudynamic-shared`, 0 and 1 in `gpudynamic-convert`
     */
    p->parameters[BLOCK] = p->inner->parameters[dense ? 2 : 0];
    p->parameters[GRID] = p->inner->parameters[dense ? 3 : 1];
    return TAMIS_OK;
}

static tamis_status execute(const tamis_prepared *p, void *stream, const tamis_operands *x) {
    return p->inner->method->execute(p->inner, stream, x);
}

const tamis_gpu_method tamis_gpu_dynamic = {
    .name = "gpudynamic-dynamic",
    .parameters = {{"threshold", 0, 1000000}, {"block", 32, 1024}, {"grid", 0, 1 << 30}, {"tune", 0, 1}},
    .defaults = defaults,
    .prepare = prepare,
    .execute = execute,
};
