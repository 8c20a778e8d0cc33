/* Host side of softmax.simt. Scratch: nnz reals of scores, then two (largest, sum) pairs per stretch. */
#include "gpu/softmax/softmax.h"

#include "base/status.h"
#include "gpu/compile/requests.h"

enum { TEAM = 32, STRETCH_MOST = 2048, STRETCH_LEAST = 64 };

static int group_of(const tamis_prepared *p) { return p->device->limits.subgroup == 32 ? 256 : TEAM; }

/* Nonzeros of a group: fewer where most rows are empty, since a group also passes the rows between its own. */
static int stretch_of(const tamis_problem *p) {
    int stretch = STRETCH_MOST;
    while (stretch > STRETCH_LEAST && (double)stretch * (double)p->rows > STRETCH_MOST * (double)p->nnz) stretch /= 2;
    return stretch;
}

static int64_t stretches_of(const tamis_prepared *p) {
    return (p->problem.nnz + stretch_of(&p->problem) - 1) / stretch_of(&p->problem);
}

static int64_t score_bytes(const tamis_prepared *p) {
    return (p->problem.nnz * (int64_t)tamis_gpu_real_size(p->problem.type) + 63) / 64 * 64;
}

tamis_status tamis_gpu_softmax_prepare(tamis_prepared *p) {
    static const char *const names[3] = {"softmax_rows", "softmax_merge", "softmax_cut"};
    const int64_t parts = stretches_of(p) * 4 * (int64_t)tamis_gpu_real_size(p->problem.type);
    tamis_gpu_definitions definitions = {.used = 0};
    p->softmax_scratch = (size_t)(score_bytes(p) + (parts + 63) / 64 * 64);
    if (p->problem.nnz == 0 && !p->problem.keep_softmax) return TAMIS_OK;
    tamis_gpu_define_problem(&definitions, p, group_of(p), TEAM);
    tamis_gpu_define(&definitions, "STRETCH", stretch_of(&p->problem));
    if (p->problem.keep_softmax) tamis_gpu_define(&definitions, "KEEP_SOFTMAX", 1);
    for (int i = 0; i < 3; i++)
        TRY(tamis_gpu_request_kernel(p->device, "softmax.simt", definitions.text, names[i], 0, &p->softmax[i]));
    return TAMIS_OK;
}

int64_t tamis_gpu_softmax_entry_bytes(const tamis_problem *problem) {
    /* its score; and at most four reals for STRETCH_LEAST nonzeros */
    return (int64_t)tamis_gpu_real_size(problem->type) + 1;
}

tamis_status tamis_gpu_softmax_execute(const tamis_prepared *p, void *stream, const tamis_operands *x) {
    const tamis_gpu_common common = tamis_gpu_common_of(p, x);
    const tamis_gpu_named parts = tamis_gpu_place("parts", tamis_gpu_after(x->scratch, score_bytes(p))),
                          scores = tamis_gpu_place("scores", x->scratch);
    const tamis_gpu_named own[] = {parts, scores, {.name = NULL}}, merging[] = {parts, {.name = NULL}};
    /* one stretch even without nonzeros, to write softmax_rows */
    const int64_t stretches = p->problem.nnz > 0 ? stretches_of(p) : 1, teams = group_of(p) / TEAM;
    tamis_gpu_argument values[TAMIS_GPU_PARAMETERS_MOST];
    for (int i = 0; i < 3; i++) {
        const tamis_gpu_launch grid = {.groups = {i == 1 ? (stretches + teams - 1) / teams : stretches, 1},
                                       .group_size = group_of(p),
                                       .members = x->batch};
        if (i > 0 && stretches == 1) break; /* no row is cut */
        TRY(tamis_gpu_bind(p->softmax[i], &common, i == 1 ? merging : own, values));
        TRY(p->device->runtime->launch(p->device, stream, p->softmax[i], &grid, values,
                                       p->softmax[i]->signature->count));
    }
    return TAMIS_OK;
}
