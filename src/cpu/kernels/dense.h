/* The dense companions' kernels of one compiled variant and type, fp32 or fp64. Each processes a range of rows. */
#ifndef TAMIS_CPU_KERNELS_DENSE_H
#define TAMIS_CPU_KERNELS_DENSE_H

#include "backend/dense.h"
#include "expression/program.h"

typedef struct tamis_cpu_dense {
    void (*map)(const tamis_dense_job *job, int64_t begin, int64_t end);
    void (*scale)(const tamis_dense_job *job, int64_t begin, int64_t end);
    void (*multiply)(const tamis_dense_job *job, int64_t begin, int64_t end);
    void (*row_dots)(const tamis_dense_job *job, int64_t begin, int64_t end);
    void (*conjugate_step)(const tamis_dense_job *job, int64_t begin, int64_t end);
    void (*coordinate_step)(const tamis_dense_job *job, int64_t begin, int64_t end);
    double (*dot)(const tamis_dense_job *job, int64_t begin, int64_t end);

    /* sums[j] of columns first .. last - 1 over the rows; then `out` from `chunks` such lists, cols apart */
    void (*column_sums)(const tamis_dense_job *job, int64_t begin, int64_t end, int64_t first, int64_t last,
                        double *sums);
    void (*column_finish)(const tamis_dense_job *job, int64_t first, int64_t last, const double *sums);

    /* sums[i * cols + j] of X^T X over the rows, i in first .. last - 1, j >= i; then these rows of G, and the same
       columns, from `chunks` such matrices, cols^2 apart */
    void (*gram)(const tamis_dense_job *job, int64_t begin, int64_t end, int64_t first, int64_t last, double *sums);
    void (*gram_finish)(const tamis_dense_job *job, int64_t first, int64_t last, const double *sums);

    /* sums += X^T Y, packed, over at most 64 rows; `inner`: columns of X */
    void (*cross)(const tamis_dense_job *job, double *sums);

    /* the results of a program for n samples, each step in the type; results[k] is NULL if it is not wanted */
    void (*program)(const tamis_program *program, const tamis_variables *variables, int n, double *const *results);

    /* to[t] = exp(x[t] - less), in fp64 by the table of that; NULL in fp32 */
    void (*exponentials)(const double *x, double less, int n, double *to);
} tamis_cpu_dense;

#endif
