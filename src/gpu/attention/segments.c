/* Host side of segments.simt. */
#include "gpu/attention/segments.h"

#include "base/sizes.h"
#include "base/status.h"
#include "gpu/compile/definitions.h"
#include "gpu/messages/messages.h"
#include "gpu/messages/variants.h"
#include "gpu/method.h"
#include "gpu/runtime/memory.h"

/* OpenCL needs a buffer for every argument, even an absent one. */
static tamis_gpu_named place(const tamis_segment_job *job, const char *name, tamis_place at) {
    return at.base ? tamis_gpu_place(name, at) : tamis_gpu_memory(name, job->order.offsets);
}

/* Lanes of a row: about one for every two values. One lane if consecutive lanes have heads, whose values are adjacent,
   or if the order of the values counts. */
static int32_t team_of(const tamis_segment_job *job, bool quick) {
    enum { LANES_MOST = 32, SLOW_TEAM = 4, HEADS = 8 };
    int32_t team = 1;
    if (job->op >= TAMIS_SEGMENT_MAX) return 1;
    if (!quick) return SLOW_TEAM;
    if (job->heads >= HEADS && job->out.head == 1) return 1;
    while (team < LANES_MOST && 2 * team * job->order.rows < job->order.nnz) team *= 2;
    return team;
}

/* A job, its kernels, and its cut rows. */
typedef struct pass {
    const tamis_segment_job *job;
    tamis_gpu_message_variant variant;
    const tamis_gpu_cuts *cuts;
    tamis_place partials, positions;
} pass;

/* Launches `kernel`: a team for each head of `tasks` rows and pieces. */
static tamis_status launch(const pass *p, tamis_gpu_message_kernel kernel, int group, int team, int64_t tasks) {
    enum { MOST = 32 };
    const tamis_segment_job *const job = p->job;
    const tamis_gpu_device *const device = job->device;
    tamis_gpu_message_variant variant = p->variant;
    tamis_gpu_named arguments[MOST] = {tamis_gpu_integer("rows", job->order.rows),
                                       tamis_gpu_integer("pieces", p->cuts->pieces),
                                       tamis_gpu_integer("limit", p->cuts->limit),
                                       place(job, "piece_rows", (tamis_place){p->cuts->piece_rows, 0}),
                                       tamis_gpu_integer("heads", job->heads),
                                       tamis_gpu_memory("offsets", job->order.offsets),
                                       place(job, "places", (tamis_place){(void *)(uintptr_t)job->order.entries, 0}),
                                       tamis_gpu_integer("permuted", job->order.entries != NULL),
                                       place(job, "x", job->x.at),
                                       tamis_gpu_integer("x_row", job->x.row),
                                       tamis_gpu_integer("x_head", job->x.head),
                                       place(job, "d_out", job->d_out.at),
                                       tamis_gpu_integer("d_out_row", job->d_out.row),
                                       tamis_gpu_integer("d_out_head", job->d_out.head),
                                       tamis_gpu_place("out", job->out.at),
                                       tamis_gpu_integer("out_row", job->out.row),
                                       tamis_gpu_integer("out_head", job->out.head),
                                       place(job, "partials", p->partials)};
    int n = 18;
    if (kernel != TAMIS_SEGMENTS_FINISH) {
        arguments[n++] = place(job, "argument", job->argument);
        arguments[n++] = tamis_gpu_integer("has_argument", job->argument.base != NULL);
        arguments[n++] = place(job, "positions", p->positions);
    }
    if (kernel == TAMIS_SEGMENTS_MERGE) {
        arguments[n++] = tamis_gpu_integer("cut_count", p->cuts->count);
        arguments[n++] = tamis_gpu_memory("cuts", p->cuts->rows);
    }
    arguments[n] = (tamis_gpu_named){.name = NULL};
    variant.kernel = (int32_t)kernel;
    variant.group = group;
    variant.team = team;
    const int64_t groups = tamis_gpu_ceiling(tasks * job->heads, group / team);
    return tamis_gpu_message_launch(job->device, job->stream, &variant,
                                    (int64_t[]){tamis_gpu_min(groups, device->limits.groups_most[0]), 1}, arguments);
}

/* Rows that are cut store the results of their pieces in memory allocated for this call. */
static tamis_status run_with_parts(pass *p, int group, int team, int64_t tasks) {
    enum { MERGE_GROUP = 128 };
    tamis_status status = TAMIS_OK;
    const tamis_segment_job *const job = p->job;
    const bool softmax = job->op == TAMIS_SEGMENT_SOFTMAX;
    const int64_t count = tamis_times(p->cuts->pieces, job->heads);
    const int64_t bytes = tamis_gpu_round_up(2 * count * (int64_t)tamis_gpu_real_size(job->type), 64);
    const bool positions = job->op >= TAMIS_SEGMENT_MAX;
    void *memory = NULL;
    TRY(tamis_gpu_allocate(job->device, job->stream, (size_t)(bytes + (positions ? 8 * count : 0)),
                           "parts of long rows", &memory));
    p->partials = (tamis_place){memory, 0};
    if (positions) p->positions = (tamis_place){memory, bytes};
    TRY_GOTO(done, launch(p, TAMIS_SEGMENTS_KERNEL, group, team, tasks));
    TRY_GOTO(done, launch(p, TAMIS_SEGMENTS_MERGE, MERGE_GROUP, 1, p->cuts->count * MERGE_GROUP));
    if (softmax) TRY_GOTO(done, launch(p, TAMIS_SEGMENTS_FINISH, group, team, p->cuts->pieces));
done:
    tamis_gpu_release(job->device, job->stream, memory);
    return status;
}

tamis_status tamis_gpu_segment(const tamis_segment_job *job) {
    enum { GROUP = 128 };
    tamis_gpu_device *const device = job->device;
    const bool quick = device->limits.subgroup == 32;
    if (job->type == TAMIS_F64 && !device->limits.has_fp64)
        return tamis_fail(TAMIS_ERROR_UNSUPPORTED, "type = %s: %s has no fp64 arithmetic", tamis_type_name(job->type),
                          device->limits.name);
    if (job->heads > INT32_MAX)
        return tamis_fail(TAMIS_ERROR_UNSUPPORTED, "heads = %lld: %s takes up to %d", (long long)job->heads,
                          device->limits.name, (int)INT32_MAX);
    pass p = {.job = job,
              .variant = {.element = tamis_gpu_element(job->type),
                          .index = 32,
                          .offset = job->order.offset_type == TAMIS_I64 ? 64 : 32,
                          .argument = job->argument_type == TAMIS_I64 ? 64 : 32,
                          .op = (int32_t)job->op,
                          .back = job->back},
              .cuts = tamis_gpu_message_cuts(&job->order, true)};
    const int team = team_of(job, quick), group = quick ? GROUP : team; /* ONE_TEAM of simt.h */
    const int64_t tasks = job->order.rows + p.cuts->pieces;
    const bool reduces = !job->back || job->op == TAMIS_SEGMENT_SOFTMAX;
    return p.cuts->pieces > 0 && reduces ? run_with_parts(&p, group, team, tasks)
                                         : launch(&p, TAMIS_SEGMENTS_KERNEL, group, team, tasks);
}
