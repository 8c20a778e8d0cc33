/* Measures a GPU's ceilings with the kernels of probe.simt: device events, best of three. */
#include "gpu/ceilings/ceilings.h"

#include "base/memory_source.h"
#include "base/sizes.h"
#include "base/status.h"
#include "gpu/compile/utility.h"

static const char *const file = "probe.simt";
enum { TRIALS = 3, TABLES = 6 };

typedef struct probe {
    tamis_gpu_device *device;
    void *table, *sums, *start, *end;
    int64_t bytes, groups;
} probe;

static tamis_gpu_kinds kinds_of(tamis_type type) { return (tamis_gpu_kinds){type, TAMIS_I32, TAMIS_I32}; }

/* Seconds of the fastest launch, after a warm-up. */
static tamis_status quickest(probe *p, const char *kernel, tamis_type type, const tamis_gpu_named *arguments,
                             double *best) {
    const tamis_gpu_runtime *const runtime = p->device->runtime;
    *best = 0;
    for (int i = 0; i <= TRIALS; i++) {
        double seconds;
        TRY(runtime->record(p->device, NULL, &p->start));
        TRY(tamis_gpu_utility(p->device, NULL, file, kernel, kinds_of(type), p->groups, arguments));
        TRY(runtime->record(p->device, NULL, &p->end));
        TRY(runtime->elapsed(p->device, p->start, p->end, &seconds));
        if (i == 1 || (i > 1 && seconds < *best)) *best = seconds;
    }
    return *best > 0 ? TAMIS_OK : tamis_fail(TAMIS_ERROR_DEVICE, "%s: its events tell no time", p->device->limits.name);
}

/* Read bandwidth in GB/s over `bytes`, read repeatedly: by all groups together, or (`own`) by each group separately. */
static tamis_status read_rate(probe *p, int64_t bytes, bool own, double *rate) {
    const int64_t passes = own ? 64 : bytes < p->bytes / 4 ? p->bytes / bytes + 1 : 1;
    double seconds = 1;
    TRY(quickest(p, "probe_read", TAMIS_F32,
                 TAMIS_GPU_ARGUMENTS(tamis_gpu_integer("count", bytes / 16), tamis_gpu_integer("passes", passes),
                                     tamis_gpu_integer("own", own), tamis_gpu_memory("from", p->table),
                                     tamis_gpu_memory("sums", p->sums)),
                 &seconds));
    *rate = 1e-9 * (double)(bytes - bytes % 16) * (double)passes * (double)(own ? p->groups : 1) / seconds;
    return TAMIS_OK;
}

static tamis_status gather_rate(probe *p, int64_t bytes, double *rate) {
    const int64_t teams = p->groups * (TAMIS_GPU_GROUP / 32), rows = p->device->limits.is_cpu ? 64 : 512;
    double seconds = 1;
    TRY(quickest(p, "probe_gather", TAMIS_F32,
                 TAMIS_GPU_ARGUMENTS(tamis_gpu_integer("table_rows", bytes / 512), tamis_gpu_integer("rows", rows),
                                     tamis_gpu_memory("from", p->table), tamis_gpu_memory("sums", p->sums)),
                 &seconds));
    *rate = 1e-9 * 512 * (double)rows * (double)teams / seconds;
    return TAMIS_OK;
}

static tamis_status multiply_rate(probe *p, tamis_type type, double *rate) {
    const int64_t repeats = p->device->limits.is_cpu ? 64 : 4096;
    double seconds = 1;
    TRY(quickest(p, "probe_multiply", type,
                 TAMIS_GPU_ARGUMENTS(tamis_gpu_integer("repeats", repeats), tamis_gpu_real("factor", 0.5),
                                     tamis_gpu_memory("sums", p->sums)),
                 &seconds));
    *rate = 1e-9 * 2 * 16 * (double)repeats * (double)p->groups * TAMIS_GPU_GROUP / seconds;
    return TAMIS_OK;
}

static tamis_status measure(probe *p, tamis_ceilings *c) {
    const tamis_gpu_limits *const l = &p->device->limits;
    /* every read falls within the table, which may be smaller than some processors' last-level cache */
    const int64_t cache = l->cache_l2 >= 64 << 10 ? l->cache_l2 : 4 << 20,
                  l2 = cache < p->bytes / 8 ? cache : p->bytes / 8;
    const int64_t tables[TABLES] = {l2 / 16, l2 / 2, l2, 2 * l2, p->bytes / 2, p->bytes};
    double rate = 0;
    *c = (tamis_ceilings){.measured = true, .threads = 1};
    TRY(multiply_rate(p, TAMIS_F32, &c->fp32_gflops[0]));
    c->fp64_gflops[0] = c->fp32_gflops[0] / 2;
    if (l->has_fp64) TRY(multiply_rate(p, TAMIS_F64, &c->fp64_gflops[0]));
    TRY(read_rate(p, l2 / 4, false, &c->l2_gbs[0]));
    TRY(read_rate(p, p->bytes, false, &c->memory_gbs[0]));
    TRY(read_rate(p, 8 << 10, true, &c->l1_gbs[0]));
    c->l3_gbs[0] = c->l2_gbs[0];
    for (int i = 0; i < TABLES; i++) {
        c->gather_bytes[i] = tables[i];
        TRY(gather_rate(p, tables[i], &rate));
        c->gather_gbs[0][i] = c->gather_gbs[1][i] = rate;
    }
    double *const pairs[] = {c->fp32_gflops, c->fp64_gflops, c->l1_gbs, c->l2_gbs, c->l3_gbs, c->memory_gbs};
    for (size_t i = 0; i < sizeof pairs / sizeof *pairs; i++) pairs[i][1] = pairs[i][0]; /* it has no single thread */
    return TAMIS_OK;
}

/* The table is as large as the free memory allows: larger than all caches, except the last-level cache of some
   processors. */
static tamis_status allocate_table(probe *p) {
    const tamis_gpu_limits *const l = &p->device->limits;
    const int64_t least = 1 << 20;
    p->bytes = l->is_cpu ? 64 << 20 : 1 << 30;
    if (l->memory_most > 0 && p->bytes > l->memory_most / 8) p->bytes = l->memory_most / 8 / 4096 * 4096;
    if (p->bytes < least) p->bytes = least;
    for (;; p->bytes /= 2) {
        const tamis_status status = tamis_gpu_allocate(p->device, NULL, (size_t)p->bytes, "a probe's table", &p->table);
        if (status == TAMIS_OK || p->bytes / 2 < least) return status;
    }
}

static tamis_status run(probe *p, tamis_ceilings *ceilings) {
    const size_t sums = tamis_bytes(p->groups, (size_t)TAMIS_GPU_GROUP * 8);
    TRY(allocate_table(p));
    TRY(tamis_gpu_allocate(p->device, NULL, sums, "a probe's sums", &p->sums));
    TRY(p->device->runtime->fill(p->device, NULL, (tamis_place){p->table, 0}, 0x5a, (size_t)p->bytes));
    return measure(p, ceilings);
}

tamis_status tamis_gpu_measure_ceilings(const tamis_gpu_runtime *runtime, int number, tamis_ceilings *ceilings) {
    probe p = {.device = NULL};
    TRY(runtime->open(number, &p.device));
    p.groups = (int64_t)p.device->limits.multiprocessors * (p.device->limits.is_cpu ? 1 : 8);
    tamis_memory_source *const before = tamis_memory_source_enter(NULL); /* not from the memory of the plan that asks */
    const tamis_status status = run(&p, ceilings);
    runtime->release_event(p.device, p.start);
    runtime->release_event(p.device, p.end);
    tamis_gpu_release(p.device, NULL, p.table);
    tamis_gpu_release(p.device, NULL, p.sums);
    tamis_memory_source_leave(before);
    return status;
}

/* A server GPU of the 2020s; only the ratios matter to the choice. */
tamis_ceilings tamis_gpu_default_ceilings(void) {
    return (tamis_ceilings){.threads = 1,
                            .fp32_gflops = {50000, 50000},
                            .fp64_gflops = {25000, 25000},
                            .l1_gbs = {25000, 25000},
                            .l2_gbs = {8000, 8000},
                            .l3_gbs = {8000, 8000},
                            .memory_gbs = {4000, 4000},
                            .gather_gbs = {{9000, 9000, 8500, 6000, 4500, 4000}, {9000, 9000, 8500, 6000, 4500, 4000}},
                            .gather_bytes = {1 << 20, 16 << 20, 50 << 20, 100 << 20, 512 << 20, 1 << 30}};
}
