/* The gather over threads, and the walk that empties the caches. */
#include "gather.h"

#include <stdlib.h>

#include "gather_rows.h"

enum { PREFETCH_FROM = 2 << 20 }; /* bytes of a table that no L2 cache holds */

static volatile uint64_t sink; /* keeps the reads */

static tool_gather_function *best_loop(void) {
#if defined(TOOL_GATHER_VARIANTS) && (defined(__x86_64__) || defined(__i386__))
    if (__builtin_cpu_supports("avx512f")) return tool_gather_rows_v4;
    if (__builtin_cpu_supports("avx2")) return tool_gather_rows_v3;
#endif
    return tool_gather_rows_base;
}

int tool_gather_threads(int threads) {
#ifdef _OPENMP
    return threads > 1 ? threads : 1;
#else
    (void)threads;
    return 1;
#endif
}

void tool_gather(const tool_problem *problem, int threads) {
    const tamis_sparse *S = &problem->S;
    const size_t element = tamis_type_size(problem->type);
    tool_gather_work whole = {.columns = S->columns, .wide = S->index_type == TAMIS_I64};
    const tamis_dense *operands[2] = {&problem->B, problem->operation == TAMIS_OP_FUSED ? &problem->D : NULL};
    for (int i = 0; i < 2 && operands[i]; i++) {
        if (i == 1 && operands[1]->data == operands[0]->data) break;
        whole.rows[i] = operands[i]->data;
        whole.stride[i] = (size_t)operands[i]->stride * element;
        whole.bytes[i] = (size_t)operands[i]->cols * element;
        whole.prefetch |= (size_t)operands[i]->rows * whole.stride[i] > PREFETCH_FROM;
    }
    tool_gather_function *loop = best_loop();
    const int team = tool_gather_threads(threads);
    uint64_t sum = 0;
#ifdef _OPENMP
#pragma omp parallel for num_threads(team) schedule(static, 1) reduction(^ : sum)
#endif
    for (int part = 0; part < team; part++) {
        tool_gather_work work = whole;
        work.begin = S->nnz / team * part + (S->nnz % team) * part / team;
        work.end = part + 1 == team ? S->nnz : S->nnz / team * (part + 1) + (S->nnz % team) * (part + 1) / team;
        sum ^= loop(&work);
    }
    sink = sum;
}

void tool_flush_caches(int64_t bytes, int threads) {
    static uint64_t *memory = NULL;
    static int64_t words = 0;
    if (!memory) {
        if (bytes < (int64_t)32 << 20) bytes = (int64_t)32 << 20;
        words = bytes * 2 / (int64_t)sizeof *memory;
        memory = tool_large_allocate((size_t)words * sizeof *memory);
    }
    const int team = tool_gather_threads(threads);
    uint64_t sum = 0;
#ifdef _OPENMP
#pragma omp parallel for num_threads(team) schedule(static, 1) reduction(^ : sum)
#endif
    for (int part = 0; part < team; part++) {
        /* Every thread reads it all, from a start of its own: its private caches too hold nothing else afterwards. */
        const int64_t start = words / team * part;
        for (int64_t i = 0; i < words; i += 8) sum ^= memory[(start + i) % words];
    }
    sink = sum;
}
