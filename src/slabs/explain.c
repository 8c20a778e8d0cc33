/* Describes an out-of-core plan, as fields and as text. */
#include "base/status.h"
#include "base/text_buffer.h"
#include "slabs/slabs.h"

static tamis_status check_plan(const tamis_slab_plan *plan) {
    if (plan) return TAMIS_OK;
    return tamis_fail(TAMIS_ERROR_ARGUMENT, "plan = NULL: make one with tamis_slab_plan_create");
}

tamis_status tamis_slab_plan_describe(const tamis_slab_plan *plan, tamis_slab_report *report) {
    tamis_clear_error();
    TRY(check_plan(plan));
    if (!report) return tamis_fail(TAMIS_ERROR_ARGUMENT, "report = NULL: expected an address for the result");
    *report = plan->report;
    return TAMIS_OK;
}

static void write_slabs(tamis_text_buffer *w, const tamis_slab_plan *plan) {
    const tamis_slab_report *const r = &plan->report;
    const bool d = plan->bytes.d > 0;
    tamis_text_add(w, "out of core  S and dense matrices take %lld bytes, the plan may use %lld of %s\n",
                   (long long)r->operand_bytes, (long long)r->device_memory, plan->device->description.name);
    tamis_text_add(w, "slabs        %lld of up to %lld rows, in %lld piece%s of up to %lld nonzeros\n",
                   (long long)r->slabs, (long long)r->rows_most, (long long)r->pieces, r->pieces == 1 ? "" : "s",
                   (long long)r->nnz_most);
    if (r->keeps_b)
        tamis_text_add(w, "%-12s stay%s in the device's memory, copied once an execution: %lld rows\n",
                       d ? "B, D" : "B", d ? "" : "s", (long long)r->b_rows);
    else
        tamis_text_add(w, "%-12s come%s in tiles of the rows that a slab needs: %lld rows an execution, of %lld\n",
                       d ? "B, D" : "B", d ? "" : "s", (long long)r->b_rows, (long long)plan->S.cols);
}

static void write_bytes(tamis_text_buffer *w, const tamis_slab_plan *plan) {
    const tamis_slab_report *const r = &plan->report;
    tamis_text_add(w, "transfers    %lld bytes to the device and %lld back an execution", (long long)r->upload_bytes,
                   (long long)r->download_bytes);
    if (r->link_seconds > 0)
        tamis_text_add(w, "; %.3g ms at the %d GB/s each way of an H200's pinned memory", 1e3 * r->link_seconds,
                       TAMIS_SLAB_LINK_GBS);
    if (plan->options.batch > 1) tamis_text_add(w, ", for each of %lld members", (long long)plan->options.batch);
    tamis_text_add(w, "%s\n", plan->options.overlap == TAMIS_OVERLAP_NEVER ? "; one thing after another" : "");
    tamis_text_add(w, "memory       %lld bytes of buffers on the device, %lld pinned, %lld of lists\n",
                   (long long)r->buffer_bytes, (long long)r->pinned_bytes, (long long)r->kept_bytes);
    tamis_text_add(w, "algorithm    %s, for each piece by itself",
                   plan->algorithm ? plan->algorithm : "chosen without preparation");
}

tamis_status tamis_slab_plan_explain(const tamis_slab_plan *plan, char *text, size_t bytes, size_t *needed) {
    tamis_clear_error();
    TRY(check_plan(plan));
    if (!text && bytes > 0) return tamis_fail(TAMIS_ERROR_ARGUMENT, "text = NULL, but bytes = %zu", bytes);
    tamis_text_buffer w = {.to = text, .bytes = bytes};
    write_slabs(&w, plan);
    write_bytes(&w, plan);
    if (needed) *needed = w.used + 1;
    return TAMIS_OK;
}
