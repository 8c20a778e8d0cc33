/*
 * The table of the dense companions' kernels of one variant. Like table.c, this file is compiled for every instruction
 * set, with and without TAMIS_KERNEL_F64. TAMIS_DENSE_TABLE is the name of the table.
 */
#include "cpu/kernels/dense.h"

#include "cpu/kernels/dense_elements.h"
#include "cpu/kernels/dense_products.h"
#include "cpu/kernels/dense_sums.h"
#include "cpu/kernels/expression.h"

extern const tamis_cpu_dense TAMIS_DENSE_TABLE;

#if defined(TAMIS_KERNEL_F64)
static void exponentials(const double *x, double less, int n, double *to) {
    EACH_VECTOR(
        n, part_store((char *)(to + t), REAL, tail, vector_exp(part_load((const char *)(x + t), REAL, tail) - less)));
}
#endif

const tamis_cpu_dense TAMIS_DENSE_TABLE = {
    .map = map_rows,
    .scale = scale_rows,
    .multiply = multiply_rows,
    .row_dots = dot_rows,
    .conjugate_step = conjugate_rows,
    .coordinate_step = coordinate_rows,
    .dot = dot_range,
    .column_sums = column_sums,
    .column_finish = column_finish,
    .gram = gram_range,
    .gram_finish = gram_finish,
    .cross = cross_block,
    .program = program_results,
#if defined(TAMIS_KERNEL_F64)
    .exponentials = exponentials,
#endif
};
