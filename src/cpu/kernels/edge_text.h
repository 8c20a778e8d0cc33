/* Edges that are texts: samples are replaced by what a program makes of them. */
#ifndef TAMIS_CPU_KERNELS_EDGE_TEXT_H
#define TAMIS_CPU_KERNELS_EDGE_TEXT_H

#include "cpu/kernels/expression.h"

/* The last row that begins at nonzero t or before. */
static int64_t program_row(const tamis_cpu_job *job, int64_t t) {
    int64_t low = 1, high = job->rows;
    while (low < high) {
        const int64_t middle = low + (high - low) / 2;
        if (offset_at(job, middle) < t + 1)
            low = middle + 1;
        else
            high = middle;
    }
    return low - 1;
}

/* Calls `each` with a constant type and the row of each of the nonzeros first .. first + n - 1. */
#define EACH_ROW(job, first, n, each)                                                                                  \
    do {                                                                                                               \
        int64_t row = program_row(job, first);                                                                         \
        for (int64_t t = 0; t < (n); t++) {                                                                            \
            while (offset_at(job, row + 1) <= (first) + t) row++;                                                      \
            each;                                                                                                      \
        }                                                                                                              \
    } while (0)

/* The rows of nonzeros first .. first + n - 1, or their columns. */
static void program_places(const tamis_cpu_job *job, int kind, real *to, int64_t first, int64_t n) {
    if (kind == TAMIS_STEP_I)
        EACH_ROW(job, first, n, to[t] = (real)row);
    else
        for (int64_t t = 0; t < n; t++) to[t] = (real)column_at(job->columns, first + t, job->wide_columns);
}

/* A named array's numbers of these nonzeros. */
INLINE void program_named(const tamis_cpu_job *job, int kind, const tamis_edge_array *array, int wide, real *to,
                          int64_t first, int64_t n) {
    const tamis_type type = wide ? REAL : TAMIS_KERNEL_TYPE;
    const int64_t bytes = element_bytes(type);
    const char *const at = (const char *)array->at.base + array->at.bytes + job->member * array->batch_stride * bytes;
    const int64_t *const places = array->scattered ? job->permutation : NULL;
    if (kind == TAMIS_STEP_ROW)
        EACH_ROW(job, first, n, to[t] = element_load(at + row * bytes, type));
    else if (kind == TAMIS_STEP_COL)
        for (int64_t t = 0; t < n; t++)
            to[t] = element_load(at + column_at(job->columns, first + t, job->wide_columns) * bytes, type);
    else if (kind == TAMIS_STEP_ENTRY)
        for (int64_t t = 0; t < n; t++)
            to[t] = element_load(at + (places ? places[first + t] : first + t) * bytes, type);
    else
        for (int64_t t = 0; t < n; t++) to[t] = element_load(at, type);
}
#undef EACH_ROW

/* Samples of a job: x[0] is that of nonzero `first`. */
typedef struct program_samples {
    const tamis_cpu_job *job;
    tamis_type type;
    const real *x;
    int64_t first;
} program_samples;

static const real *program_sample(const void *context, const tamis_step *step, real *to, int64_t first, int64_t n) {
    const program_samples *const of = context;
    const int kind = step->kind;
    const real *const x = of->x + (first - of->first);
    if (kind == TAMIS_STEP_X && n % LANES == 0) return x;
    if (kind == TAMIS_STEP_X)
        program_copy(to, (const char *)x, REAL, n);
    else if (kind == TAMIS_STEP_S)
        program_copy(to, of->job->values + first * element_bytes(of->type), of->type, n);
    else if (!tamis_step_is_array(kind))
        program_places(of->job, kind, to, first, n);
    else if (of->job->named[step->of[0]].type == REAL)
        program_named(of->job, kind, &of->job->named[step->of[0]], 1, to, first, n);
    else
        program_named(of->job, kind, &of->job->named[step->of[0]], 0, to, first, n);
    return to;
}

/* Replaces the samples x[0 .. n), of nonzero `first` and the next ones, with the edge's values. */
static void program_run(const tamis_cpu_job *job, tamis_type type, real *x, int64_t first, int64_t n) {
    const tamis_edge_text *const text = job->edge_constants.text;
    const program_samples samples = {job, type, x, first};
    program_state s;
    program_begin(&s, &text->value, text->scalars, job->member, job->values == NULL);
    s.leaf = program_sample;
    s.context = &samples;
    for (int64_t begin = 0, count; begin < n; begin += count) {
        count = n - begin < PROGRAM_BLOCK ? n - begin : PROGRAM_BLOCK;
        program_block(&s, x + begin, first + begin, count);
    }
}

#endif
