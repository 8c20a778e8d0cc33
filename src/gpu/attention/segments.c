/* Host side of segments.simt. */
#include "gpu/attention/segments.h"

#include "base/sizes.h"
#include "base/status.h"
#include "gpu/compile/definitions.h"
#include "gpu/compile/utility.h"
#include "gpu/messages/messages.h"
#include "gpu/messages/order_call.h"

/* Lanes of a row: about one for every two values. One lane if consecutive lanes have heads, whose values are adjacent,
   or if the order of the values counts. */
static int32_t team_of(const tamis_segment_job *job, bool quick) {
    enum { LANES_MOST = 32, SLOW_TEAM = 4, HEADS = 8 };
    int32_t team = 1;
    if (job->op >= TAMIS_SEGMENT_MAX) return 1;
    if (!quick) return SLOW_TEAM;
    if (job->heads >= HEADS && job->out.batch_stride == 1) return 1;
    while (team < LANES_MOST && 2 * team * job->order.rows < job->order.nnz) team *= 2;
    return team;
}

/* A job, and the threads of its main kernel. */
typedef struct pass {
    const tamis_segment_job *job;
    tamis_gpu_order_call call;
    int64_t tasks;
} pass;

static void add_values(tamis_gpu_list *to, const pass *p, const char *const names[3], const tamis_matrix *x) {
    tamis_gpu_list_place(to, &p->call, names[0], x->at);
    tamis_gpu_list_add(to, tamis_gpu_integer(names[1], x->stride));
    tamis_gpu_list_add(to, tamis_gpu_integer(names[2], x->batch_stride));
}

/* Launches `kernel`: a team for each head of `tasks` rows and pieces. */
static tamis_status launch(const pass *p, tamis_gpu_message_kernel kernel, int64_t tasks) {
    const tamis_segment_job *const job = p->job;
    tamis_gpu_message_variant variant = p->call.variant;
    tamis_gpu_list arguments = {.count = 0};
    tamis_gpu_list_rows(&arguments, &p->call);
    tamis_gpu_list_add(&arguments, tamis_gpu_integer("heads", job->heads));
    add_values(&arguments, p, (const char *const[]){"x", "x_row", "x_head"}, &job->x);
    add_values(&arguments, p, (const char *const[]){"d_out", "d_out_row", "d_out_head"}, &job->d_out);
    add_values(&arguments, p, (const char *const[]){"out", "out_row", "out_head"}, &job->out);
    tamis_gpu_list_place(&arguments, &p->call, "partials", p->call.parts);
    if (kernel != TAMIS_SEGMENTS_FINISH) {
        tamis_gpu_list_place(&arguments, &p->call, "argument", job->argument);
        tamis_gpu_list_add(&arguments, tamis_gpu_integer("has_argument", job->argument.base != NULL));
        tamis_gpu_list_place(&arguments, &p->call, "places", p->call.places);
    }
    variant.kernel = (int32_t)kernel;
    return tamis_gpu_order_launch(&p->call, &variant, tasks * job->heads, 1, &arguments);
}

static tamis_status run(const pass *p) { return launch(p, TAMIS_SEGMENTS_KERNEL, p->tasks); }

/* A sum or a maximum has a part of one number for each head. The merge of a softmax or its gradient leaves the result
   in the row's first part, and another launch writes the values. */
static tamis_status run_and_merge(void *of) {
    const pass *const p = of;
    const tamis_segment_job *const job = p->job;
    const bool softmax = job->op == TAMIS_SEGMENT_SOFTMAX, largest = job->op >= TAMIS_SEGMENT_MAX;
    tamis_gpu_merge to = {.kind = softmax && !job->back ? TAMIS_MERGE_SOFTMAX
                                  : largest             ? TAMIS_MERGE_LARGEST
                                                        : TAMIS_MERGE_SUM,
                          .heads = job->heads,
                          .width = softmax && !job->back ? 0 : 1,
                          .factor = job->op == TAMIS_SEGMENT_MIN ? -1 : 1,
                          .mean = job->op == TAMIS_SEGMENT_MEAN,
                          .keeps = softmax,
                          .out = job->out.at,
                          .out_row = job->out.stride,
                          .out_head = job->out.batch_stride};
    if (largest) to.argument = job->argument;
    if (softmax) to.out = (tamis_place){NULL, 0};
    TRY(run(p));
    TRY(tamis_gpu_order_merge(&p->call, &to));
    return softmax ? launch(p, TAMIS_SEGMENTS_FINISH, p->call.cuts->pieces) : TAMIS_OK;
}

tamis_status tamis_gpu_segment(const tamis_segment_job *job) {
    enum { GROUP = 128, BUSY = 1 << 18 /* entries */ };
    tamis_gpu_device *const device = job->device;
    const bool quick = device->limits.subgroup == 32;
    TRY(tamis_gpu_check_type(device, job->type));
    if (job->heads > INT32_MAX)
        return tamis_fail(TAMIS_ERROR_UNSUPPORTED, "heads = %lld: %s takes up to %d", (long long)job->heads,
                          device->limits.name, (int)INT32_MAX);
    const int team = team_of(job, quick);
    const tamis_gpu_cuts *const cuts = tamis_gpu_message_cuts(device, &job->order, job->order.nnz > BUSY, 0);
    pass p = {.job = job,
              .call = {.device = device,
                       .stream = job->stream,
                       .order = &job->order,
                       .cuts = cuts,
                       .variant = {.element = tamis_gpu_element(job->type),
                                   .index = 32,
                                   .offset = tamis_gpu_index_bits(job->order.offset_type),
                                   .argument = tamis_gpu_index_bits(job->argument_type),
                                   .group = quick ? GROUP : team, /* ONE_TEAM of simt.h */
                                   .team = team,
                                   .ordered = quick ? cuts->order != NULL : -1,
                                   .permuted = quick ? job->order.entries != NULL : -1,
                                   .op = (int32_t)job->op,
                                   .back = job->back}}};
    const bool reduces = !job->back || job->op == TAMIS_SEGMENT_SOFTMAX, largest = job->op >= TAMIS_SEGMENT_MAX;
    const int64_t pieces = p.call.cuts->pieces, parts = tamis_times(pieces, job->heads);
    p.tasks = job->order.rows + pieces;
    if (pieces == 0 || !reduces) return run(&p);
    return tamis_gpu_order_in_parts(&p.call, tamis_bytes(parts, 2 * tamis_gpu_real_size(job->type)),
                                    largest ? tamis_bytes(parts, 4) : 0, run_and_merge, &p);
}
