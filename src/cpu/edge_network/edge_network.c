/* The network on edges on the CPU: its buffers, and the chunks that threads share. */
#include "cpu/parts.h"

#include "base/sizes.h"
#include "base/status.h"
#include "cpu/messages/shares.h"

/* Edges of the shortest chunk; most chunks; the bytes that all chunks may take, and the number that may take more. */
enum { CHUNK_LEAST = 256, CHUNKS_MOST = 128, CHUNKS_LEAST = 16, BYTES_MOST = 1 << 26, LINE = 64 };

typedef struct run {
    tamis_cpu_network n;
    const tamis_cpu_network_kernels *kernels;
} run;

/* The numbers of each buffer: reals, or numbers of 8 bytes from NETWORK_HEAD_FROM on. */
static void count_numbers(const tamis_edge_network_job *job, int64_t numbers[NETWORK_BUFFERS]) {
    const tamis_edge_network_options *const o = &job->o;
    const bool two = o->hidden_layers == 2, back = job->back, extreme = !back && tamis_edge_network_is_extreme(o);
    const int64_t first = tamis_times(o->hidden, o->edge_width), last = tamis_times(o->hidden, o->width);
    const int64_t second = two ? tamis_times(o->hidden, o->hidden) : 0, block = TAMIS_CPU_NETWORK_BLOCK;
    const int64_t hidden = tamis_times(block, o->hidden), width = tamis_times(block, o->width);
    const int64_t edge = tamis_times(block, o->edge_width);
    const int64_t counts[NETWORK_SUMS] = {[NETWORK_W1_TURNED] = first,
                                          [NETWORK_W2_TURNED] = second,
                                          [NETWORK_W3_TURNED] = last,
                                          [NETWORK_W1] = back ? first : 0,
                                          [NETWORK_W2] = back ? second : 0,
                                          [NETWORK_W3] = back ? last : 0,
                                          [NETWORK_B1] = o->hidden,
                                          [NETWORK_B2] = two ? o->hidden : 0,
                                          [NETWORK_B3] = o->width,
                                          [NETWORK_GAIN] = o->width,
                                          [NETWORK_SHIFT] = o->width,
                                          [NETWORK_E] = edge,
                                          [NETWORK_A1] = hidden,
                                          [NETWORK_H1] = back ? hidden : 0,
                                          [NETWORK_A2] = two ? hidden : 0,
                                          [NETWORK_H2] = back && two ? hidden : 0,
                                          [NETWORK_Y] = width,
                                          [NETWORK_DY] = back ? width : 0,
                                          [NETWORK_DA2] = back && two ? hidden : 0,
                                          [NETWORK_DA1] = back ? hidden : 0,
                                          [NETWORK_DE] = back ? edge : 0,
                                          [NETWORK_HEAD] = back ? 0 : o->width,
                                          [NETWORK_TAIL] = back ? 0 : o->width,
                                          [NETWORK_HEAD_FROM] = extreme ? o->width : 0,
                                          [NETWORK_TAIL_FROM] = extreme ? o->width : 0};
    for (int k = 0; k < NETWORK_SUMS; k++) numbers[k] = counts[k];
    for (int k = NETWORK_SUMS; k < NETWORK_BUFFERS; k++) {
        int64_t rows, cols;
        tamis_cpu_network_gradient(job, k - NETWORK_SUMS, &rows, &cols);
        numbers[k] = back && (two || (k != NETWORK_SUMS + 2 && k != NETWORK_SUMS + 3)) ? tamis_times(rows, cols) : 0;
    }
}

/* Adds the bytes of an array to a place, on lines of its own. */
static int64_t after(int64_t place, int64_t count, size_t size) {
    const int64_t bytes = (int64_t)tamis_bytes(count, size);
    return place + bytes > TAMIS_TOO_MANY ? TAMIS_TOO_MANY : (place + bytes + LINE - 1) / LINE * LINE;
}

/* Lays out the buffers; *bytes: of the workspace. */
static tamis_cpu_network network_of(const tamis_edge_network_job *job, size_t *bytes) {
    const size_t real = job->o.type == TAMIS_F64 ? sizeof(double) : sizeof(float);
    tamis_cpu_network n = {.job = job};
    int64_t numbers[NETWORK_BUFFERS];
    count_numbers(job, numbers);
    for (int k = 0; k < NETWORK_OWN; k++) {
        n.at[k] = n.begin;
        n.begin = after(n.begin, numbers[k], real);
    }
    for (int k = NETWORK_OWN; k < NETWORK_BUFFERS; k++) {
        n.at[k] = n.apart;
        n.apart = after(n.apart, numbers[k], k < NETWORK_HEAD_FROM ? real : 8);
    }
    if (!job->back) { /* an activation is computed in place */
        n.at[NETWORK_H1] = n.at[NETWORK_A1];
        n.at[NETWORK_H2] = n.at[NETWORK_A2];
    }
    if (job->o.hidden_layers == 1) n.at[NETWORK_H2] = n.at[NETWORK_H1];
    const int64_t room = BYTES_MOST / n.apart, wanted = job->order.nnz / CHUNK_LEAST;
    const int64_t most = room < CHUNKS_LEAST ? CHUNKS_LEAST : room < CHUNKS_MOST ? room : CHUNKS_MOST;
    n.chunks = wanted < 1 ? 1 : wanted < most ? (int)wanted : (int)most;
    *bytes = (size_t)after(n.begin, n.chunks, (size_t)n.apart) + LINE;
    return n;
}

static tamis_status workspace(const tamis_edge_network_job *job, size_t *bytes) {
    network_of(job, bytes);
    return TAMIS_OK;
}

static void chunks(void *context, int part, int parts) {
    const run *const r = context;
    for (int i = (int)tamis_partition_even(r->n.chunks, parts, part);
         i < (int)tamis_partition_even(r->n.chunks, parts, part + 1); i++)
        r->kernels->chunk(&r->n, i);
}

static void finish(void *context, int part, int parts) {
    const run *const r = context;
    r->kernels->finish(&r->n, part, parts);
}

static tamis_status run_job(const tamis_edge_network_job *job) {
    const tamis_cpu_variant *variant = NULL;
    const tamis_edge_network_options *const o = &job->o;
    size_t bytes;
    TRY(tamis_cpu_variant_choose(&variant));
    run r = {.n = network_of(job, &bytes), .kernels = &variant->messages[o->type]->network};
    r.n.dense = variant->dense[o->type == TAMIS_F64 ? TAMIS_F64 : TAMIS_F32];
    const int64_t work = tamis_times(o->hidden, o->edge_width + o->width) / 8 + o->hidden + o->width;
    const int threads = tamis_cpu_threads_for(&job->order, job->threads, work);
    r.kernels->prepare(&r.n);
    tamis_cpu_run_parts(threads < r.n.chunks ? threads : r.n.chunks, chunks, &r);
    if (!job->back && job->out.at.base) r.kernels->join(&r.n);
    if (job->back) tamis_cpu_run_parts(threads, finish, &r);
    return TAMIS_OK;
}

const tamis_edge_network_functions tamis_cpu_edge_network_functions = {.workspace = workspace, .run = run_job};
