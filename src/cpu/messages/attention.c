/* Attention on graphs and segments on the CPU. shares.h divides rows among threads; hubs are divided by heads. */
#include "cpu/parts.h"

#include "base/memory.h"
#include "base/status.h"
#include "cpu/memory.h"
#include "cpu/messages/shares.h"

enum { SEGMENT_CUT = 16 }; /* heads between two cuts of a segment */

static tamis_status attend(const tamis_attention_job *job) {
    const tamis_cpu_variant *variant = NULL;
    TRY(tamis_cpu_variant_choose(&variant));
    tamis_cpu_shared_rows *const rows = variant->messages[job->type]->attention;
    tamis_cpu_share_rows(&(tamis_cpu_sharing){&job->order, rows, job, job->heads, 1}, job->threads,
                         job->heads * (job->width + 1));
    return TAMIS_OK;
}

static tamis_status segment(const tamis_segment_job *job) {
    const tamis_cpu_variant *variant = NULL;
    TRY(tamis_cpu_variant_choose(&variant));
    if (!job->back && job->op >= TAMIS_SEGMENT_MAX) TRY(tamis_cpu_check_places(&job->order));
    tamis_cpu_shared_rows *const rows = variant->messages[job->type]->segments;
    tamis_cpu_share_rows(&(tamis_cpu_sharing){&job->order, rows, job, job->heads, SEGMENT_CUT}, job->threads,
                         job->heads);
    return TAMIS_OK;
}

static int64_t entry_of(const tamis_message_order *order, int64_t t) { return order->entries ? order->entries[t] : t; }

static tamis_status column_places(const tamis_problem *problem, const tamis_message_order *rows,
                                  const tamis_message_order *columns, int64_t **places) {
    tamis_status status = TAMIS_OK;
    int64_t *of_entry = NULL;
    void *made = NULL;
    TRY(tamis_allocate(rows->nnz, sizeof *of_entry, "places of entries", (void **)&of_entry));
    TRY_GOTO(done, tamis_cpu_allocate(problem->device, NULL, tamis_bytes(rows->nnz ? rows->nnz : 1, sizeof **places),
                                      "places of entries", &made));
    for (int64_t t = 0; t < rows->nnz; t++) of_entry[entry_of(columns, t)] = t;
    for (int64_t t = 0; t < rows->nnz; t++) ((int64_t *)made)[t] = of_entry[entry_of(rows, t)];
    *places = made;
done:
    tamis_release(of_entry);
    return status;
}

const tamis_attention_functions tamis_cpu_attention_functions = {
    .attend = attend, .segment = segment, .column_places = column_places};
