/* Distributes the gather over threads, and reads memory to flush the caches. */
#include "bench/gather.h"

#include <stdatomic.h>

#include "base/sizes.h"
#include "base/threads.h"
#include "bench/gather_rows.h"

enum { PREFETCH_FROM = 2 << 20 }; /* least bytes of a table that exceeds the L2 cache */

static _Atomic uint64_t sink; /* keeps compilers from eliminating the reads */

static tool_gather_function *best_loop(void) {
#if defined(TOOL_GATHER_VARIANTS) && (defined(__x86_64__) || defined(__i386__))
    if (__builtin_cpu_supports("avx512f")) return tool_gather_rows_v4;
    if (__builtin_cpu_supports("avx2")) return tool_gather_rows_v3;
#endif
    return tool_gather_rows_base;
}

typedef struct gathering {
    tool_gather_work whole;
    tool_gather_function *loop;
    int64_t nnz;
} gathering;

static void gather_share(void *context, int share, int shares) {
    const gathering *const g = context;
    tool_gather_work work = g->whole;
    work.begin = g->nnz / shares * share + (g->nnz % shares) * share / shares;
    work.end = g->nnz / shares * (share + 1) + (g->nnz % shares) * (share + 1) / shares;
    atomic_fetch_xor_explicit(&sink, g->loop(&work), memory_order_relaxed);
}

void tool_gather(const tool_problem *problem, int threads) {
    const tamis_sparse *S = &problem->S;
    const size_t element = tamis_type_size(problem->type);
    gathering all = {.loop = best_loop(), .nnz = S->nnz};
    tool_gather_work *const whole = &all.whole;
    *whole = (tool_gather_work){.columns = S->columns, .wide = S->index_type == TAMIS_I64};
    const tamis_dense *operands[2] = {&problem->B, problem->operation == TAMIS_OP_FUSED ? &problem->D : NULL};
    for (int i = 0; i < 2 && operands[i]; i++) {
        if (i == 1 && operands[1]->data == operands[0]->data) break;
        whole->rows[i] = operands[i]->data;
        whole->stride[i] = (size_t)operands[i]->stride * element;
        whole->bytes[i] = (size_t)operands[i]->cols * element;
        whole->prefetch |= (size_t)operands[i]->rows * whole->stride[i] > PREFETCH_FROM;
    }
    tamis_threads_run(threads > 1 ? threads : 1, gather_share, &all);
}

typedef struct flushing {
    const uint64_t *memory;
    int64_t words;
} flushing;

/* Every thread reads the whole memory, from a different start, so that its private caches hold nothing else
   afterwards. */
static void flush_share(void *context, int share, int shares) {
    const flushing *const f = context;
    const int64_t start = f->words / shares * share;
    uint64_t sum = 0;
    for (int64_t i = 0; i < f->words; i += 8) sum ^= f->memory[(start + i) % f->words];
    atomic_fetch_xor_explicit(&sink, sum, memory_order_relaxed);
}

void tool_flush_caches(int64_t bytes, int threads) {
    static uint64_t *memory = NULL;
    static int64_t words = 0;
    if (!memory) {
        if (bytes < (int64_t)32 << 20) bytes = (int64_t)32 << 20;
        words = bytes * 2 / (int64_t)sizeof *memory;
        memory = tool_large_allocate(tamis_bytes(words, sizeof *memory));
    }
    tamis_threads_run(threads > 1 ? threads : 1, flush_share, &(flushing){memory, words});
}
