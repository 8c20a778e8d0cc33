/* Host side of edge_gradient.simt and edge_kept.simt. */
#include "gpu/edges.h"

#include "base/status.h"
#include "gpu/utility.h"

enum { LAUNCH_MOST = 65535, TEAMS = TAMIS_GPU_GROUP / 32 };
enum { THERE = 1, WIDE = 2, SCATTERED = 4 }; /* of an array, as the kernels have them */

static const char *const file = "edge_gradient.simt";
static const char *const all = "edge_gradient", *const rows = "edge_softmax_rows", *const merge = "edge_softmax_merge",
                         *const cut = "edge_softmax_cut";
/* with softmax_rows, in place of rows and merge */
static const char *const kept_file = "edge_kept.simt";
static const char *const kept_rows = "edge_kept_rows", *const kept_merge = "edge_kept_merge";

static tamis_status ready(void *device, tamis_type type, tamis_edge edge, tamis_index_type offset_type,
                          bool keep_softmax) {
    const tamis_gpu_kinds kinds = {type, TAMIS_I32, offset_type}, plain = {type, TAMIS_I32, TAMIS_I32};
    if (edge != TAMIS_EDGE_SOFTMAX) return tamis_gpu_utility_ready(device, file, all, plain);
    if (keep_softmax) {
        TRY(tamis_gpu_utility_ready(device, kept_file, kept_rows, kinds));
        TRY(tamis_gpu_utility_ready(device, kept_file, kept_merge, kinds));
    }
    TRY(tamis_gpu_utility_ready(device, file, rows, kinds));
    TRY(tamis_gpu_utility_ready(device, file, merge, kinds));
    return tamis_gpu_utility_ready(device, file, cut, kinds);
}

static int32_t kind_of(const tamis_edge_job *job, const tamis_edge_array *a) {
    if (!a->at.base) return 0;
    return THERE | (a->type != job->type ? WIDE : 0) | (a->scattered ? SCATTERED : 0);
}

static void add_job(const tamis_edge_job *job, tamis_gpu_call *call) {
    const tamis_edge_array *const arrays[] = {&job->values, &job->x, &job->dp, &job->p, &job->dx, &job->ds};
    int32_t kinds = 0;
    tamis_gpu_add_int64(call, job->nnz);
    tamis_gpu_add_int64(call, job->batch);
    tamis_gpu_add_memory(call, job->permutation);
    for (int i = 0; i < 6; i++) {
        tamis_gpu_add_place(call, arrays[i]->at);
        tamis_gpu_add_int64(call, arrays[i]->apart);
        kinds |= kind_of(job, arrays[i]) << 4 * i;
    }
    tamis_gpu_add_int32(call, job->permutation != NULL);
    tamis_gpu_add_int32(call, kinds);
    tamis_gpu_add_int32(call, (int32_t)job->edge);
    tamis_gpu_add_real(call, job->type, job->constants.scale);
    tamis_gpu_add_real(call, job->type, job->constants.slope);
    tamis_gpu_add_real(call, job->type, job->constants.epsilon);
    tamis_gpu_add_real(call, job->type, job->dp_factor);
    tamis_gpu_add_real(call, job->type, job->p_factor);
    tamis_gpu_add_real(call, job->type, job->p_keep);
    tamis_gpu_add_real(call, job->type, job->ds_keep);
}

static tamis_gpu_call rows_of(const tamis_edge_job *job) {
    tamis_gpu_call call = {.count = 0};
    tamis_gpu_add_int64(&call, job->rows);
    tamis_gpu_add_memory(&call, job->offsets);
    tamis_gpu_add_place(&call, job->parts);
    return call;
}

/* The kernels stride over what is beyond a launch. */
static tamis_status start(const tamis_edge_job *job, const char *from, const char *kernel, tamis_index_type offset_type,
                          int64_t groups, const tamis_gpu_call *call) {
    const tamis_gpu_kinds kinds = {job->type, TAMIS_I32, offset_type};
    return tamis_gpu_utility(job->device, job->stream, from, kernel, kinds, groups > LAUNCH_MOST ? LAUNCH_MOST : groups,
                             call);
}

static tamis_status softmax(const tamis_edge_job *job, int64_t stretches) {
    tamis_gpu_call first = rows_of(job), second = rows_of(job), third = rows_of(job);
    const bool kept = job->softmax_rows.base != NULL;
    if (kept) tamis_gpu_add_place(&first, job->softmax_rows);
    add_job(job, &first);
    TRY(start(job, kept ? kept_file : file, kept ? kept_rows : rows, job->offset_type, stretches, &first));
    if (tamis_edge_stretches(job->nnz) == 1) return TAMIS_OK; /* nothing is cut */
    if (kept && !job->dp.at.base) return TAMIS_OK;            /* nor is there anything to bring together */
    tamis_gpu_add_int64(&second, job->nnz);
    tamis_gpu_add_int64(&second, job->batch);
    TRY(start(job, kept ? kept_file : file, kept ? kept_merge : merge, job->offset_type,
              (stretches + TEAMS - 1) / TEAMS, &second));
    add_job(job, &third);
    return start(job, file, cut, job->offset_type, stretches, &third);
}

static tamis_status run(const tamis_edge_job *job) {
    const int64_t stretches = tamis_edge_stretches(job->nnz) * job->batch;
    tamis_gpu_call call = {.count = 0};
    if (stretches == 0) return TAMIS_OK;
    if (job->edge == TAMIS_EDGE_SOFTMAX) return softmax(job, stretches);
    add_job(job, &call);
    return start(job, file, all, TAMIS_I32, stretches, &call);
}

const tamis_edge_functions tamis_gpu_edge_functions = {.ready = ready, .run = run};
