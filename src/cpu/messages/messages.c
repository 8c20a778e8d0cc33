/* Message passing on the CPU: shares.h divides rows, or ranges of entries, among threads. */
#include "cpu/parts.h"

#include "base/status.h"
#include "cpu/messages/shares.h"
#include "sparse/structure.h"

enum { CUT = 16 }; /* a hub is cut at multiples of this many elements */

typedef struct run {
    const tamis_message_job *job;
    const tamis_cpu_messages *kernels;
} run;

static void entries(void *context, int part, int parts) {
    const run *const r = context;
    const int64_t begin = tamis_partition_even(r->job->order.nnz, parts, part);
    const int64_t end = tamis_partition_even(r->job->order.nnz, parts, part + 1);
    if (begin < end) r->kernels->entries(r->job, begin, end);
}

static tamis_status run_job(const tamis_message_job *job) {
    const tamis_cpu_variant *variant = NULL;
    const int64_t all = job->heads * job->width;
    TRY(tamis_cpu_variant_choose(&variant));
    run r = {.job = job, .kernels = variant->messages[job->type]};
    if (job->kind == TAMIS_PASS_LARGEST) TRY(tamis_cpu_check_places(&job->order));
    if (job->kind == TAMIS_PASS_ENTRIES)
        tamis_cpu_run_parts(tamis_cpu_threads_for(&job->order, job->threads, all), entries, &r);
    else
        tamis_cpu_share_rows(&(tamis_cpu_sharing){&job->order, r.kernels->rows, job, all, CUT}, job->threads, all);
    return TAMIS_OK;
}

const tamis_message_functions tamis_cpu_message_functions = {.prepare = tamis_cpu_find_long_rows,
                                                             .release = tamis_cpu_forget_long_rows,
                                                             .run = run_job,
                                                             .texts = "runs step by step, over blocks of 256 elements "
                                                                      "in vectors",
                                                             .explain = tamis_cpu_explain_long_rows};
