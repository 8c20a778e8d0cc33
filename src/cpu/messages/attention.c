/* Attention on graphs and segments on the CPU. shares.h divides rows among threads; hubs are divided by heads. */
#include "cpu/parts.h"

#include "base/memory.h"
#include "base/status.h"
#include "cpu/memory.h"
#include "cpu/messages/shares.h"

enum { SEGMENT_CUT = 16 }; /* heads between two cuts of a segment */

/* Attention without vectors and biases on edges: each head is a fused product, and its kernel computes it. It gets
   whole rows of at most CHUNK entries together, so that a row's operations do not depend on what else a thread
   computes. */
enum { CHUNK = 2048, SEGMENTS = 256, SCRATCH = 1 << 16 };

typedef struct fused_heads {
    const tamis_attention_job *job;
    const tamis_cpu_kernels *kernels;
    tamis_cpu_job head; /* the first one */
    int64_t head_bytes;
} fused_heads;

/* Bytes of a chunk's samples and segments, which begin a thread's scratch; a partial row follows. */
static int64_t chunk_bytes(const tamis_cpu_kernels *kernels) {
    return (CHUNK + 16) * kernels->real_bytes + SEGMENTS * kernels->segment_bytes;
}

static bool are_fused(const tamis_attention_job *job, const tamis_cpu_kernels *kernels) {
    return job->pass == TAMIS_ATTENTION_FORWARD && !job->e.at.base && !job->b.at.base && job->width > 0 &&
           job->width <= SCRATCH / 8 && chunk_bytes(kernels) + kernels->partial_bytes(job->width) <= SCRATCH;
}

static fused_heads fused_heads_of(const tamis_attention_job *job, const tamis_cpu_kernels *kernels) {
    enum { NEAR = 1 << 20, AHEAD_BYTES = 2048, AHEAD_LEAST = 8, AHEAD_MOST = 64 }; /* of prefetches */
    const tamis_message_order *const order = &job->order;
    const int64_t size = (int64_t)tamis_type_size(job->type), bytes = job->width * size, ahead = AHEAD_BYTES / bytes;
    return (fused_heads){.job = job,
                         .kernels = kernels,
                         .head = {.rows = order->rows,
                                  .cols = order->cols,
                                  .nnz = order->nnz,
                                  .offsets = order->offsets,
                                  .columns = order->columns,
                                  .wide_offsets = order->offset_type == TAMIS_I64,
                                  .wide_columns = order->column_type == TAMIS_I64,
                                  .a = tamis_cpu_address(job->q.at),
                                  .b = tamis_cpu_address(job->k.at),
                                  .d = tamis_cpu_address(job->v.at),
                                  .a_stride = job->q.stride * size,
                                  .b_stride = job->k.stride * size,
                                  .d_stride = job->v.stride * size,
                                  .inner = job->width,
                                  .width = job->width,
                                  .out = tamis_cpu_address(job->out.at),
                                  .out_stride = job->out.stride * size,
                                  .alpha = 1,
                                  .edge = TAMIS_EDGE_SOFTMAX,
                                  .edge_constants = {.scale = job->scale},
                                  .prefetch = order->cols * job->heads * bytes <= NEAR ? 0
                                              : ahead < AHEAD_LEAST                    ? AHEAD_LEAST
                                              : ahead > AHEAD_MOST                     ? AHEAD_MOST
                                                                                       : ahead,
                                  .chunk = CHUNK,
                                  .segments = SEGMENTS,
                                  .log_sums = tamis_cpu_address(job->log_sums.at),
                                  .log_sums_stride = job->log_sums.stride * kernels->real_bytes},
                         .head_bytes = bytes};
}

static void fused_rows(const void *context, int64_t row, int64_t end, int64_t first, int64_t last) {
    const fused_heads *const f = context;
    const tamis_message_order *const order = &f->job->order;
    _Alignas(64) char scratch[SCRATCH];
    tamis_cpu_range range = {.row_end = row,
                             .nonzero_end = tamis_cpu_order_offset(order, row),
                             .chunk = scratch,
                             .carry = scratch + chunk_bytes(f->kernels)};
    while (range.row_end < end) {
        range.row_begin = range.row_end++;
        range.nonzero_begin = range.nonzero_end;
        range.nonzero_end = tamis_cpu_order_offset(order, range.row_end);
        for (int64_t next; range.row_end < end && range.row_end - range.row_begin < SEGMENTS; range.row_end++) {
            next = tamis_cpu_order_offset(order, range.row_end + 1);
            if (next - range.nonzero_begin > CHUNK) break;
            range.nonzero_end = next;
        }
        for (int64_t h = first; h < last; h++) {
            tamis_cpu_job head = f->head;
            head.a += h * f->head_bytes;
            head.b += h * f->head_bytes;
            head.d += h * f->head_bytes;
            head.out += h * f->head_bytes;
            if (head.log_sums) head.log_sums += h * f->kernels->real_bytes;
            f->kernels->fused(&head, &range);
        }
    }
}

static tamis_status attend(const tamis_attention_job *job) {
    const tamis_cpu_variant *variant = NULL;
    TRY(tamis_cpu_variant_choose(&variant));
    const tamis_cpu_kernels *const kernels = variant->kernels[job->type];
    tamis_cpu_sharing sharing = {&job->order, variant->messages[job->type]->attention, job, job->heads, 1};
    fused_heads heads;
    if (are_fused(job, kernels)) {
        heads = fused_heads_of(job, kernels);
        sharing.rows = fused_rows;
        sharing.job = &heads;
    }
    tamis_cpu_share_rows(&sharing, job->threads, job->heads * (job->width + 1));
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
