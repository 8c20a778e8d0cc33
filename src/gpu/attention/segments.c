/* Host side of segments.simt. */
#include "gpu/attention/segments.h"

#include "base/status.h"
#include "gpu/compile/definitions.h"
#include "gpu/messages/variants.h"
#include "gpu/method.h"

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
    tamis_gpu_message_variant variant = {.kernel = TAMIS_SEGMENTS_KERNEL,
                                         .element = tamis_gpu_element(job->type),
                                         .index = 32,
                                         .offset = job->order.offset_type == TAMIS_I64 ? 64 : 32,
                                         .argument = job->argument_type == TAMIS_I64 ? 64 : 32,
                                         .op = (int32_t)job->op,
                                         .back = job->back};
    variant.team = team_of(job, quick);
    variant.group = quick ? GROUP : variant.team; /* ONE_TEAM of simt.h */
    const int64_t groups = tamis_gpu_ceiling(job->order.rows * job->heads, variant.group / variant.team);
    return tamis_gpu_message_launch(
        device, job->stream, &variant, (int64_t[]){tamis_gpu_min(groups, device->limits.groups_most[0]), 1},
        TAMIS_GPU_ARGUMENTS(tamis_gpu_integer("rows", job->order.rows), tamis_gpu_integer("heads", job->heads),
                            tamis_gpu_memory("offsets", job->order.offsets),
                            place(job, "places", (tamis_place){(void *)(uintptr_t)job->order.entries, 0}),
                            tamis_gpu_integer("permuted", job->order.entries != NULL), place(job, "x", job->x.at),
                            tamis_gpu_integer("x_row", job->x.row), tamis_gpu_integer("x_head", job->x.head),
                            place(job, "d_out", job->d_out.at), tamis_gpu_integer("d_out_row", job->d_out.row),
                            tamis_gpu_integer("d_out_head", job->d_out.head), tamis_gpu_place("out", job->out.at),
                            tamis_gpu_integer("out_row", job->out.row), tamis_gpu_integer("out_head", job->out.head),
                            place(job, "argument", job->argument),
                            tamis_gpu_integer("has_argument", job->argument.base != NULL)));
}
